from collections import OrderedDict

import torch
from torch import nn

import dynaflow


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


class Alternate(dynaflow.OpScheduler):
    """While one half of the batch attends, the other half is in an MLP."""

    cut = [dynaflow.SplitModule(Attention, tags={"attention"}), dynaflow.SplitModule(MLP)]

    def split(self, batch):
        return batch.even(2) if batch.rows >= 8 else batch.whole()

    def schedule(self, ctx):
        attention, dense = ctx.lane("attention"), ctx.lane("dense")
        while ctx.unfinished():
            for mb in ctx.microbatches:
                for op in ctx.get_ready_ops(mb):
                    ctx.execute(op, lane=attention if "attention" in op.tags else dense)


torch.manual_seed(0)
layers = {"attn1": Attention(), "mlp1": MLP(), "attn2": Attention(), "mlp2": MLP()}
model = nn.Sequential(OrderedDict(layers)).eval()
x = torch.randn(8, 32, 64)  # 8 sequences of 32 tokens

with torch.no_grad():
    fast = dynaflow.compile(model, Alternate())
    y, expected = fast(x), model(x)

print(fast.plan(), end="")
print(f"bytes copied: {fast.stats['copied_bytes']}")
print(f"largest error, relative: {float((y - expected).abs().max() / expected.abs().max()):.5f}")
