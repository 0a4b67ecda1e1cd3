"""A step that fails, wherever it is: told with its op, and without a trace in the next run."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

import dynaflow
from dynaflow import Batch, Error, ScheduleContext, Split
from small import Halves, compiled, rows, two_lanes


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


TRIPS: list[tuple[int, int]] = []


@torch.library.custom_op("dynaflow_test::trip", mutates_args=())
def trip(x: Tensor, op: int) -> Tensor:
    step = dynaflow.microbatch()
    if step is not None and (op, step.rows.start) in TRIPS:
        raise ValueError("tripped")
    return x * 2


@trip.register_fake
def _(x: Tensor, op: int) -> Tensor:
    del op
    return torch.empty_like(x)


class Tripping(nn.Module):
    """Three ops, each of which can fail on each micro-batch."""

    def forward(self, x: Tensor) -> Tensor:
        """Ops trip0, trip1 and trip2."""
        for i in range(3):
            with dynaflow.mark(f"trip{i}"):
                x = trip(x, i)
        return x


def one_lane(ctx: ScheduleContext) -> None:
    while ctx.unfinished():
        for op in ctx.get_ready_ops():
            ctx.execute(op)


def hand_over(ctx: ScheduleContext) -> None:
    lanes, turn = [ctx.lane("here"), ctx.lane("there")], 0
    while ctx.unfinished():
        for op in ctx.get_ready_ops():
            ctx.execute(op, lane=lanes[turn % 2])
            turn += 1


def tripping(schedule: Callable[[ScheduleContext], None]) -> dynaflow.CompiledModule:
    fast = compiled(Tripping(), Halves(schedule), cut=[], row_wise=["dynaflow_test::trip"])
    assert torch.equal(fast(rows(6)), rows(6) * 8)
    assert fast.stats["steps"] == 6
    return fast


@pytest.mark.parametrize("schedule", [one_lane, two_lanes, hand_over])
def test_a_failure_anywhere_names_its_op_and_micro_batch_and_the_next_run_is_right(
    schedule: Callable[[ScheduleContext], None],
) -> None:
    fast = tripping(schedule)
    for op in range(3):
        for mb, first in enumerate((0, 3)):
            TRIPS[:] = [(op, first)]
            with pytest.raises(Error, match="tripped") as failed:
                fast(rows(6))
            (finding,) = failed.value.findings
            assert finding.rule == "R1"
            assert f"trip{op} on microbatch {mb} failed on lane" in finding.message
            TRIPS.clear()
            for batch in (6, 5):
                assert torch.equal(fast(rows(batch)), rows(batch) * 8)


def test_a_kernel_that_fails_in_the_first_call_is_told_like_any_other() -> None:
    table = torch.ones(2, 2)
    fast = compiled(lambda x: nn.functional.embedding(x.long() + 9, table), Halves(one_lane))
    for _ in range(2):
        with pytest.raises(Error, match="embedding: index out of range"):
            fast(rows(4))


def test_an_operator_that_fails_in_the_first_call_is_the_cause_of_the_error() -> None:
    TRIPS[:] = [(0, 0)]
    fast = compiled(Tripping(), Halves(one_lane), cut=[], row_wise=["dynaflow_test::trip"])
    with pytest.raises(Error, match="trip0 on microbatch 0 failed on lane main") as failed:
        fast(rows(6))
    assert "tripped" in f"{failed.value} {failed.value.__cause__}"
    TRIPS.clear()
    assert torch.equal(fast(rows(6)), rows(6) * 8)


def test_of_two_failures_at_once_one_is_told_and_the_next_run_is_right() -> None:
    fast = tripping(two_lanes)
    TRIPS[:] = [(1, 0), (1, 3)]
    with pytest.raises(Error, match=r"trip1 on microbatch [01] failed on lane (left|right)"):
        fast(rows(6))
    TRIPS.clear()
    assert torch.equal(fast(rows(6)), rows(6) * 8)


def test_a_failed_call_leaves_neither_its_step_nor_its_facts_behind() -> None:
    seen: list[dict[str, int]] = []

    class Watching(Halves):
        def split(self, batch: Batch) -> Split:
            seen.append(batch.facts)
            return super().split(batch)

    fast = compiled(Tripping(), Watching(), cut=[], row_wise=["dynaflow_test::trip"])
    fast(rows(6))
    TRIPS[:] = [(0, 0)]
    with pytest.raises(Error, match="tripped"), dynaflow.batch(decoding=1):
        fast(rows(6))
    TRIPS.clear()
    assert dynaflow.microbatch() is None
    assert seen[-1] == {"decoding": 1}
    fast(rows(4))
    assert seen[-1] == {}
