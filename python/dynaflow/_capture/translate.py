"""FX graph → Capture: a translation, node by node, that decides nothing.

The graph is one of AOTAutograd's: ATen calls in order, functional but for the copies back into
inputs. Sizes and `getitem`s vanish into expressions and indices; everything else is one call.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch._higher_order_ops.auto_functionalize import auto_functionalized, auto_functionalized_v2
from torch._library.fake_class_registry import FakeScriptObject
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses import FakeTensor

from dynaflow._capture.arguments import TensorRef, default_argument, write_argument, write_dtype
from dynaflow._capture.provenance import provenance
from dynaflow._capture.sizes import Size, expression, write_size
from dynaflow._capture.untranslatable import UntranslatableError

Document: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["argument", "parameter", "buffer", "constant"]

# Checks of sizes: the runtime makes its own from the Capture's expressions.
_CHECKS = {
    "aten::_assert_scalar",
    "aten::_assert_async",
    "aten::_assert_tensor_metadata",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
}
_TAGS_THAT_SAY_NOTHING = {"core", "generated", "pt2_compliant_tag"}


class InputName(NamedTuple):
    """What the user calls an input of the graph, and what it is to the model."""

    name: str
    role: Role


class Translation(NamedTuple):
    """A Capture, and the tensors of its inputs of role "constant", in their order."""

    document: Document
    constants: list[torch.Tensor]


def translate(
    gm: fx.GraphModule, *, name: str, batch: Sequence[str], inputs: Sequence[InputName]
) -> Translation:
    """The Capture of `gm`; UntranslatableError where a node has no form in it.

    `batch` holds the names of the batch symbol: none for a static batch, several where torch did
    not see that they are one (all are then written as the first). `inputs` is parallel to the
    graph's placeholders.
    """
    work = _Work(gm, {other: sympy.Symbol(batch[0]) for other in batch})
    names = iter(inputs)
    for node in gm.graph.nodes:
        try:
            if node.op == "placeholder":
                work.inputs.append(_input(work, node, next(names)))
            else:
                _translate_node(work, node)
        except ValueError as reason:
            raise UntranslatableError(node, str(reason)) from reason
    work.inputs += work.constant_inputs
    document: Document = {
        "format": "dynaflow-capture/1",
        "name": name,
        "symbols": _symbols(work, batch[0] if batch else None),
        "tensors": work.tensors,
        "inputs": work.inputs,
        "calls": work.calls,
        "outputs": work.outputs,
    }
    return Translation(document, work.constants)


@dataclass
class _Work:
    """A translation under way."""

    gm: fx.GraphModule
    same: dict[str, sympy.Symbol]
    values: dict[fx.Node, object] = field(default_factory=dict)
    tensors: list[Document] = field(default_factory=list)
    inputs: list[Document] = field(default_factory=list)
    constant_inputs: list[Document] = field(default_factory=list)
    constants: list[torch.Tensor] = field(default_factory=list)
    calls: list[Document] = field(default_factory=list)
    outputs: list[Document | None] = field(default_factory=list)
    input_symbols: dict[str, None] = field(default_factory=dict)
    symbols: dict[str, None] = field(default_factory=dict)

    def expression(self, value: int | torch.SymInt) -> sympy.Expr:
        """The expression of a size, with one name for the batch and its symbols noted."""
        expr = expression(value)
        names = {symbol: self.same.get(str(symbol), symbol) for symbol in expr.free_symbols}
        expr = expr.xreplace(names)
        self.symbols |= dict.fromkeys(sorted(str(symbol) for symbol in expr.free_symbols))
        return expr

    def size(self, value: int | torch.SymInt) -> Size:
        """`value` as a Capture writes it."""
        return write_size(self.expression(value))

    def tensor(self, name: str, value: torch.Tensor) -> TensorRef:
        """A new tensor of the Capture, shaped as `value`."""
        if type(value) not in (FakeTensor, torch.Tensor, torch.nn.Parameter):
            raise ValueError(f"the tensor subclass {type(value).__name__} has no form in a Capture")
        if value.layout is not torch.strided:
            raise ValueError(f"the layout {value.layout} has no form in a Capture")
        entry = {
            "name": name,
            "dtype": write_dtype(value.dtype),
            "sizes": [self.size(size) for size in value.size()],
            "strides": [self.size(stride) for stride in value.stride()],
            "offset": self.size(value.storage_offset()),
        }
        self.tensors.append(entry)
        return TensorRef(len(self.tensors) - 1)

    def results(self, name: str, value: object) -> object:
        """`value` with a new tensor of the Capture for every tensor in it."""
        if isinstance(value, torch.Tensor):
            return self.tensor(name, value)
        if isinstance(value, list | tuple):
            return [self.results(f"{name}.{index}", item) for index, item in enumerate(value)]
        return value

    def resolve(self, argument: object) -> object:
        """`argument` with every node replaced by what it stands for, sizes by expressions."""
        if isinstance(argument, fx.Node):
            return self.resolve(self.values[argument])
        if isinstance(argument, TensorRef):
            return argument
        if isinstance(argument, torch.SymInt):
            return self.expression(argument)
        if isinstance(argument, list | tuple):
            return [self.resolve(item) for item in argument]
        return argument


def _translate_node(work: _Work, node: fx.Node) -> None:
    if node.op == "get_attr":
        work.values[node] = _constant(work, node)
    elif node.op == "output":
        work.outputs = [_output(work.resolve(value)) for value in node.args[0]]  # type: ignore[union-attr]
    elif node.op != "call_function":
        raise ValueError(f"a {node.op} node has no form in a Capture")
    elif getattr(node.target, "__name__", "") == "getitem":
        source, index = (work.resolve(argument) for argument in node.args)
        work.values[node] = source[index]  # type: ignore[index]
    elif node.target in (auto_functionalized, auto_functionalized_v2):
        _mutating_call(work, node)
    elif isinstance(node.target, HigherOrderOperator):
        raise ValueError("a higher-order op has no form in a Capture")
    elif isinstance(node.target, OpOverload) and not node.target._schema.name.startswith(
        "aten::sym_"
    ):
        if node.target._schema.name not in _CHECKS:
            _plain_call(work, node, node.target)
    elif isinstance(node.meta.get("val"), torch.Tensor):
        raise ValueError("a Python function that makes a tensor has no schema")
    else:
        work.values[node] = node.meta.get("val")


def _plain_call(work: _Work, node: fx.Node, op: OpOverload[Any, Any]) -> None:
    value = node.meta.get("val")
    if value is not None and not _tensors(value) and op._schema.returns:
        raise ValueError("it gives a number that is known only once it ran")
    arguments = _in_schema_order(op, node.args, node.kwargs)
    results = work.results(node.name, value)
    work.values[node] = results
    _append_call(work, node, op, [work.resolve(argument) for argument in arguments], results)


def _mutating_call(work: _Work, node: fx.Node) -> None:
    """The mutating op itself: its own outputs first, then the new version of each base."""
    op = node.args[0]
    if not isinstance(op, OpOverload) or torch.Tag.out in op.tags:
        raise ValueError(f"auto-functionalized {op} has no form in a Capture")
    written = [argument.name for argument in op._schema.arguments if _is_written(argument)]
    if node.target is auto_functionalized:
        arguments: dict[str, object] = dict(node.kwargs)
        bases = [work.resolve(arguments[name]) for name in written]
    else:
        bases = list(work.resolve(node.kwargs["_all_bases"]))  # type: ignore[call-overload]
        arguments = _without_views(work, node, op._schema, written, bases)
    ordered = [work.resolve(value) for value in _in_schema_order(op, (), arguments)]
    results = work.results(node.name, node.meta["val"])
    work.values[node] = results
    own = results[: len(results) - len(bases)] if op._schema.returns else []  # type: ignore[arg-type,index]
    call = _append_call(work, node, op, ordered, own)
    for old, new in zip(_flat(bases), _flat(results[len(results) - len(bases) :]), strict=True):  # type: ignore[arg-type,index]
        if isinstance(old, TensorRef) and isinstance(new, TensorRef):
            call["updates"].append([old.id, len(call["outputs"])])
            call["outputs"].append(new.id)


def _without_views(
    work: _Work,
    node: fx.Node,
    schema: torch.FunctionSchema,
    written: list[str],
    bases: list[object],
) -> dict[str, object]:
    """The op's own arguments; views of bases that v2 kept as metadata become calls."""
    names = [argument.name for argument in schema.arguments]
    arguments: dict[str, object] = {
        name: node.kwargs[name] for name in names if name in node.kwargs and name not in written
    }
    for name in written:
        length = node.kwargs.get(f"_{name}_length")
        if isinstance(length, int):
            prefixes = [f"_{name}_{index}" for index in range(length)]
            arguments[name] = [_view(work, node, prefix, bases) for prefix in prefixes]
        elif f"_{name}_base_index" in node.kwargs:
            arguments[name] = _view(work, node, f"_{name}", bases)
        else:
            arguments[name] = None
    return arguments


def _view(work: _Work, node: fx.Node, prefix: str, bases: list[object]) -> object:
    """The mutated argument whose view metadata starts with `prefix`."""
    metadata = {
        key.removeprefix(f"{prefix}_"): work.resolve(value)
        for key, value in node.kwargs.items()
        if key.startswith(f"{prefix}_")
    }
    if metadata["base_index"] is None:
        return None
    index: int = metadata["base_index"]  # type: ignore[assignment]
    base = bases[index]
    node_bases: list[fx.Node] = node.kwargs["_all_bases"]  # type: ignore[assignment]
    fake = node_bases[index].meta["val"]
    aten = torch.ops.aten
    if "storage_offset" in metadata:
        op, values = aten.as_strided.default, ["size", "stride", "storage_offset"]
    elif "slice_dim" in metadata:
        op, values = aten.slice.Tensor, ["slice_dim", "slice_start", "slice_end"]
    else:
        return base
    arguments = [metadata[value] for value in values]
    with fake.fake_mode:
        view = op(fake, *arguments)
    result = work.tensor(f"{node.name}{prefix}", view)
    _append_call(work, node, op, _in_schema_order(op, (base, *arguments), {}), result)
    return result


def _append_call(
    work: _Work, node: fx.Node, op: OpOverload[Any, Any], arguments: list[object], results: object
) -> Document:
    schema = op._schema
    returns = results if isinstance(results, list) and len(schema.returns) > 1 else [results]
    outputs = [list(_flat([value])) for value in returns] if schema.returns else []
    modules, user_calls, marks, line = provenance(node)
    call: Document = {
        "op": schema.name,
        "overload": schema.overload_name,
        "arguments": [write_argument(argument) for argument in arguments],
        "outputs": [_index(value) for values in outputs for value in values],
        "writes": [i for i, argument in enumerate(schema.arguments) if _is_written(argument)],
        "aliases": _aliases(schema, [len(values) for values in outputs]),
        "updates": [],
        "tags": _tags(op),
        "modules": modules,
        "user_calls": user_calls,
        "marks": marks,
        "line": line,
    }
    work.calls.append(call)
    return call


def _in_schema_order(
    op: OpOverload[Any, Any], args: Sequence[object], kwargs: dict[str, Any]
) -> list[object]:
    """Every argument of the schema: those given, and the defaults of the others."""
    given = dict(zip((argument.name for argument in op._schema.arguments), args, strict=False))
    given |= kwargs
    return [given.get(a.name, default_argument(a)) for a in op._schema.arguments]


def _aliases(schema: torch.FunctionSchema, counts: list[int]) -> list[list[int]]:
    """Which flat output shares memory with which argument, as the schema says."""
    pairs = []
    start = 0
    for result, count in zip(schema.returns, counts, strict=False):
        for index, argument in enumerate(schema.arguments):
            if _share(argument, result):
                pairs += [[output, index] for output in range(start, start + count)]
        start += count
    return pairs


def _share(argument: torch.Argument, result: torch.Argument) -> bool:
    """Whether the two are in one alias set; lists show theirs as the argument's wildcard."""
    if argument.alias_info is None or result.alias_info is None:
        return False
    if not result.alias_info.before_set:
        return "*" in argument.alias_info.after_set or argument.alias_info.is_write
    return bool(argument.alias_info.before_set & result.alias_info.before_set)


def _is_written(argument: torch.Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _input(work: _Work, node: fx.Node, name: InputName) -> Document:
    value = node.meta["val"]
    if isinstance(value, torch.Tensor):
        tensor = work.tensor(node.name, value)
        work.values[node] = tensor
        work.input_symbols |= work.symbols
        return {"name": name.name, "role": name.role, "tensor": tensor.id}
    work.values[node] = value
    if isinstance(value, torch.SymInt):
        symbol = work.size(value)
        work.input_symbols |= work.symbols
        return {"name": name.name, "role": "symbol", "symbol": symbol}
    if isinstance(value, FakeScriptObject):  # a DTensor's mesh: what it decides is in the trace
        return {"name": name.name, "role": "scalar", "value": None}
    return {"name": name.name, "role": "scalar", "value": write_argument(value)}


def _constant(work: _Work, node: fx.Node) -> object:
    """A tensor of the graph's own; anything else, such as a subgraph, is left to its reader."""
    value: object = work.gm
    for part in str(node.target).split("."):
        value = getattr(value, part)
    if not isinstance(value, torch.Tensor):
        return value
    tensor = work.tensor(node.name, value)
    work.constants.append(value)
    entry = {"name": str(node.target), "role": "constant", "tensor": tensor.id}
    work.constant_inputs.append(entry)
    return tensor


def _output(value: object) -> Document | None:
    if value is None:
        return None
    if isinstance(value, TensorRef):
        return {"tensor": value.id}
    if isinstance(value, sympy.Expr):
        return {"symbol": write_size(value)}
    return {"scalar": write_argument(value)}


def _symbols(work: _Work, batch: str | None) -> list[Document]:
    """The batch first, then sizes that inputs have, then sizes known only after a call."""
    used = work.symbols
    first = [{"name": batch, "role": "batch"}] if batch in used else []
    others = sorted(name for name in used if name != batch)
    sizes = [{"name": n, "role": "size"} for n in others if n in work.input_symbols]
    data = [{"name": n, "role": "data"} for n in others if n not in work.input_symbols]
    return first + sizes + data


def _index(value: object) -> int | None:
    if value is None or isinstance(value, TensorRef):
        return None if value is None else value.id
    raise ValueError(f"an output {value} that is no tensor has no form in a Capture")


def _tensors(value: object) -> list[torch.Tensor]:
    return [item for item in _flat([value]) if isinstance(item, torch.Tensor)]


def _flat(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, list | tuple) and not isinstance(value, TensorRef):
            yield from _flat(value)
        else:
            yield value


def _tags(op: OpOverload) -> list[str]:
    """Torch's own tags that say something, and "python" for an operator that Python implements."""
    tags = {tag.name for tag in op.tags} - _TAGS_THAT_SAY_NOTHING
    namespace, name = op._schema.name.split("::")
    name += f".{op._schema.overload_name}" if op._schema.overload_name else ""
    keys = ("CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
    if any(f"{namespace}/{name}/{key}" in torch.library._impls for key in keys):
        tags.add("python")
    return sorted(tags)
