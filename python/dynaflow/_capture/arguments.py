"""Arguments of a call as a Capture writes them."""

import math
from typing import NamedTuple

import sympy  # type: ignore[import-untyped]
import torch

from dynaflow._capture.sizes import write_size

DTYPES: dict[torch.dtype, str] = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
}
_MEMORY_FORMATS: dict[torch.memory_format, str] = {
    torch.contiguous_format: "contiguous",
    torch.preserve_format: "preserve",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}
# Schemas give the defaults of enumerations as their numbers in c10.
_NUMBERED: dict[str, dict[int, object]] = {
    "MemoryFormat": dict(enumerate(_MEMORY_FORMATS)),
    "Layout": {0: torch.strided},
    "ScalarType": {
        0: torch.uint8,
        1: torch.int8,
        2: torch.int16,
        3: torch.int32,
        4: torch.int64,
        5: torch.float16,
        6: torch.float32,
        7: torch.float64,
        9: torch.complex64,
        10: torch.complex128,
        11: torch.bool,
        15: torch.bfloat16,
    },
}


class TensorRef(NamedTuple):
    """A tensor of the Capture, by its index."""

    id: int


def write_dtype(dtype: torch.dtype) -> str:
    """`dtype` as a Capture writes it; ValueError where the format has no name for it."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype {dtype} has no name in a Capture")
    return DTYPES[dtype]


def write_argument(value: object) -> object:
    """`value` as a Capture writes it, sizes being sympy expressions.

    ValueError where the format has no word for it.
    """
    if isinstance(value, TensorRef):
        return {"t": value.id}
    if isinstance(value, list | tuple):
        return [write_argument(item) for item in value]
    if isinstance(value, sympy.Expr):
        size = write_size(value)
        return size if isinstance(size, int) else {"e": size}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, complex):
        return {"scalar_complex": [value.real, value.imag]}
    return _write_kind(value)


def default_argument(argument: torch.Argument) -> object:
    """The default of a schema's argument, with enumerations as torch's own objects."""
    default: object = argument.default_value
    kind = str(argument.real_type).removeprefix("Optional[").removesuffix("]")
    return _NUMBERED[kind][default] if kind in _NUMBERED and isinstance(default, int) else default


def _write_kind(value: object) -> object:
    if isinstance(value, torch.dtype):
        return {"dtype": write_dtype(value)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.layout):
        return {"layout": str(value).removeprefix("torch.")}
    if isinstance(value, torch.memory_format) and value in _MEMORY_FORMATS:
        return {"memory_format": _MEMORY_FORMATS[value]}
    raise ValueError(f"an argument of type {type(value).__name__} has no form in a Capture")
