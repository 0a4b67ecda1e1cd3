"""Lesson 8: the batch in another dimension.

Sequence-first models have the batch in dimension 1. `batch_dims` says so, by argument name; the
results keep their layout. Micro-batches are then strided views of the whole, still without a copy
wherever a kernel can read and write them; `stats` counts what had to be copied.
"""

import torch
from torch import nn

import dynaflow


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, tokens, scale):
        return tokens + self.down(torch.relu(self.up(tokens))) * scale


class Thirds(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(nn.Linear)]

    def split(self, batch):
        self.rows = batch.rows
        return batch.even(3)

    def schedule(self, ctx):
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op)


with torch.no_grad():
    model, strategy = Encoder(), Thirds()
    fast = dynaflow.compile(model, strategy, batch_dims={"tokens": 1, "scale": None}, engine="aten")
    tokens, scale = torch.randn(10, 7, 32), torch.rand(32)  # 10 positions of 7 sequences
    got = fast(tokens, scale)
    assert torch.allclose(got, model(tokens, scale), atol=1e-5)
    assert strategy.rows == 7
    assert got.stride() == model(tokens, scale).stride()
    print(fast.plan())
    print(fast.stats)

    # With the batch outermost, the same model copies nothing.
    outermost = dynaflow.compile(model, strategy, batch_dims={"scale": None}, engine="aten")
    outermost(tokens.transpose(0, 1).contiguous(), scale)
    assert outermost.stats["copied_bytes"] == 0

    # A name that is no argument is an error, not a batch that is silently another one.
    try:
        dynaflow.compile(model, strategy, batch_dims={"token": 1}, engine="aten")(tokens, scale)
        raise AssertionError("there is no argument named token")
    except ValueError as error:
        print(error)
        assert "token" in str(error)
