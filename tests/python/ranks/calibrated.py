"""What was measured is the same on all ranks, is kept in a file, and decides the split."""

# mypy: disable-error-code="arg-type, no-any-return"

import sys
from pathlib import Path

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow

ROWS, WIDTH, LAYERS = 6, 32, 2


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(functional.all_reduce(self.linear(x), "sum", distributed.group.WORLD))


def everywhere(text: str) -> list[str]:
    said = [""] * distributed.get_world_size()
    distributed.all_gather_object(said, text)
    return said


if __name__ == "__main__":
    kept = Path(sys.argv[1]) / "costs.json"
    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    model, x = nn.Sequential(*[Layer() for _ in range(LAYERS)]), torch.ones(ROWS, WIDTH)
    costs = dynaflow.calibrate(model, x, path=kept)
    assert len(set(everywhere(costs.to_json()))) == 1
    assert [point.rows for point in costs.points] == [1, 2, 3, 6]
    assert costs.transfers == LAYERS
    assert all(point.network_ns > 0 and point.compute_ns > 0 for point in costs.points)
    assert len(costs.slowdowns) == 4
    assert all(costs.expected_ns(ROWS, parts) > 0 for parts in (1, 2, 3, 4))

    distributed.barrier()
    again = dynaflow.calibrate(model, x, path=kept)
    assert again.to_json() == costs.to_json() == kept.read_text()

    with torch.no_grad():
        y = dynaflow.compile(model, dynaflow.CommOverlap(costs))(x)
        torch.testing.assert_close(y, model(x))
    distributed.destroy_process_group()
