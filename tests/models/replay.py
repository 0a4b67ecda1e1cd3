"""Runs a Capture with torch, call by call: the oracle for everything that executes Captures."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from dynaflow._capture.arguments import DTYPES

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
_MEMORY_FORMATS = {
    "contiguous": torch.contiguous_format,
    "preserve": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
    "pow": lambda a, b: int(a**b),
}


def replay(
    document: Mapping[str, Any], tensors: Mapping[str, Tensor], constants: Sequence[Tensor]
) -> list[Any]:
    """The outputs of a Capture for the input tensors of these names; checks every shape."""
    values: dict[int, Tensor] = {}
    symbols: dict[str, int] = {}
    left = iter(constants)
    for item in document["inputs"]:
        if "tensor" in item:
            value = next(left) if item["role"] == "constant" else tensors[item["name"]]
            values[item["tensor"]] = value
            _learn(document["tensors"][item["tensor"]], value, symbols)
    for call in document["calls"]:
        _run(document, call, values, symbols)
    return [_output(item, values, symbols) for item in document["outputs"]]


def size(expression: Any, symbols: Mapping[str, int]) -> int:  # noqa: ANN401
    """The value of a size expression."""
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return symbols[expression]
    operator, *operands = expression
    return reduce(_OPERATORS[operator], [size(operand, symbols) for operand in operands])


def _run(
    document: Mapping[str, Any],
    call: Mapping[str, Any],
    values: dict[int, Tensor],
    symbols: dict[str, int],
) -> None:
    namespace, name = call["op"].split("::")
    op = getattr(getattr(getattr(torch.ops, namespace), name), call["overload"] or "default")
    positional, named = [], {}
    for argument, given in zip(op._schema.arguments, call["arguments"], strict=True):
        value = _argument(given, values, symbols)
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    results = _flat(op(*positional, **named))
    results += [values[old] for old, _ in call["updates"]]
    for index, result in zip(call["outputs"], results, strict=True):
        if index is not None:
            values[index] = result
            _learn(document["tensors"][index], result, symbols)


def _learn(tensor: Mapping[str, Any], value: Tensor, symbols: dict[str, int]) -> None:
    """Takes new symbols from the sizes of `value`, and holds it against what is said of it."""
    for expression, actual in zip(tensor["sizes"], value.shape, strict=True):
        if isinstance(expression, str):
            symbols.setdefault(expression, actual)
    said = [size(expression, symbols) for expression in tensor["sizes"]]
    assert said == [*value.shape], f"{tensor['name']} is {[*value.shape]}, not {said}"
    assert _DTYPES[tensor["dtype"]] == value.dtype, tensor["name"]
    strides = [size(expression, symbols) for expression in tensor["strides"]]
    used = [(a, b) for a, b, n in zip(strides, value.stride(), said, strict=True) if n > 1]
    assert all(a == b for a, b in used), f"{tensor['name']} strides {value.stride()}: {strides}"


def _argument(given: Any, values: Mapping[int, Tensor], symbols: Mapping[str, int]) -> Any:  # noqa: ANN401
    if isinstance(given, list):
        return [_argument(item, values, symbols) for item in given]
    if not isinstance(given, dict):
        return given
    ((kind, value),) = given.items()
    if kind == "t":
        return values[value]
    if kind == "e":
        return size(value, symbols)
    readers: dict[str, Callable[[Any], object]] = {
        "dtype": _DTYPES.__getitem__,
        "device": torch.device,
        "layout": lambda name: getattr(torch, name),
        "memory_format": _MEMORY_FORMATS.__getitem__,
        "scalar_complex": lambda parts: complex(*parts),
        "float": float,
    }
    return readers[kind](value)


def _output(item: Any, values: Mapping[int, Tensor], symbols: Mapping[str, int]) -> Any:  # noqa: ANN401
    if item is None:
        return None
    if "tensor" in item:
        return values[item["tensor"]]
    return size(item["symbol"], symbols) if "symbol" in item else item["scalar"]


def _flat(result: object) -> list[Any]:
    if isinstance(result, list | tuple):
        return [value for item in result for value in _flat(item)]
    return [] if result is None else [result]


def largest_difference(a: Tensor, b: Tensor) -> float:
    """max|a−b| / max|b|, the house's measure of equality."""
    difference = (a.double() - b.double()).abs().max() / b.double().abs().max()
    return float(difference) if math.isfinite(difference) else math.inf
