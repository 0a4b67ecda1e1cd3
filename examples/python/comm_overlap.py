"""A tensor-parallel model whose transfers disappear behind compute, by a strategy to copy.

torchrun --nproc-per-node 2 examples/python/comm_overlap.py
"""

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow

HIDDEN, LAYERS, ROWS = 64, 4, 16


class CommOverlap(dynaflow.OpScheduler):
    """While one micro-batch's transfer is on the wire, the others compute."""

    def __init__(self, parts: int = 2) -> None:
        super().__init__()
        self.parts = parts

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        return batch.even(self.parts) if batch.rows >= self.parts else batch.whole()

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        compute = ctx.lane("compute")
        network = [ctx.lane(name, cores=0) for name in ("network", "network2")]
        while ctx.unfinished():
            for mb in ctx.microbatches:
                transfers = False
                while not transfers and (op := ctx.first_ready_op(mb)):
                    transfers = "network" in op.tags
                    ctx.execute(op, lane=network[mb.index % 2] if transfers else compute)


class Mlp(nn.Module):
    """Half of the hidden units on each of two ranks, as Megatron's layers have it."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.down = nn.Linear(2 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        part = self.down(torch.relu(self.up(x)))
        return x + functional.all_reduce(part, "sum", distributed.group.WORLD)


def main() -> None:
    """Runs the model as it is and under the schedule, and compares."""
    distributed.init_process_group("gloo")
    torch.manual_seed(distributed.get_rank())
    model = nn.Sequential(*[Mlp() for _ in range(LAYERS)]).eval()
    x = torch.ones(ROWS, HIDDEN)
    fast = dynaflow.compile(model, CommOverlap(), engine="aten")
    with torch.no_grad():
        expected, given = model(x), fast(x)
    assert torch.allclose(given, expected, rtol=1e-5, atol=1e-5)
    if distributed.get_rank() == 0:
        print(fast.plan())
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
