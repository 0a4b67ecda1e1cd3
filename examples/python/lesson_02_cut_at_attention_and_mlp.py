"""Lesson 2: where a model is cut.

A schedule orders ops, and annotations say what an op is: all calls of a module, the calls of a
function, or what runs under a mark. What no annotation speaks of becomes ops in between. Equal ops
are bound once: the second layer's attention runs the code of the first.
"""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import dynaflow


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 16)).permute(2, 0, 3, 1, 4)
        return self.out(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        x = x + self.attn(x)
        with dynaflow.mark("feed_forward", tags={"dense"}):
            return x + self.mlp(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class InOrder(dynaflow.OpScheduler):
    def __init__(self, cut):
        super().__init__()
        self.cut, self.seen = cut, {}

    def split(self, batch):
        return batch.even(2)

    def schedule(self, ctx):
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                self.seen[op.name] = op.tags
                ctx.execute(op)


def ops_of(*cut):
    strategy = InOrder(cut)
    fast = dynaflow.compile(model, strategy, engine="aten")
    assert torch.allclose(fast(x), model(x), atol=1e-5)
    print(fast.explain())
    return strategy.seen


with torch.no_grad():
    model, x = Decoder(), torch.randn(4, 8, 32)
    by_class = ops_of(dynaflow.SplitModule("Attention", tags={"attention"}))
    assert by_class["layers.0.attn"] == by_class["layers.1.attn"] == {"attention"}
    assert any(tags == {"dense"} for tags in by_class.values())  # the mark, in the model itself
    by_path = ops_of(dynaflow.SplitModule("layers.1.attn"))
    assert {"layers.0.attn", "layers.1.attn"} & set(by_path) == {"layers.1.attn"}
    by_function = ops_of(dynaflow.SplitFunc(scaled_dot_product_attention, tags={"memory"}))
    assert sum(tags == {"memory"} for tags in by_function.values()) == 2
