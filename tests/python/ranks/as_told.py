"""A strategy for rank programs that try many splits of one model."""

import dynaflow


class AsTold(dynaflow.OpScheduler):
    """CommOverlap over as many micro-batches as the caller says: one capture serves all."""

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        return batch.even(batch.facts["parts"])

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        dynaflow.CommOverlap().schedule(ctx)
