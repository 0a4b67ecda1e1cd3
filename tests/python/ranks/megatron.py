"""A transformer divided over the ranks in Megatron's manner: collectives in autograd functions."""

import torch
from torch import distributed, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional

HIDDEN, HEADS, INNER, VOCABULARY = 64, 4, 128, 128

# mypy: disable-error-code="no-any-return,no-untyped-call"


class CopyToRanks(torch.autograd.Function):
    """As it is; its gradient is summed."""

    @staticmethod
    def forward(_: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(_: FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        distributed.all_reduce(grad)
        return grad


class SumOverRanks(torch.autograd.Function):
    """In place, as Megatron does it."""

    @staticmethod
    def forward(_: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        distributed.all_reduce(x)
        return x

    @staticmethod
    def backward(_: FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        return grad


class GatherFromRanks(torch.autograd.Function):
    """Columns of all ranks, side by side."""

    @staticmethod
    def forward(_: FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        world = distributed.get_world_size()
        gathered = x.new_empty(world * x.size(0), *x.shape[1:])
        distributed.all_gather_into_tensor(gathered, x.contiguous())
        return torch.cat(gathered.chunk(world), dim=-1)

    @staticmethod
    def backward(_: FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        return grad.chunk(distributed.get_world_size(), dim=-1)[distributed.get_rank()]


class ColumnParallelLinear(nn.Module):
    """Some of the outputs, or all of them again."""

    def __init__(self, inputs: int, outputs: int, *, gather_output: bool = False) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs // distributed.get_world_size())
        self.gather_output = gather_output

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.own(CopyToRanks.apply(x))
        return GatherFromRanks.apply(y) if self.gather_output else y


class RowParallelLinear(nn.Module):
    """Of some of the inputs; the summands of all ranks, and one bias."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs // distributed.get_world_size(), outputs, bias=False)
        self.bias = nn.Parameter(torch.ones(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return SumOverRanks.apply(self.own(x)) + self.bias


class VocabParallelEmbedding(nn.Module):
    """Some of the words; the others' rows are zero until they are summed."""

    def __init__(self) -> None:
        super().__init__()
        own = VOCABULARY // distributed.get_world_size()
        self.first = distributed.get_rank() * own
        self.last = self.first + own
        self.weight = nn.Parameter(torch.randn(own, HIDDEN))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        elsewhere = (ids < self.first) | (ids >= self.last)
        own = ids.clone() - self.first
        own[elsewhere] = 0
        found = self.weight[own]
        found[elsewhere, :] = 0.0
        return SumOverRanks.apply(found)


class Block(nn.Module):
    """Attention over own heads, and own columns of an MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in range(2))
        self.qkv = ColumnParallelLinear(HIDDEN, 3 * HIDDEN)
        self.out = RowParallelLinear(HIDDEN, HIDDEN)
        self.up = ColumnParallelLinear(HIDDEN, INNER)
        self.down = RowParallelLinear(INNER, HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = HEADS // distributed.get_world_size()
        qkv = self.qkv(self.norms[0](x)).unflatten(-1, (heads, 3 * HIDDEN // HEADS))
        q, k, v = qkv.transpose(1, 2).chunk(3, dim=-1)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Megatron(nn.Module):
    """From words to all logits, which are the same on all ranks."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding = VocabParallelEmbedding()
        self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
        self.logits = ColumnParallelLinear(HIDDEN, VOCABULARY, gather_output=True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.logits(self.blocks(self.embedding(ids)))
