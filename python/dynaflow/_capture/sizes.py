"""Sizes as a Capture writes them: integers, symbols and nested lists ``["mul", "u0", 64]``."""

from typing import TypeAlias

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy import functions as shape

Size: TypeAlias = int | str | list[object]

_OPERATORS: dict[type, str] = {
    sympy.Add: "add",
    sympy.Mul: "mul",
    sympy.Pow: "pow",
    shape.PowByNatural: "pow",
    shape.FloorDiv: "floordiv",
    shape.CleanDiv: "floordiv",
    shape.CeilDiv: "ceildiv",
    shape.Mod: "mod",
    shape.PythonMod: "mod",
    sympy.Mod: "mod",
    shape.Max: "max",
    sympy.Max: "max",
    shape.Min: "min",
    sympy.Min: "min",
}
_UNORDERED = {"add", "mul", "max", "min"}


def expression(value: int | torch.SymInt) -> sympy.Expr:
    """The sympy expression of a size, with what the capture learnt about its symbols applied."""
    return value.node.expr if isinstance(value, torch.SymInt) else sympy.Integer(value)


def write_size(expr: sympy.Expr) -> Size:
    """`expr` as a Capture writes it; ValueError where the format has no word for it."""
    if isinstance(expr, sympy.Integer):
        return int(expr)
    if isinstance(expr, sympy.Symbol):
        return str(expr.name)
    if isinstance(expr, shape.Identity):
        return write_size(expr.args[0])
    if isinstance(expr, shape.ModularIndexing):
        base, divisor, modulus = expr.args
        return ["mod", ["floordiv", write_size(base), write_size(divisor)], write_size(modulus)]
    operator = _OPERATORS.get(type(expr))
    if operator is None:
        raise ValueError(f"no size is written as {expr} ({type(expr).__name__})")
    operands = sorted(expr.args, key=str) if operator in _UNORDERED else expr.args
    if operator == "pow" and not isinstance(operands[1], sympy.Integer):
        raise ValueError(f"{expr} has an exponent that is not a number")
    return [operator, *(write_size(operand) for operand in operands)]
