"""Runs a Capture call by call with torch's own operators: slow, plain, and easy to trust."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch

from dynaflow._capture.arguments import DTYPES
from dynaflow._capture.capture import positional_names
from dynaflow._capture.marks import named_tensors

Document: TypeAlias = dict[str, Any]
Symbols: TypeAlias = Mapping[str, int]
Tensors: TypeAlias = Mapping[int, torch.Tensor]

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
_MEMORY_FORMATS = {
    "contiguous": torch.contiguous_format,
    "preserve": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}


def size(written: object, symbols: Symbols) -> int:
    """The number that a written size stands for.

    >>> size(["mul", 2, "u0"], {"u0": 5})
    10
    """
    if isinstance(written, int):
        return written
    if isinstance(written, str):
        return symbols[written]
    assert isinstance(written, list)
    operands = [size(operand, symbols) for operand in written[1:]]
    match written[0]:
        case "add":
            return sum(operands)
        case "mul":
            return math.prod(operands)
        case "pow":
            return int(operands[0] ** operands[1])
        case "floordiv":
            return operands[0] // operands[1]
        case "ceildiv":
            return -(-operands[0] // operands[1])
        case "mod":
            return operands[0] % operands[1]
        case "max":
            return max(operands)
        case "min":
            return min(operands)
    raise ValueError(f"no size is written as {written}")


def find_inputs(
    document: Document,
    model: torch.nn.Module,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    constants: Sequence[torch.Tensor],
) -> tuple[dict[int, torch.Tensor], dict[str, int]]:
    """The tensors of a Capture's inputs by their index, and the values of its symbols."""
    known = {t.name: t.tensor for t in named_tensors(args, kwargs, positional_names(model))}
    known |= dict(model.named_parameters(remove_duplicate=False))
    known |= dict(model.named_buffers(remove_duplicate=False))
    rest = iter(constants)
    tensors: dict[int, torch.Tensor] = {}
    symbols: dict[str, int] = {}
    for entry in document["inputs"]:
        if "tensor" not in entry:
            continue
        name = entry["name"].removeprefix("__dict__.")
        tensor = next(rest) if entry["role"] == "constant" else known[name]
        tensors[entry["tensor"]] = tensor.detach()
        written = document["tensors"][entry["tensor"]]["sizes"]
        symbols |= {s: n for s, n in zip(written, tensor.shape, strict=True) if isinstance(s, str)}
    return tensors, symbols


def run(call: Document, tensors: Tensors, symbols: Symbols) -> dict[int, torch.Tensor]:
    """What one call makes, by the index of the tensor in the Capture."""
    namespace, name = call["op"].split("::")
    op = getattr(getattr(getattr(torch.ops, namespace), name), call["overload"] or "default")
    values = [_argument(written, tensors, symbols) for written in call["arguments"]]
    schema = op._schema.arguments
    args = [v for v, a in zip(values, schema, strict=True) if not a.kwarg_only]
    kwargs = {a.name: v for v, a in zip(values, schema, strict=True) if a.kwarg_only}
    result = op(*args, **kwargs)
    results = list(result) if isinstance(result, list | tuple) else [result]
    updated = {output: tensor for tensor, output in call["updates"]}
    made: dict[int, torch.Tensor] = {}
    for position, output in enumerate(call["outputs"]):
        if output is None:
            continue
        made[output] = tensors[updated[position]] if position in updated else results[position]
    return made


def _argument(written: object, tensors: Tensors, symbols: Symbols) -> object:
    if isinstance(written, list):
        return [_argument(item, tensors, symbols) for item in written]
    if not isinstance(written, dict):
        return written
    ((kind, value),) = written.items()
    match kind:
        case "t":
            return tensors[value]
        case "e":
            return size(value, symbols)
        case "float":
            return float(value)
        case "dtype":
            return _DTYPES[value]
        case "device":
            return torch.device(value)
        case "layout":
            return getattr(torch, value)
        case "memory_format":
            return _MEMORY_FORMATS[value]
        case "scalar_complex":
            return complex(*value)
    raise ValueError(f"no argument is written as {written}")
