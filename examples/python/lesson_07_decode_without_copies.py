"""Lesson 7: decoding with a static cache copies nothing.

A cache of fixed length is updated in place. Tracing makes "a new cache, copied back at the end" of
that; DynaFlow makes it the in-place update again, on the rows of each micro-batch. The cache's
tensors are arguments like any other: their dimension 0 is the batch.
"""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import dynaflow

HEADS, DIM, LENGTH, LAYERS = 2, 16, 8, 2
WIDTH = HEADS * DIM


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, position, keys, values):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, DIM)).permute(2, 0, 3, 1, 4)
        keys.index_copy_(2, position, k)
        values.index_copy_(2, position, v)
        seen = (torch.arange(LENGTH) <= position)[None]  # by every query, of which there is one
        return self.out(
            scaled_dot_product_attention(q, keys, values, seen).transpose(1, 2).flatten(2)
        )


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(LAYERS))

    def forward(self, x, position, cache):
        for layer, (keys, values) in zip(self.layers, cache, strict=True):
            x = x + layer(x, position, keys, values)
        return x


class Alternate(dynaflow.OpScheduler):
    cut = [dynaflow.SplitModule(Attention)]

    def split(self, batch):
        return batch.even(2)

    def schedule(self, ctx):
        lanes = [ctx.lane("even"), ctx.lane("odd")]
        while ctx.unfinished():
            for mb in ctx.microbatches:
                for op in ctx.get_ready_ops(mb):
                    ctx.execute(op, lane=lanes[mb.index])


def empty_cache(batch):
    return [tuple(torch.zeros(batch, HEADS, LENGTH, DIM) for _ in "kv") for _ in range(LAYERS)]


with torch.no_grad():
    model = Decoder()
    fast = dynaflow.compile(model, Alternate(), batch_dims={"position": None}, engine="aten")
    plain_cache, fast_cache = empty_cache(4), empty_cache(4)
    for step in range(LENGTH):
        x, position = torch.randn(4, 1, WIDTH), torch.tensor([step])
        got, expected = fast(x, position, fast_cache), model(x, position, plain_cache)
        assert torch.allclose(got, expected, atol=1e-5)
        assert fast.stats["copied_bytes"] == 0
    for ours, theirs in zip(sum(fast_cache, ()), sum(plain_cache, ()), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)
    print(fast.plan())
    print(fast.explain())
    assert "updates_in_place 4" in fast.explain()
