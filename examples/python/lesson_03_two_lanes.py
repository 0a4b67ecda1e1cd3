"""Lesson 3: two lanes, and when each step ran.

A lane is an in-order queue with cores of its own; lanes run side by side. The schedule says which
op goes where. Which step must wait for which is derived from what they read and write.
"""

import json

import torch
from torch import nn

import dynaflow


class Towers(nn.Module):
    """Two branches that need nothing of each other, and what joins them."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(256, 256), nn.Linear(256, 256)
        self.score = nn.Bilinear(256, 256, 1)

    def forward(self, x):
        return self.score(self.left(x), self.right(x))


class SideBySide(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(nn.Linear), dynaflow.SplitModule(nn.Bilinear)]

    def split(self, batch):
        return batch.even(1)  # one micro-batch, and a schedule all the same

    def schedule(self, ctx):
        left, right = ctx.lane("left"), ctx.lane("right")
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op, lane=right if op.name == "right" else left)


with torch.no_grad():
    model, x = Towers(), torch.randn(64, 256)
    fast = dynaflow.compile(model, SideBySide(), engine="aten")
    assert torch.allclose(fast(x), model(x), rtol=1e-4, atol=1e-4)

    print(fast.plan())
    assert fast.stats["steps"] == 3
    assert fast.stats["waits"] == 1  # score for right; its own lane already puts it after left

    timeline = fast.timeline(x)  # runs once more, with clocks
    print(timeline)
    spans = {step: (lane, begin, end) for step, lane, begin, end in timeline.spans}
    assert [spans[step][0] for step in ("left.0", "right.0")] == ["left", "right"]
    assert spans["score.0"][1] >= max(spans["left.0"][2], spans["right.0"][2])
    assert timeline.overlapped_ns() <= timeline.total_ns
    assert json.loads(timeline.chrome_trace())  # for Perfetto
