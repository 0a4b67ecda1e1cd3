"""Models whose ops do not scale with threads, or have others to run beside them."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class DecodeLayer(nn.Module):
    """One token of a Llama-like layer: every product is of a matrix and a few rows."""

    HEAD = 64

    def __init__(self, hidden: int) -> None:
        super().__init__()
        inner = hidden * 11 // 4 // 64 * 64
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Of [batch, 1, hidden] the same."""
        batch, _, hidden = x.shape
        normed = self.norm1(x)
        split = (batch, 1, hidden // self.HEAD, self.HEAD)
        q, k, v = (p(normed).view(split).transpose(1, 2) for p in (self.q, self.k, self.v))
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        mixed = functional.scaled_dot_product_attention(q, keys, values)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, 1, hidden))
        normed = self.norm2(x)
        y: Tensor = self.down(functional.silu(self.gate(normed)) * self.up(normed))
        return x + y


class Decode(nn.Module):
    """Two layers; their caches come in, and stay as they are."""

    CACHED = 63

    def __init__(self, hidden: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.hidden = hidden
        self.layers = nn.ModuleList(DecodeLayer(hidden) for _ in range(2))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Of [batch, 1, hidden] the same."""
        for layer in self.layers:
            x = layer(x, keys, values)
        return x

    def example(self, batch: int) -> tuple[Tensor, ...]:
        """One token of each row, and what came before it."""
        torch.manual_seed(1)
        cache = (batch, self.hidden // DecodeLayer.HEAD, self.CACHED, DecodeLayer.HEAD)
        return torch.randn(batch, 1, self.hidden), torch.randn(cache), torch.randn(cache)


class Heads(nn.Module):
    """Products of one input with several matrices, side by side in one result."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.width = width
        self.heads = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(heads))

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, width] as many times the width as there are heads."""
        return torch.cat([head(x) for head in self.heads], dim=-1)

    def example(self, batch: int) -> tuple[Tensor, ...]:
        """Random rows."""
        torch.manual_seed(1)
        return (torch.randn(batch, self.width),)


class SmallOps(nn.Module):
    """Normalised, rotated, gated: a long row of ops that PyTorch gives one thread each."""

    WIDTH, LENGTH, LAYERS = 64, 16, 8

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.scale = nn.ParameterList(
            nn.Parameter(torch.randn(self.WIDTH)) for _ in range(self.LAYERS)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, LENGTH, WIDTH] the same."""
        for scale in self.scale:
            y = functional.rms_norm(x, (self.WIDTH,), scale)
            left, right = y.chunk(2, dim=-1)
            y = torch.cat([-right, left], dim=-1)
            x = x + functional.silu(y) * torch.tanh(y + 1)
        return x

    def example(self, batch: int) -> tuple[Tensor, ...]:
        """Random rows."""
        torch.manual_seed(1)
        return (torch.randn(batch, self.LENGTH, self.WIDTH),)


class Tower(nn.Module):
    """Layers of one width."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        parts = [(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)) for _ in range(layers)]
        self.layers = nn.Sequential(*(part for layer in parts for part in layer))

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, width] the same."""
        y: Tensor = self.layers(x)
        return y


class TwoTowers(nn.Module):
    """Two independent branches that meet in one score per row."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.width = width
        self.left, self.right = Tower(width, layers), Tower(width, layers)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """A score for each pair of rows."""
        scores: Tensor = (self.left(left) * self.right(right)).sum(dim=-1)
        return scores

    def example(self, batch: int) -> tuple[Tensor, ...]:
        """Random rows for each tower."""
        torch.manual_seed(1)
        return torch.randn(batch, self.width), torch.randn(batch, self.width)


class Expert(nn.Module):
    """A gated MLP."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, width] the same."""
        y: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return y


class Experts(nn.Module):
    """A dense mixture: every expert sees every row, and the router weighs them."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.width = width
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, width] the same."""
        weights = torch.softmax(self.router(x), dim=-1)
        results = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return x + (results * weights.unsqueeze(1)).sum(dim=-1)

    def example(self, batch: int) -> tuple[Tensor, ...]:
        """Random rows."""
        torch.manual_seed(1)
        return (torch.randn(batch, self.width),)
