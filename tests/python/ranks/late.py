"""Of two ranks' timelines one learns which of them was late."""

# mypy: disable-error-code="arg-type, no-any-return"

import sys
from pathlib import Path

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow

ROWS, WIDTH, LAYERS, PARTS = 64, 64, 4, 2
INNER = (WIDTH, 256 * WIDTH)  # rank 1 has much more to compute


class Layer(nn.Module):
    def __init__(self, inner: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, inner), nn.Linear(inner, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.down(torch.relu(self.up(x)))
        return torch.tanh(functional.all_reduce(y, "sum", distributed.group.WORLD))


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    torch.set_num_threads(1)
    model = nn.Sequential(*[Layer(INNER[rank]) for _ in range(LAYERS)])
    fast = dynaflow.compile(model, dynaflow.CommOverlap(PARTS), engine="aten")
    x = torch.ones(ROWS, WIDTH)
    with torch.no_grad():
        fast(x)
        fast.timeline(x).save(Path(sys.argv[1]) / f"rank{rank}.json")
    distributed.barrier()
    if rank == 0:
        paths = {f"rank {r}": Path(sys.argv[1]) / f"rank{r}.json" for r in range(2)}
        loaded = {name: dynaflow.Timeline.load(path) for name, path in paths.items()}
        found = dynaflow.explain_ranks(loaded)
        assert len(found.transfers) == LAYERS * PARTS
        assert all(0 <= each.awaited_ns <= each.network_ns for each in found.ranks)
        first, second = found.ranks
        assert second.late_ns > first.late_ns, str(found)
        assert second.last > first.last, str(found)
        assert first.awaited_ns >= second.late_ns, str(found)
        print(found)
    distributed.barrier()
    distributed.destroy_process_group()
