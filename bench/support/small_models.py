"""Models so small that what is measured is the host, not the kernels."""

import torch
from torch import Tensor, nn
from torch.nn import functional

import dynaflow

HIDDEN, HEADS, LAYERS, BATCH, LENGTH = 64, 4, 4, 8, 4


class _Block(nn.Module):
    """Attention and MLP, each followed by what stands in for an all-reduce of one rank."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN, bias=False)
        self.down = nn.Linear(4 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, HIDDEN // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, HIDDEN))
        with dynaflow.mark("all_reduce", tags={"network"}):
            y = y.clone()
        x = x + y
        y = self.down(functional.silu(self.up(self.norm2(x))))
        with dynaflow.mark("all_reduce2", tags={"network"}):
            y = y.clone()
        return x + y


class Decoder(nn.Module):
    """Four layers, cut at the all-reduces into 17 ops."""

    def __init__(self) -> None:
        """Random weights, the same every time."""
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(_Block() for _ in range(LAYERS))

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, length, HIDDEN] the same."""
        for layer in self.layers:
            x = layer(x)
        return x

    @staticmethod
    def example(batch: int = BATCH, length: int = LENGTH) -> Tensor:
        """An input, the same every time."""
        torch.manual_seed(1)
        return torch.randn(batch, length, HIDDEN)


class Chain(nn.Module):
    """`calls` additions, one after the other, of `arguments` parameters in turn.

    The last `results` sums are returned. `cut` makes every addition an op of its own.
    """

    def __init__(self, calls: int, arguments: int = 1, results: int = 1, cut: bool = False) -> None:
        """Random weights, the same every time."""
        super().__init__()
        torch.manual_seed(0)
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(4)) for _ in range(arguments))
        self.calls, self.results, self.cut = calls, results, cut

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Of [batch, 4] the same, several times."""
        sums = []
        for i in range(self.calls):
            weight = self.weights[i % len(self.weights)]
            if self.cut:
                with dynaflow.mark(f"add{i}"):
                    x = x + weight
            else:
                x = x + weight
            sums.append(x)
        return tuple(sums[-self.results :])

    @staticmethod
    def example(batch: int = BATCH) -> Tensor:
        """An input, the same every time."""
        torch.manual_seed(1)
        return torch.randn(batch, 4)
