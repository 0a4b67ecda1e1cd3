"""Ranks that are about to run different things say so before the first transfer."""

# mypy: disable-error-code="arg-type, no-any-return"

import sys
from datetime import timedelta

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.all_reduce(self.linear(x), "sum", distributed.group.WORLD) + 1


class BySizes(dynaflow.OpScheduler):
    """CommOverlap over parts that may be empty."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.sizes = sizes

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        return batch.by_sizes(self.sizes) if batch.rows == sum(self.sizes) else batch.even(2)

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        dynaflow.CommOverlap().schedule(ctx)


def schedule(how: str, *, other: bool) -> dynaflow.OpScheduler | dynaflow.CommOverlap:
    """Of this rank."""
    if how == "empty part":
        return BySizes([6, 0] if other else [3, 3])
    if how == "empty":
        return dynaflow.CommOverlap(4)
    return dynaflow.CommOverlap(3 if other and how == "strategy" else 2)


ROWS = {"size": (6, 8), "empty": (4, 3)}  # of rank 0, and of the other


def fails(compiled: nn.Module, rows: int) -> dynaflow.Error | None:
    try:
        compiled(torch.ones(rows, 8))
    except dynaflow.Error as error:
        return error
    return None


if __name__ == "__main__":
    how = sys.argv[1]
    distributed.init_process_group("gloo", timeout=timedelta(seconds=30))
    other = distributed.get_rank() == 1
    with torch.no_grad():
        torch.manual_seed(0)
        model = Block()
        compiled = dynaflow.compile(model, schedule(how, other=other))
        assert fails(compiled, 8) is None or how == "strategy"
        error = fails(compiled, ROWS.get(how, (6, 6))[other])
        assert error is not None, "nobody noticed"
        print(error)
        # The group is not harmed: as soon as all agree, it works.
        agreed = dynaflow.compile(model, dynaflow.CommOverlap(2))
        assert fails(agreed, 6) is None
    distributed.destroy_process_group()
