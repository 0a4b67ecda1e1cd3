"""Lesson 5: a function of your own in place of a chain of ops.

The function gets the tensors that the chain reads and returns those it writes; `explain` shows
them. What only the chain touched is never materialised. The function is traced when the plan is
recorded, checked, and then runs without Python.
"""

import torch
from torch import nn

import dynaflow


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.squash, self.head = Scale(), nn.Tanh(), nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.squash(self.scale(x)))


class Scale(nn.Module):
    def forward(self, x):
        return x * 0.5


def scaled_tanh(x):
    return torch.tanh(x * 0.5)


class Fused(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(kind) for kind in (Scale, nn.Tanh, nn.Linear)]

    def __init__(self, function):
        super().__init__()
        self.function = function

    def split(self, batch):
        return batch.even(2)

    def schedule(self, ctx):
        for scale in ctx.get_ready_ops():
            chain = [scale, *ctx.get_ready_after([scale])]
            assert [op.name for op in chain] == ["scale", "squash"]
            ctx.execute(chain, replace_func=self.function)
        for head in ctx.get_ready_ops():
            ctx.execute(head)


with torch.no_grad():
    model, x = Network(), torch.randn(6, 16)
    fast = dynaflow.compile(model, Fused(scaled_tanh), engine="aten")
    assert torch.allclose(fast(x), model(x), atol=1e-5)
    print(fast.plan())
    assert "scaled_tanh[scale+squash].1" in fast.plan()
    assert fast.stats["steps"] == 4
    assert fast.stats["python_calls"] == 0

    wrong = dynaflow.compile(model, Fused(lambda x: x[:, :1]), engine="aten")
    try:
        wrong(x)
        raise AssertionError("a result of another shape must be refused")
    except dynaflow.Error as error:
        print(error)
        assert error.findings[0].rule == "S7"
        assert "is f32[batch, 1], not f32[batch, 16]" in error.findings[0].message
