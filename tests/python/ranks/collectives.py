"""Every collective, functional and in place, under every split, against the unsplit model."""

# mypy: disable-error-code="arg-type, no-any-return"

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow
from ranks.as_told import AsTold

WIDTH = 16


class Summed(torch.autograd.Function):
    """How Megatron's layers add up their parts."""

    @staticmethod
    def forward(_: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        distributed.all_reduce(x)
        return x

    @staticmethod
    def backward(_: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        return grad


def in_place(x: torch.Tensor) -> torch.Tensor:
    distributed.all_reduce(x)
    return x


def gather_into(x: torch.Tensor) -> torch.Tensor:
    out = x.new_empty(x.size(0) * distributed.get_world_size(), *x.shape[1:])
    distributed.all_gather_into_tensor(out, x)
    return out


def all_to_all(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    distributed.all_to_all_single(out, x)
    return out


def exchange_unevenly(x: torch.Tensor) -> torch.Tensor:
    """Columns, of which the ranks give and get different numbers."""
    if distributed.get_world_size() == 1:
        given = got = [WIDTH]
    else:
        given, got = ([10, 6], [10, 4]) if distributed.get_rank() == 0 else ([4, 12], [6, 12])
    columns = x.t().contiguous()
    return functional.all_to_all_single(columns, got, given, distributed.group.WORLD).t()


WAYS = {
    "all_reduce": lambda x: functional.all_reduce(x, "sum", distributed.group.WORLD),
    "all_reduce max": lambda x: functional.all_reduce(x, "max", distributed.group.WORLD),
    "all_reduce of a view": lambda x: functional.all_reduce(
        x[:, : WIDTH // 2], "sum", distributed.group.WORLD
    ),
    "all_reduce read again": lambda x: functional.all_reduce(x, "sum", distributed.group.WORLD) + x,
    "autograd.Function": Summed.apply,
    "all_reduce in place": in_place,
    "all_gather rows": lambda x: functional.all_gather_single(x, 0, distributed.group.WORLD),
    "all_gather columns": lambda x: functional.all_gather_single(x, 1, distributed.group.WORLD),
    "all_gather in place": gather_into,
    "reduce_scatter columns": lambda x: functional.reduce_scatter_single(
        x, "sum", 1, distributed.group.WORLD
    ),
    "broadcast": lambda x: functional.broadcast(x, 0, distributed.group.WORLD),
    "all_to_all": all_to_all,
    "all_to_all uneven": exchange_unevenly,
}


class Block(nn.Module):
    """Compute, a collective, compute."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.way = way

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(WAYS[self.way](self.down(torch.relu(self.up(x)))) * 2)


def check(way: str) -> None:
    torch.manual_seed(distributed.get_rank())
    model = Block(way).eval()
    compiled = dynaflow.compile(model, AsTold())
    # Twice with equal sizes: what was bound is used again. Six rows in eight parts: two are empty.
    for parts, rows in [(2, 8), (2, 8), (1, 4), (3, 10), (4, 6), (8, 6)]:
        x = torch.randn(rows, WIDTH)
        expected = model(x)
        with dynaflow.batch(parts=parts):
            given = compiled(x)
        error = (given - expected).abs().max() / expected.abs().max()
        assert error <= 1e-5, f"{way}, {rows} rows in {parts} parts: {error}"
        assert "network" in compiled.plan(), compiled.plan()


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    with torch.no_grad():
        for way in WAYS:
            check(way)
    distributed.destroy_process_group()
    print(f"{len(WAYS)} ways equal")
