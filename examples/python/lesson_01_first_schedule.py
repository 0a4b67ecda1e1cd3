"""Lesson 1: a first schedule.

A strategy has two methods. `split` says how many rows each micro-batch gets; `schedule` takes what
is ready and executes it. Both are asked once and recorded; the run replays what was recorded. The
model stays as it is, and so do its weights.
"""

import torch
from torch import nn

import dynaflow


class Halves(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(nn.Linear)]  # every Linear is an op

    def __init__(self):
        super().__init__()
        self.asked = 0

    def split(self, batch):
        return batch.even(2)

    def schedule(self, ctx):
        self.asked += 1
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 64), nn.Linear(64, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def error(got, expected):
    return float((got - expected).abs().max() / expected.abs().max())


with torch.no_grad():
    model, strategy = Network(), Halves()
    fast = dynaflow.compile(model, strategy, engine="aten")
    x = torch.randn(6, 16)
    assert error(fast(x), model(x)) <= 1e-5
    print(fast.plan())

    # first, what is between the two, and second: three ops, on two micro-batches each.
    assert fast.stats["steps"] == 6
    assert fast.stats["copied_bytes"] == 0

    # The plan does not depend on sizes: another batch, also an odd one, asks nobody.
    asked = strategy.asked
    for rows in (2, 7, 64):
        x = torch.randn(rows, 16)
        assert error(fast(x), model(x)) <= 1e-5
    assert strategy.asked == asked

    # Weights are the model's own, so a change is seen at once.
    model.second.bias.add_(1)
    assert error(fast(x), model(x)) <= 1e-5
