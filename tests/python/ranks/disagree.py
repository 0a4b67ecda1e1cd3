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
        parts = 3 if other and how == "strategy" else 2
        compiled = dynaflow.compile(model, dynaflow.CommOverlap(parts))
        assert fails(compiled, 6) is None or how == "strategy"
        error = fails(compiled, 8 if other and how == "size" else 6)
        assert error is not None, "nobody noticed"
        print(error)
        # The group is not harmed: as soon as all agree, it works.
        agreed = dynaflow.compile(model, dynaflow.CommOverlap(2))
        assert fails(agreed, 6) is None
    distributed.destroy_process_group()
