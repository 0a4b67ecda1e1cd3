"""Lesson 6: what is refused.

Whatever a strategy does, the run is right or there is none: no hang, no wrong number. A refusal is
a `dynaflow.Error`; each of its findings has the rule, the place and the way out.
"""

import torch
from torch import nn

import dynaflow


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.second(self.first(x))


class InOrder(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(nn.Linear)]

    def split(self, batch):
        return batch.even(3)

    def schedule(self, ctx):
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op)


class LosesARow(InOrder):
    def split(self, batch):
        return batch.by_sizes([batch.rows - 1])


class ExecutesTwice(InOrder):
    def schedule(self, ctx):
        op = ctx.get_ready_ops()[0]
        ctx.execute(op)
        ctx.execute(op)
        super().schedule(ctx)


class StopsEarly(InOrder):
    def schedule(self, ctx):
        ctx.execute(ctx.get_ready_ops()[0])


class BeforeItsInput(InOrder):
    def schedule(self, ctx):
        first = ctx.get_ready_ops()
        for op in ctx.get_ready_after(first) + first:
            ctx.execute(op)


class MergesAcrossAGap(InOrder):
    def schedule(self, ctx):
        ctx.execute(ctx.get_ready_ops()[::2])  # micro-batches 0 and 2
        super().schedule(ctx)


class NeverExecutes(InOrder):
    def schedule(self, ctx):
        while ctx.unfinished():
            ctx.get_ready_ops()


refused = [LosesARow, ExecutesTwice, StopsEarly, BeforeItsInput, MergesAcrossAGap, NeverExecutes]
for strategy, rule in zip(refused, ["S2", "S3", "S4", "S5", "S6", "S9"], strict=True):
    with torch.no_grad():
        try:
            dynaflow.compile(Network(), strategy(), engine="aten")(torch.randn(6, 8))
            raise AssertionError(f"{strategy.__name__} must be refused")
        except dynaflow.Error as error:
            print(error.findings[0])
            assert error.findings[0].rule == rule, error
