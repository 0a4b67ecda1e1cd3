"""Every misuse of a schedule ends in a typed error that names the rule, or in a right answer."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch

import dynaflow
from dynaflow import Error, ReadyOp, ScheduleContext
from small import AT_LINEAR, Chain, Halves, compiled, rows, two_lanes
from sweep import difference

Schedule = Callable[[ScheduleContext], None]


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def in_order(ctx: ScheduleContext) -> Iterator[ReadyOp]:
    """Every op in turn; whoever takes one must execute it."""
    while ctx.unfinished():
        for mb in ctx.microbatches:
            yield from ctx.get_ready_ops(mb)


def skip_the_last(ctx: ScheduleContext) -> None:
    for op in in_order(ctx):
        if op.name == "layers.2" and op.microbatches[0].index == 1:
            return
        ctx.execute(op)


def skip_in_the_middle(ctx: ScheduleContext) -> None:
    for mb in ctx.microbatches:
        first = ctx.get_ready_ops(mb)
        second = ctx.get_ready_after(first)
        ctx.execute(first)
        ctx.execute(ctx.get_ready_after(second))


def last_twice(ctx: ScheduleContext) -> None:
    for op in in_order(ctx):
        ctx.execute(op)
    ctx.execute(op)


def everything_twice(ctx: ScheduleContext) -> None:
    for op in in_order(ctx):
        ctx.execute(op)
        ctx.execute(op)


def reversed_order(ctx: ScheduleContext) -> None:
    for mb in ctx.microbatches:
        first = ctx.get_ready_ops(mb)
        second = ctx.get_ready_after(first)
        third = ctx.get_ready_after(second)
        for op in (*third, *second, *first):
            ctx.execute(op)


def return_at_once(ctx: ScheduleContext) -> None:
    del ctx


def return_early(ctx: ScheduleContext) -> None:
    ctx.execute(ctx.get_ready_ops()[0])


def ask_for_ever(ctx: ScheduleContext) -> None:
    while ctx.unfinished():
        ctx.get_ready_ops()


def a_chain_backwards(ctx: ScheduleContext) -> None:
    for mb in ctx.microbatches:
        first = ctx.get_ready_ops(mb)
        ctx.execute([*ctx.get_ready_after(first), *first])


def nothing_to_execute(ctx: ScheduleContext) -> None:
    ctx.execute([])
    two_lanes(ctx)


def merge_with_a_gap(ctx: ScheduleContext) -> None:
    ready = ctx.get_ready_ops()
    ctx.execute([ready[0], ready[2]])
    two_lanes(ctx)


def merge_the_same_twice(ctx: ScheduleContext) -> None:
    ready = ctx.get_ready_ops()
    ctx.execute([ready[0], ready[0]])
    two_lanes(ctx)


@pytest.mark.parametrize(
    ("schedule", "rules"),
    [
        (skip_the_last, {"S4"}),
        (skip_in_the_middle, {"S4", "S5"}),
        (last_twice, {"S3"}),
        (everything_twice, {"S3"}),
        (reversed_order, {"S5"}),
        (return_at_once, {"S4"}),
        (return_early, {"S4"}),
        (ask_for_ever, {"S9"}),
        (a_chain_backwards, {"S5"}),
        (nothing_to_execute, {"S1"}),
        (merge_the_same_twice, {"S3"}),
    ],
)
def test_a_wrong_schedule_is_refused_by_its_rule(schedule: Schedule, rules: set[str]) -> None:
    model = compiled(Chain(), Halves(schedule))
    with pytest.raises(Error) as refused:
        model(rows(4))
    found = {finding.rule for finding in refused.value.findings}
    assert rules <= found, str(refused.value)
    assert all(finding.fix and finding.message for finding in refused.value.findings)


def test_micro_batches_that_are_not_neighbours_are_not_merged() -> None:
    model = compiled(Chain(), Halves(merge_with_a_gap, parts=3))
    with pytest.raises(Error, match="S6 illegal-merge"):
        model(rows(6))


def a_long_chain(ctx: ScheduleContext) -> None:
    """More than ten ops ahead, in one execute."""
    for mb in ctx.microbatches:
        chain = ctx.get_ready_ops(mb)
        while following := ctx.get_ready_after(chain):
            chain += following
        assert len(chain) == 14
        ctx.execute(chain)


def all_ahead(ctx: ScheduleContext) -> None:
    """One micro-batch to its end before the other has begun."""
    for mb in ctx.microbatches:
        while ready := ctx.get_ready_ops(mb):
            ctx.execute(ready[0])


def ask_after_the_end(ctx: ScheduleContext) -> None:
    two_lanes(ctx)
    assert not ctx.unfinished()
    assert ctx.get_ready_ops() == []
    assert ctx.get_ready_ops(ctx.microbatches[0]) == []
    assert ctx.first_ready_op(ctx.microbatches[0]) is None


def two_in_one_execute(ctx: ScheduleContext) -> None:
    while ctx.unfinished():
        for mb in ctx.microbatches:
            ready = ctx.get_ready_ops(mb)
            ctx.execute([*ready, *ctx.get_ready_after(ready)])


def merge_all(ctx: ScheduleContext) -> None:
    while ctx.unfinished():
        ctx.execute(ctx.get_ready_ops())


def merge_now_and_then(ctx: ScheduleContext) -> None:
    for turn in range(14):
        ready = ctx.get_ready_ops()
        if turn % 2:
            ctx.execute(ready)
        else:
            for op in reversed(ready):
                ctx.execute(op, lane=ctx.lane("other"))


def order_that_data_does_not_ask_for(ctx: ScheduleContext) -> None:
    """Each step after the one before, on another lane."""
    lanes = [ctx.lane("a"), ctx.lane("b"), ctx.lane("c")]
    before: list[dynaflow.IssuedStep] = []
    turn = 0
    while ctx.unfinished():
        before = [ctx.execute(ctx.get_ready_ops()[-1], lane=lanes[turn % 3], after=before)]
        turn += 1


@pytest.mark.parametrize(
    "schedule",
    [
        a_long_chain,
        all_ahead,
        ask_after_the_end,
        two_in_one_execute,
        merge_all,
        merge_now_and_then,
        order_that_data_does_not_ask_for,
    ],
)
def test_an_unusual_schedule_is_right(schedule: Schedule) -> None:
    model, x = Chain(14), rows(5)
    fast = compiled(model, Halves(schedule))
    assert difference([fast(x)], [model(x)]) <= 1e-5


class Hoarder(Halves):
    """Keeps what it was given in the first recording and uses it in the second."""

    def __init__(self, what: str) -> None:
        """`what` to use again."""
        super().__init__()
        self.what = what
        self.kept: dict[str, Any] = {}

    def schedule(self, ctx: ScheduleContext) -> None:
        """In the first recording all is well."""
        if not self.kept:
            lane, op = ctx.lane("kept"), ctx.get_ready_ops()[0]
            step = ctx.execute(op, lane=lane)
            self.kept = {"lane": lane, "op": op, "step": step}
            two_lanes(ctx)
            return
        if self.what == "op":
            ctx.execute(self.kept["op"])
        elif self.what == "lane":
            ctx.execute(ctx.get_ready_ops()[0], lane=self.kept["lane"])
        else:
            ctx.execute(ctx.get_ready_ops()[0], after=[self.kept["step"]])
        two_lanes(ctx)

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        """Two recordings: one for each number of micro-batches."""
        return batch.even(2 if batch.rows < 6 else 3)


@pytest.mark.parametrize("what", ["op", "lane", "step"])
def test_a_handle_of_another_recording_is_refused(what: str) -> None:
    model = compiled(Chain(), Hoarder(what))
    model(rows(4))
    with pytest.raises(Error, match="S10 stale-handle"):
        model(rows(6))


def test_a_handle_cannot_be_forged() -> None:
    for kind in (dynaflow.ReadyOp, dynaflow.Lane, dynaflow.IssuedStep, dynaflow.Microbatch):
        with pytest.raises(TypeError):
            kind()


@pytest.mark.parametrize("forged", ["layers.0", 0, None, object()])
def test_what_is_no_handle_is_refused(forged: object) -> None:
    def schedule(ctx: ScheduleContext) -> None:
        ctx.execute(forged)  # type: ignore[call-overload]

    with pytest.raises(Error, match="S11 strategy-failed"):
        compiled(Chain(), Halves(schedule))(rows(4))


def test_a_context_kept_beyond_its_recording_is_refused() -> None:
    kept: list[Any] = []

    def schedule(ctx: ScheduleContext) -> None:
        kept.extend([ctx, ctx.get_ready_ops()[0]])
        two_lanes(ctx)

    compiled(Chain(), Halves(schedule))(rows(4))
    ctx, op = kept
    for use in (
        ctx.get_ready_ops,
        ctx.unfinished,
        partial(ctx.lane, "x"),
        partial(ctx.execute, op),
    ):
        with pytest.raises(Error, match="S10 stale-handle"):
            use()
    for attribute in ("microbatches", "name", "tags", "cost"):
        with pytest.raises(Error, match="S10 stale-handle"):
            getattr(op if attribute != "microbatches" else ctx, attribute)


def raise_here(ctx: ScheduleContext) -> None:
    del ctx
    raise LookupError("no such lane on a Tuesday")


def test_a_schedule_that_raises_says_what_and_where() -> None:
    with pytest.raises(Error, match="no such lane on a Tuesday") as refused:
        compiled(Chain(), Halves(raise_here))(rows(4))
    text = str(refused.value)
    line = raise_here.__code__.co_firstlineno + 2
    assert "S11" in text
    assert "LookupError" in text
    assert f"test_misuse_schedule.py:{line}" in text or f"test_misuse_schedule.py({line})" in text


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("method", ["split", "schedule"])
def test_what_ends_the_program_is_no_error_of_the_strategy(
    method: str, end: type[BaseException]
) -> None:
    going = [True]

    def interrupted(*_: object) -> None:
        if going.pop():
            raise end

    class Interrupted(Halves):
        def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
            if method == "split":
                interrupted()
            return super().split(batch)

        def schedule(self, ctx: ScheduleContext) -> None:
            if method == "schedule":
                interrupted()
            super().schedule(ctx)

    module = Chain()
    model = compiled(module, Interrupted(two_lanes))
    with pytest.raises(end):
        model(rows(4))
    going.append(False)
    torch.testing.assert_close(model(rows(4)), module(rows(4)))


def test_a_refusal_says_where_in_the_schedule() -> None:
    with pytest.raises(Error) as refused:
        compiled(Chain(), Halves(everything_twice))(rows(4))
    line = everything_twice.__code__.co_firstlineno + 3
    assert f"test_misuse_schedule.py:{line}" in str(refused.value)


def test_a_strategy_without_a_schedule_is_refused() -> None:
    class Idle(dynaflow.OpScheduler):
        def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
            return batch.even(2)

    with pytest.raises(Error, match="schedule"):
        compiled(Chain(), Idle())(rows(4))


def test_a_strategy_that_calls_its_own_model_is_refused() -> None:
    models: list[dynaflow.CompiledModule] = []

    def schedule(ctx: ScheduleContext) -> None:
        models[0](rows(4))
        two_lanes(ctx)

    models.append(compiled(Chain(), Halves(schedule)))
    with pytest.raises(Error, match=r"S11|R4"):
        models[0](rows(4))


def test_the_cut_of_the_strategy_is_the_cut_of_the_model() -> None:
    model = compiled(Chain(), Halves())
    model(rows(4))
    assert model._graphs[0].model is not None
    assert model._graphs[0].model.counts["ops"] == 3
    assert Halves.cut == AT_LINEAR
