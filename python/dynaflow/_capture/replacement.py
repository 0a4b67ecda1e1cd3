"""A function in place of ops, traced: what C++ then runs without Python. Translation only."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import sympy  # type: ignore[import-untyped]
import torch
from torch import Tensor, fx
from torch._dispatch.python import enable_python_dispatcher
from torch._ops import OpOverload
from torch._prims_common import make_contiguous_strides_for
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv, statically_known_true

from dynaflow._capture.arguments import DTYPES
from dynaflow._capture.sizes import expression
from dynaflow._capture.translate import InputName, translate

Polynomial: TypeAlias = Sequence[tuple[int, Sequence[int]]]
"""A sum of terms: a coefficient, and the symbols it is multiplied with."""

Spoken: TypeAlias = Mapping[sympy.Symbol, sympy.Symbol]
"""What the user calls the symbols of a trace."""

_TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
_CLONE = torch.ops.aten.clone.default
_RESHAPING = {
    torch.ops.aten.view.default,
    torch.ops.aten._unsafe_view.default,
    torch.ops.aten.unsqueeze.default,
    torch.ops.aten.squeeze.dim,
}


class Operand(NamedTuple):
    """A tensor that the function gets or must give, over symbols by their index."""

    dtype: str
    sizes: Sequence[Polynomial]
    strides: Sequence[Polynomial]


class Traced(NamedTuple):
    """A Capture as JSON, the tensors it closes over, and its names of the given symbols."""

    document: str
    constants: list[Tensor]
    symbols: list[str]


class NotTraceableError(Exception):
    """The function can be called, but a trace of it would not do what a call does."""


class WrongResultError(Exception):
    """The function returns something else than what it stands for, whatever it is called with."""


def trace(
    function: Callable[..., object],
    name: str,
    reads: Sequence[Operand],
    writes: Sequence[Operand],
    symbols: Sequence[str],
    batch: int | None,
) -> Traced:
    """What `function` does to any tensors like `reads`, if that makes tensors like `writes`.

    `symbols` are the names of those that operands are over; one of them may be the batch.

    Any exception says why it cannot be known without a call.
    """
    sizes = ShapeEnv()
    with FakeTensorMode(shape_env=sizes, allow_non_fake_inputs=True):
        with sizes.ignore_fresh_unbacked_symbols():  # no call of the trace makes them
            numbers = [sizes.create_unbacked_symint() for _ in symbols]
        for number in numbers:
            torch._check(number >= 1)  # type: ignore[no-untyped-call]
        inputs = [_fake(operand, numbers) for operand in reads]
        wanted = [_fake(operand, numbers) for operand in writes]

        def call(*args: Tensor) -> tuple[Tensor, ...]:
            result = function(*args)
            return result if isinstance(result, tuple) else (result,)

        with enable_python_dispatcher():  # which knows operators that C++ has for fixed sizes only
            gm = make_fx(call, _allow_non_fake_inputs=True)(*inputs)
    _check_writes(gm)
    spoken = {expression(n): sympy.Symbol(s) for n, s in zip(numbers, symbols, strict=True)}
    _return_as_wanted(gm, wanted, spoken)
    names = [str(symbol) for symbol in spoken]
    document, constants = translate(
        gm,
        name=name,
        batch=[] if batch is None else [names[batch]],
        inputs=[InputName(f"argument {i}", "argument") for i in range(len(inputs))],
    )
    return Traced(json.dumps(document), constants, names)


def _fake(operand: Operand, symbols: Sequence[torch.SymInt]) -> Tensor:
    sizes, strides = (
        [_evaluate(extent, symbols) for extent in extents]
        for extents in (operand.sizes, operand.strides)
    )
    return torch.empty_strided(sizes, strides, dtype=_TORCH_DTYPES[operand.dtype])


def _evaluate(extent: Polynomial, symbols: Sequence[torch.SymInt]) -> Any:  # noqa: ANN401
    return sum(factor * math.prod(symbols[i] for i in of) for factor, of in extent)


def _check_writes(gm: fx.GraphModule) -> None:
    """Refuses writes to memory that is not the function's own."""
    given: set[int] = set()
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            given.add(_storage(node))
        elif node.op == "get_attr":
            given.add(getattr(gm, node.target).untyped_storage()._cdata)
        elif isinstance(node.target, OpOverload) and node.target._schema.is_mutable:
            for argument, value in zip(node.target._schema.arguments, node.args, strict=False):
                if argument.is_write and any(_storage(of) in given for of in _flat(value)):
                    raise NotTraceableError(f"{node.target} writes to what it was given")


def _storage(node: fx.Node) -> int:
    storage: int = node.meta["val"].untyped_storage()._cdata
    return storage


def _return_as_wanted(gm: fx.GraphModule, wanted: Sequence[Tensor], spoken: Spoken) -> None:
    """Each result becomes a tensor of its own with the wanted strides."""
    (output,) = gm.graph.find_nodes(op="output")
    results: list[Any] = list(_flat(output.args[0]))
    if len(results) != len(wanted):
        raise WrongResultError(f"it returns {len(results)} tensors, not {len(wanted)}")
    own: dict[fx.Node, None] = {}
    for k, (node, like) in enumerate(zip(results, wanted, strict=True)):
        value = node.meta.get("val") if isinstance(node, fx.Node) else node
        if not isinstance(value, Tensor) or not _same_type(value, like):
            raise _misfit(k, value, like, spoken)
        made = _before_reshaping(node) if _is_contiguous(like) else node
        fits = made is not node or _equal(value.stride(), like.stride())
        if made in own or _is_alias(made) or not fits:
            with gm.graph.inserting_before(output):
                made = gm.graph.call_function(_CLONE, (node,))
            made.meta["val"] = like
        own[made] = None
    output.args = (tuple(own),)
    gm.graph.eliminate_dead_code()


def _misfit(k: int, value: object, wanted: Tensor, spoken: Spoken) -> Exception:
    """A size that only a call knows may be the right one."""
    texts = (_text(each, spoken) for each in (value, wanted))
    sizes = value.size() if isinstance(value, Tensor) else ()
    known = all(expression(size).free_symbols <= spoken.keys() for size in sizes)
    error = WrongResultError if known else NotTraceableError
    return error(f"result {k} is {', not '.join(texts)}")


def _before_reshaping(node: fx.Node) -> fx.Node:
    """The contiguous tensor that `node` shows in another shape; itself, if there is none."""
    source = node
    while source.target in _RESHAPING and isinstance(source.args[0], fx.Node):
        source = source.args[0]
    return source if _is_contiguous(source.meta["val"]) else node


def _is_contiguous(value: Tensor) -> bool:
    return _equal(value.stride(), make_contiguous_strides_for(value.size()))


def _flat(value: object) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _same_type(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and a.dim() == b.dim() and _equal(a.size(), b.size())


def _equal(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(statically_known_true(x == y) for x, y in zip(a, b, strict=True))


def _is_alias(node: fx.Node) -> bool:
    """Whether the memory is another tensor's; of what is not a call with a schema, it may be."""
    if not isinstance(node.target, OpOverload):
        return True
    return any(result.alias_info is not None for result in node.target._schema.returns)


def _text(value: object, spoken: Spoken) -> str:
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__}"
    sizes = ", ".join(str(expression(size).xreplace(spoken)) for size in value.size())
    return f"{DTYPES.get(value.dtype, value.dtype)}[{sizes}]"
