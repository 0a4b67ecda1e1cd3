"""Strategies that the benchmarks share."""

import dynaflow


class InTurn(dynaflow.OpScheduler):
    """Each micro-batch on its lane: `parts` of them on `lanes` lanes."""

    def __init__(self, parts: int = 2, lanes: int = 1) -> None:
        """Lanes get equal parts of the cores."""
        super().__init__()
        self.parts, self.lanes = parts, lanes

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        """Even parts, scheduled even if it is one."""
        return batch.even(self.parts)

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        """One op of each micro-batch in turn."""
        lanes = [ctx.lane(f"lane{i}") for i in range(self.lanes)]
        while ctx.unfinished():
            for mb in ctx.microbatches:
                for op in ctx.get_ready_ops(mb):
                    ctx.execute(op, lane=lanes[mb.index % self.lanes])


class Alternating(dynaflow.OpScheduler):
    """One op on this lane, the next one on the other: every step is a hand-over."""

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        """One micro-batch, scheduled."""
        return batch.even(1)

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        """In program order."""
        lanes = [ctx.lane("here"), ctx.lane("there")]
        steps = 0
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op, lane=lanes[steps % 2])
                steps += 1
