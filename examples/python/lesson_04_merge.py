"""Lesson 4: merging micro-batches.

Executing the same op of neighbouring micro-batches as one list runs it once over all their rows: a
matrix product gets enough rows to be worth a call, while the ops around it stay apart. The
micro-batches then lie side by side in one buffer, so that merging copies nothing.
"""

import torch
from torch import nn

import dynaflow


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.dense, self.head = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 8)

    def forward(self, x):
        return self.head(self.dense(self.norm(x)))


class MergeDense(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(nn.LayerNorm), dynaflow.SplitModule(nn.Linear)]

    def split(self, batch):
        return batch.by_sizes([1, 2, batch.rows - 3])

    def schedule(self, ctx):
        while ctx.unfinished():
            ready = ctx.get_ready_ops()
            if all(op.name == "dense" for op in ready):
                ctx.execute(ready)  # all three micro-batches at once
            else:
                for op in ready:
                    ctx.execute(op)


with torch.no_grad():
    model, x = Network(), torch.randn(8, 32)
    fast = dynaflow.compile(model, MergeDense(), engine="aten")
    assert torch.allclose(fast(x), model(x), atol=1e-5)
    print(fast.plan())
    assert "dense.0-2" in fast.plan()
    assert fast.stats["steps"] == 3 + 1 + 3
    assert fast.stats["copied_bytes"] == 0

# Some ops are merged by themselves: those whose rows depend on each other. They are offered once,
# when every micro-batch has reached them, and `explain` has the reason.


class Centred(Network):
    def forward(self, x):
        x = self.norm(x)
        return self.head(self.dense(x - x.mean(dim=0)))


class InOrder(MergeDense):
    def schedule(self, ctx):
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op)


with torch.no_grad():
    model = Centred()
    fast = dynaflow.compile(model, InOrder(), engine="aten")
    assert torch.allclose(fast(x), model(x), atol=1e-5)
    print(fast.explain())
    assert "runs merged: it reduces over the batch" in fast.explain()
