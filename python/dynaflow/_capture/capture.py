"""One model, one call, one Capture: the ladder of batch marks, and a backend that records."""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd

from dynaflow._capture.inputs import aot_inputs, dynamo_inputs
from dynaflow._capture.marks import (
    LADDER,
    Batch,
    Marks,
    Rung,
    capturing,
    clear,
    mark,
    named_tensors,
)
from dynaflow._capture.sizes import expression
from dynaflow._capture.translate import Document, InputName, Translation, translate
from dynaflow._capture.untranslatable import UntranslatableError

log = logging.getLogger("dynaflow")


@dataclass(frozen=True)
class CaptureResult:
    """A Capture, its constants, how its batch is known, and why not by a higher rung."""

    document: Document
    constants: list[torch.Tensor]
    rung: Batch
    reasons: list[str] = field(default_factory=list)


class BatchLostError(Exception):
    """The captured graph does not carry the batch as one symbol that sizes are linear in."""


def capture(
    model: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    batch_dims: Mapping[str, int | None] | None = None,
    *,
    name: str | None = None,
) -> CaptureResult:
    """The Capture of `model` for inference; the model does not run.

    >>> capture(model, (ids,), {"attention_mask": mask}).document["symbols"]
    [{'name': 'u0', 'role': 'batch'}, {'name': 's16', 'role': 'size'}]
    """
    call = _Call(model, args, kwargs or {}, name or _name(model))
    reasons: list[str] = []
    try:
        for rung in LADDER:
            marks = mark(*call.arguments, batch_dims, positional=call.positional, rung=rung)
            try:
                translation = _capture_once(call, marks, rung)
            except Exception as error:
                if _is_final(rung, error):
                    raise
                reasons.append(f"{rung.batch} batch, other sizes {rung.others}: {_reason(error)}")
                log.info("%s: not with %s", call.name, reasons[-1])
            else:
                return CaptureResult(*translation, rung.batch, reasons)
    finally:
        for _, tensor, _ in named_tensors(*call.arguments, call.positional):
            clear(tensor)
    raise AssertionError("the last rung returns or raises")


def positional_names(model: Callable[..., object]) -> list[str]:
    """The names of a model's positional parameters; none where Python does not know them."""
    function = model.forward if isinstance(model, torch.nn.Module) else model
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def batch_symbols(
    gm: fx.GraphModule, inputs: Sequence[InputName], dims: Mapping[str, int]
) -> list[str]:
    """The names of the batch symbol in a graph; BatchLostError where a marked size is no symbol."""
    symbols: dict[str, None] = {}
    for node, (name, _) in zip(gm.graph.find_nodes(op="placeholder"), inputs, strict=True):
        if name not in dims or not isinstance(node.meta["val"], torch.Tensor):
            continue
        size = expression(node.meta["val"].size(dims[name]))
        if not isinstance(size, sympy.Symbol):
            raise BatchLostError(f"the batch of {name} was specialised to {size}")
        symbols[size.name] = None
    if not symbols:
        raise BatchLostError("no input carries a batch")
    return list(symbols)


def check_linear(gm: fx.GraphModule, batch: Sequence[str]) -> None:
    """Refuses a graph with an input or output size that has the batch other than as a factor."""
    symbols = set(batch)
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            _check_linear(node, symbols)
        elif node.op == "output":
            for result in node.args[0]:
                if isinstance(result, fx.Node):
                    _check_linear(result, symbols)


def recording_backend(
    receive: Callable[[fx.GraphModule, list[InputName]], Callable[..., Any]],
    positional: Sequence[str] = (),
) -> Callable[..., Any]:
    """A backend for torch.compile: `receive` gets each ATen graph with the names of its inputs."""

    def backend(gm: fx.GraphModule, examples: list[Any], **_: object) -> Any:  # noqa: ANN401
        names = dynamo_inputs(gm, positional)

        def compiler(aten: fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
            return receive(aten, aot_inputs(aten, names))

        return aot_autograd(
            fw_compiler=compiler,
            bw_compiler=compiler,
            inference_compiler=compiler,
            keep_inference_input_mutations=True,
        )(gm, examples)

    return backend


class _CapturedError(Exception):
    """Ends the call that captured, before anything of the model ran."""


@dataclass(frozen=True)
class _Call:
    model: Callable[..., object]
    args: Sequence[object]
    kwargs: Mapping[str, object]
    name: str

    @property
    def arguments(self) -> tuple[Sequence[object], Mapping[str, object]]:
        return self.args, self.kwargs

    @property
    def positional(self) -> list[str]:
        return positional_names(self.model)


def _capture_once(call: _Call, marks: Marks, rung: Rung) -> Translation:
    if rung.batch == "dynamic" and marks.batch == 1:
        raise BatchLostError("a batch of 1 would be taken for a constant")
    found: list[Translation] = []
    failed: list[Exception] = []

    def receive(gm: fx.GraphModule, inputs: list[InputName]) -> Callable[..., NoReturn]:
        try:
            batch = [] if rung.batch == "static" else batch_symbols(gm, inputs, marks.dims)
            check_linear(gm, batch)
            found.append(translate(gm, name=call.name, batch=batch, inputs=inputs))
        except (UntranslatableError, BatchLostError) as error:
            failed.append(error)
        return _stop

    backend = recording_backend(receive, call.positional)
    compiled = torch.compile(call.model, backend=backend, fullgraph=True)
    try:
        with torch.no_grad(), capturing(rung), _many_captures():
            compiled(*call.args, **call.kwargs)
    except _CapturedError:
        pass
    if failed:
        raise failed[0]
    return found[0]


def _stop(*_: object) -> NoReturn:
    raise _CapturedError


def _many_captures() -> Any:  # noqa: ANN401
    """Every capture has a backend of its own; together they are no sign of endless recompiling."""
    return torch._dynamo.config.patch(recompile_limit=1 << 20, accumulated_recompile_limit=1 << 20)


def _check_linear(node: fx.Node, batch: set[str]) -> None:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return
    for dim, size in enumerate(value.size()):
        expr = expression(size)
        inside = [symbol for symbol in expr.free_symbols if symbol.name in batch]
        if inside and (expr / inside[0]).has(*inside):
            raise BatchLostError(f"dimension {dim} of {node.name} has size {expr}")


def _is_final(rung: Rung, error: Exception) -> bool:
    """Whether no lower rung can help: a node stays what it is, only sizes become simpler."""
    return rung.batch == "static" or (
        isinstance(error, UntranslatableError) and rung.others == "fixed"
    )


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def _name(model: Callable[..., object]) -> str:
    return str(getattr(model, "__name__", type(model).__name__))
