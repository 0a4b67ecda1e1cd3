"""A decoder whose layers are divided over two ranks as Megatron does it: two all-reduces each."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional_collectives
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, HEADS, LAYERS, RANKS = 1024, 16, 8, 2
OWN_HEADS, OWN_INNER, HEAD = HEADS // RANKS, 4 * HIDDEN // RANKS, HIDDEN // HEADS
COLLECTIVES = 2 * LAYERS

Reduce: TypeAlias = Callable[[Tensor], Tensor]


class Shape(NamedTuple):
    """A batch."""

    rows: int
    length: int

    @property
    def tokens(self) -> int:
        """Of all rows."""
        return self.rows * self.length

    def __str__(self) -> str:
        return f"{self.rows} × {self.length}"


def all_reduce(x: Tensor) -> Tensor:
    """The sum over all ranks, as an operator that torch.compile captures."""
    total: Tensor = functional_collectives.all_reduce(x, "sum", dist.group.WORLD)  # type: ignore[arg-type]
    return total


def alone() -> Reduce:
    """The same in a group of one rank, where nothing is to be added; for all ranks to call."""
    groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
    own = groups[dist.get_rank()]

    def reduce(x: Tensor) -> Tensor:
        total: Tensor = functional_collectives.all_reduce(x, "sum", own)
        return total

    return reduce


class Attention(nn.Module):
    """Some of the heads; what it returns is a summand."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * OWN_HEADS * HEAD, bias=False)
        self.out = nn.Linear(OWN_HEADS * HEAD, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Causal, within each row."""
        y: Tensor = self.out(attend(self.qkv(self.norm(x))))
        return y


def attend(qkv: Tensor) -> Tensor:
    """Of [rows, length, 3 × own width]; a view wherever the result allows it."""
    q, k, v = qkv.view(*qkv.shape[:2], 3, OWN_HEADS, HEAD).permute(2, 0, 3, 1, 4).unbind(0)
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).flatten(2)


class Mlp(nn.Module):
    """Half of the inner width; what it returns is a summand."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.up = nn.Linear(HIDDEN, OWN_INNER, bias=False)
        self.down = nn.Linear(OWN_INNER, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Token by token."""
        y: Tensor = self.down(functional.gelu(self.up(self.norm(x))))
        return y


class Layer(nn.Module):
    """Two blocks, each summed over the ranks."""

    def __init__(self, reduce: Reduce) -> None:
        super().__init__()
        self.attention, self.mlp, self._reduce = Attention(), Mlp(), reduce

    def forward(self, x: Tensor) -> Tensor:
        """The same on all ranks."""
        x = x + self._reduce(self.attention(x))
        return x + self._reduce(self.mlp(x))


class Decoder(nn.Module):
    """One rank's part of all layers."""

    def __init__(self, rank: int, reduce: Reduce = all_reduce) -> None:
        """Random weights: other ones on each rank, the same every time."""
        super().__init__()
        torch.manual_seed(rank)
        self.layers = nn.ModuleList(Layer(reduce) for _ in range(LAYERS))

    def forward(self, x: Tensor) -> Tensor:
        """Of [rows, length, HIDDEN] the same."""
        for layer in self.layers:
            x = layer(x)
        return x

    def blocks(self) -> list[Attention | Mlp]:
        """In order; after each, its result is summed over the ranks."""
        layers = [layer for layer in self.layers if isinstance(layer, Layer)]
        return [block for layer in layers for block in (layer.attention, layer.mlp)]

    @staticmethod
    def example(shape: Shape) -> Tensor:
        """An input, the same on all ranks."""
        return torch.randn(*shape, HIDDEN, generator=torch.Generator().manual_seed(0))
