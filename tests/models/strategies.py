"""Strategies for tests: any split under any order, decided by the facts of the batch."""

from typing import Any

import dynaflow
from dynaflow import ReadyOp, ScheduleContext, Split


def uneven_sizes(rows: int, parts: int) -> list[int]:
    """As lopsided as can be: the first parts have one row each, the last has the rest."""
    small = [1 if rows > i else 0 for i in range(parts - 1)]
    return [*small, rows - sum(small)]


class Under(dynaflow.OpScheduler):
    """The order of another strategy; the facts "parts" and "uneven" say how to split.

    >>> with dynaflow.batch(parts=3, uneven=1):
    ...     model(x)
    """

    def __init__(self, order: Any) -> None:  # noqa: ANN401  (any strategy, built in or not)
        """`order` schedules; it is never asked to split."""
        super().__init__()
        self.order = order

    def split(self, batch: dynaflow.Batch) -> Split:
        """Even or lopsided micro-batches, some of them empty when there are too few rows."""
        parts = batch.facts.get("parts", 2)
        if batch.facts.get("uneven", 0):
            return batch.by_sizes(uneven_sizes(batch.rows, parts))
        return batch.even(parts)

    def schedule(self, ctx: ScheduleContext) -> None:
        """As the other strategy does."""
        self.order.schedule(ctx)


class Weave:
    """Two lanes in turn, the last ready op first, every third step merged with its neighbours."""

    def schedule(self, ctx: ScheduleContext) -> None:
        """Deterministic, and as unlike program order as data allows."""
        lanes = [ctx.lane("left"), ctx.lane("right")]
        turn = 0
        while ctx.unfinished():
            ready = ctx.get_ready_ops()
            op = ready[-1]
            step = neighbours(op, ready) if turn % 3 == 0 else [op]
            ctx.execute(step, lane=lanes[turn % 2])
            turn += 1


def neighbours(op: ReadyOp, ready: list[ReadyOp]) -> list[ReadyOp]:
    """`op` and the same op of every micro-batch before it without a gap, in order."""
    same = {r.microbatches[0].index: r for r in ready if r.name == op.name}
    first = op.microbatches[0].index
    while first - 1 in same:
        first -= 1
    return [same[i] for i in range(first, op.microbatches[0].index + 1)]


def orders() -> dict[str, Any]:
    """Every order that models are tried under."""
    return {
        "Sequential": dynaflow.Sequential(),
        "Leapfrog": dynaflow.Leapfrog(),
        "Branches": dynaflow.Branches(lanes=2),
        "Weave": Weave(),
    }
