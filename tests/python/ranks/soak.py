"""Random batch sizes and micro-batch counts: no wrong answer, and no growth of memory."""

import random
import sys
import time
from pathlib import Path

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow
from ranks.as_told import AsTold

# mypy: disable-error-code="arg-type, no-any-return"

WIDTH, MOST_ROWS, MOST_PARTS = 64, 24, 5
WARM_UP = 0.3  # of the time: caches fill, arenas reach their size
MOST_GROWTH = 24 << 20


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        part = self.down(torch.relu(self.up(x)))
        return torch.tanh(x + functional.all_reduce(part, "sum", distributed.group.WORLD))


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main(seconds: float) -> None:
    rank = distributed.get_rank()
    torch.manual_seed(rank)
    model = nn.Sequential(*[Layer() for _ in range(3)]).eval()
    compiled = dynaflow.compile(model, AsTold(), engine="aten")
    chance = random.Random(0)  # the same on every rank
    begin, runs, warm = time.monotonic(), 0, 0
    going_on = torch.ones(1)
    while going_on:
        rows, parts = chance.randint(1, MOST_ROWS), chance.randint(1, MOST_PARTS)
        x = torch.full((rows, WIDTH), chance.random())
        expected = model(x)
        with dynaflow.batch(parts=parts):
            error = (compiled(x) - expected).abs().max() / expected.abs().max()
        assert error <= 1e-5, f"run {runs}, {rows} rows in {parts} parts: {error}"
        runs += 1
        spent = time.monotonic() - begin
        if warm == 0 and spent > WARM_UP * seconds:
            warm = resident()
        going_on = torch.tensor([float(spent < seconds)])
        distributed.broadcast(going_on, 0)
    grown = resident() - warm
    print(f"{runs} runs, memory {warm >> 20} MB and {grown / 2**20:+.1f} MB since warm-up")
    assert grown <= MOST_GROWTH


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    with torch.no_grad():
        main(float(sys.argv[1]))
    distributed.destroy_process_group()
