"""A replacement is held to what it stands for: shape, dtype, count; never silently wrong."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import dynaflow
from dynaflow import Error, ScheduleContext
from small import Chain, Halves, compiled, rows, two_lanes
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def replaced(function: Callable[..., Any], ops: int = 1, mbs: int = 1) -> Halves:
    """The first `ops` ops of each micro-batch, or of `mbs` merged, run as `function`."""

    def schedule(ctx: ScheduleContext) -> None:
        count = len(ctx.microbatches)
        for first in range(0, count, mbs):
            chain: list[dynaflow.ReadyOp] = []
            for mb in ctx.microbatches[first : first + mbs]:
                own = [ctx.get_ready_ops(mb)[0]]
                while len(own) < ops:
                    own += ctx.get_ready_after(own)
                chain += own
            ctx.execute(chain, replace_func=function)
        two_lanes(ctx)

    return Halves(schedule)


def by_shape(args: tuple[Tensor, ...]) -> list[tuple[int, ...]]:
    return [tuple(a.shape) for a in args]


def rows_of(args: tuple[Tensor, ...]) -> int:
    """Of the micro-batch, among a bias and a square weight of eight."""
    return next(len(a) for a in args if a.dim() == 2 and len(a) != 8)


def test_a_replacement_gets_the_operands_of_its_op_and_runs_in_its_place() -> None:
    seen = []

    def spy(*args: Tensor) -> Tensor:
        seen.append(sorted(by_shape(args)))
        return torch.full((rows_of(args), 8), 7.0)

    model = Chain(1)
    result = compiled(model, replaced(spy))(rows(5))
    assert torch.equal(result, torch.full((5, 8), 7.0))
    assert seen == [sorted([(8,), (n, 8), (8, 8)]) for n in (3, 2)]


BAD: dict[str, Callable[[Tensor], Any]] = {
    "one broadcastable row": lambda y: y[:1],
    "a row too few": lambda y: y[:-1],
    "a row too many": lambda y: torch.cat([y, y[:1]]),
    "no rows": lambda y: y[:0],
    "a scalar": lambda y: y.sum(),
    "transposed": lambda y: y.t(),
    "another rank": lambda y: y[None],
    "float64": lambda y: y.double(),
    "integers": lambda y: y.long(),
    "two tensors": lambda y: (y, y),
    "no tensors": lambda y: (),
    "None": lambda y: None,
    "a list": lambda y: [y],
    "a number": lambda y: 1.0,
    "a numpy array": lambda y: y.numpy(),
}


@pytest.mark.parametrize("how", BAD)
def test_a_replacement_that_returns_something_else_is_refused(how: str) -> None:
    model = Chain(1)

    def replacement(*args: Tensor) -> Any:  # noqa: ANN401
        return BAD[how](torch.zeros(rows_of(args), 8))

    with pytest.raises(Error, match=r"R1|S7") as refused:
        compiled(model, replaced(replacement))(rows(6))
    assert "replacement" in str(refused.value)


WRONG = {
    "one broadcastable row": r"result 0 is f32\[1, 8\], not f32\[batch, 8\]",
    "a row too few": r"result 0 is f32\[batch - 1, 8\], not f32\[batch, 8\]",
    "a row too many": r"result 0 is f32\[batch \+ 1, 8\], not f32\[batch, 8\]",
    "transposed": r"result 0 is f32\[8, batch\], not f32\[batch, 8\]",
    "float64": r"result 0 is f64\[batch, 8\], not f32\[batch, 8\]",
    "two tensors": "it returns 2 tensors, not 1",
    "None": r"result 0 is a NoneType, not f32\[batch, 8\]",
}


@pytest.mark.parametrize("mbs", [1, 2])
@pytest.mark.parametrize("how", WRONG)
def test_a_traced_replacement_that_returns_something_else_is_refused(how: str, mbs: int) -> None:
    def replacement(x: Tensor, weight: Tensor, bias: Tensor) -> Any:  # noqa: ANN401
        return BAD[how](torch.nn.functional.linear(x, weight, bias))

    with pytest.raises(Error, match=WRONG[how]) as refused:
        compiled(Chain(1), replaced(replacement, mbs=mbs))(rows(6))
    assert {finding.rule for finding in refused.value.findings} == {"S7"}


def test_a_replacement_that_raises_says_what_and_where_and_the_next_run_works() -> None:
    fails = [True]

    def replacement(*args: Tensor) -> Tensor:
        if fails[0]:
            raise ZeroDivisionError("the moon is full")
        return torch.zeros(rows_of(args), 8)

    model = compiled(Chain(1), replaced(replacement))
    for _ in range(3):
        with pytest.raises(Error, match="the moon is full") as refused:
            model(rows(6))
        line = replacement.__code__.co_firstlineno + 2
        text = str(refused.value)
        assert "ZeroDivisionError" in text
        assert "test_misuse_replace.py" in text
        assert str(line) in text
    fails[0] = False
    assert torch.equal(model(rows(6)), torch.zeros(6, 8))


@pytest.mark.parametrize("mbs", [1, 2])
@pytest.mark.parametrize("ops", [1, 2, 3])
def test_a_chain_is_replaced_as_one(ops: int, mbs: int) -> None:
    model = Chain(3)

    def fused(*args: Tensor) -> Tensor:
        x = next(a for a in args if a.shape[0] in (3, 6) and a.shape == (a.shape[0], 8))
        for layer in list(model.layers)[:ops]:
            x = layer(x)
        return x

    fast = compiled(model, replaced(fused, ops, mbs))
    assert difference([fast(rows(6))], [model(rows(6))]) <= 1e-5
    assert fast.stats["python_calls"] == 2 // mbs


def test_a_replacement_may_return_what_it_was_given() -> None:
    fast = compiled(Chain(1), replaced(lambda *args: next(a for a in args if len(a) == 3)))
    assert torch.equal(fast(rows(6)), rows(6))


def test_a_replacement_may_return_a_view_with_other_strides() -> None:
    def strided(*args: Tensor) -> Tensor:
        n = next(len(a) for a in args if len(a) == 3)
        return torch.arange(8.0 * n).view(8, n).t()

    part = torch.arange(24.0).view(8, 3).t()
    assert torch.equal(compiled(Chain(1), replaced(strided))(rows(6)), torch.cat([part, part]))


def test_what_a_replacement_keeps_does_not_change_later_results() -> None:
    kept = []

    def keeper(*args: Tensor) -> Tensor:
        result = torch.ones(len(next(a for a in args if len(a) == 3)), 8)
        kept.append(result)
        return result

    fast = compiled(Chain(1), replaced(keeper))
    first = fast(rows(6))
    for result in kept:
        result.zero_()
    assert torch.equal(first, torch.ones(6, 8))


def test_a_replacement_that_writes_to_its_operands_is_refused() -> None:
    model, x = Chain(2), rows(6)

    def writes(*args: Tensor) -> Tensor:
        given = next(a for a in args if a.shape == (3, 8))
        return given.mul_(2)

    with pytest.raises(Error, match="R1"):
        compiled(model, replaced(writes))(x)


@pytest.mark.parametrize("bad", [3, "linear", object()])
def test_what_is_no_function_cannot_replace(bad: object) -> None:
    with pytest.raises(Error, match="S11"):
        compiled(Chain(1), replaced(bad))(rows(6))  # type: ignore[arg-type]


def test_a_torch_function_and_a_lambda_and_a_module_can_replace() -> None:
    class Twice(torch.nn.Module):
        def forward(self, *args: Tensor) -> Tensor:
            return 2 * next(a for a in args if a.shape == (3, 8))

    for function in (Twice(), lambda *args: 2 * next(a for a in args if a.shape == (3, 8))):
        fast = compiled(Chain(1), replaced(function))
        assert torch.equal(fast(rows(6)), 2 * rows(6))


def test_ops_of_different_micro_batches_are_no_chain() -> None:
    def schedule(ctx: ScheduleContext) -> None:
        left, right = ctx.microbatches
        first = ctx.get_ready_ops(left)
        second = ctx.get_ready_after(ctx.get_ready_ops(right))
        ctx.execute([*first, *second], replace_func=lambda *args: args[0])
        two_lanes(ctx)

    with pytest.raises(Error, match=r"S7|S5"):
        compiled(Chain(3), Halves(schedule))(rows(4))
