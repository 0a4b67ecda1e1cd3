"""What a steady run asks of malloc does not grow with its steps: only its entry and results do."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

import dynaflow
from small import Halves, two_lanes

HERE = Path(__file__).resolve()


class Sums(nn.Module):
    """Additions, each an op: their kernels ask for no memory, as matrix products do."""

    def __init__(self, ops: int) -> None:
        super().__init__()
        self.ops, self.weight = ops, nn.Parameter(torch.randn(8))

    def forward(self, x: Tensor) -> Tensor:
        """Of [batch, 8] the same."""
        for i in range(self.ops):
            with dynaflow.mark(f"add{i}"):
                x = x + self.weight
        return x


def in_order(ctx: dynaflow.ScheduleContext) -> None:
    while ctx.unfinished():
        for op in ctx.get_ready_ops():
            ctx.execute(op)


def hand_over(ctx: dynaflow.ScheduleContext) -> None:
    lanes, steps = [ctx.lane("here"), ctx.lane("there")], 0
    while ctx.unfinished():
        for op in ctx.get_ready_ops():
            ctx.execute(op, lane=lanes[steps % 2])
            steps += 1


def steady_mallocs(ops: int, scheduler: Halves, counter: ctypes.CDLL) -> int:
    """Of one run, once all is bound and warm."""
    fast = dynaflow.compile(Sums(ops), scheduler, engine="aten", cut=[])
    with torch.no_grad():
        x = torch.randn(6, 8)
        for _ in range(20):
            fast(x)
        counts: list[int] = []
        for _ in range(5):
            counter.start_counting()
            fast(x)
            counts.append(counter.stop_counting())
    assert fast.stats["steps"] == 2 * ops
    return min(counts)


def measure() -> dict[str, list[int]]:
    counter = ctypes.CDLL(os.environ["LD_PRELOAD"])
    torch.set_num_threads(1)
    ways = {"one lane": in_order, "two lanes": two_lanes, "alternating": hand_over}
    return {
        name: [steady_mallocs(ops, Halves(way), counter) for ops in (1, 100)]
        for name, way in ways.items()
    }


def test_more_steps_ask_for_no_more_memory(tmp_path: Path) -> None:
    counter = tmp_path / "count_mallocs.so"
    source = HERE.with_name("count_mallocs.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", counter, "-ldl"], check=True)
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, HERE],
        env=os.environ | {"LD_PRELOAD": str(counter), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    counts: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    assert all(few == many for few, many in counts.values()), counts
    assert all(few < 60 for few, _ in counts.values()), counts


if __name__ == "__main__":
    print(json.dumps(measure()))
    sys.exit()
