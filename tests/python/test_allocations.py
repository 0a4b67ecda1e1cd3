"""What a steady run asks of malloc: nothing for its steps, and of ours only what is returned."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

import dynaflow
from small import Halves, two_lanes

HERE = Path(__file__).resolve()
OF_A_RESULT = 2
"""A storage and a tensor: torch's classes, but its headers have us make them."""


class Sums(nn.Module):
    """Additions, each an op: their kernels ask for no memory, as matrix products do.

    Returns the last ones, each seen through a view.
    """

    def __init__(self, ops: int, results: int = 1) -> None:
        super().__init__()
        self.ops, self.results, self.weight = ops, results, nn.Parameter(torch.randn(8))

    def forward(self, x: Tensor) -> list[Tensor]:
        """Of [batch, 8] some [batch, 2, 4]."""
        sums = []
        for i in range(self.ops):
            with dynaflow.mark(f"add{i}"):
                x = x + self.weight
            sums.append(x.view(-1, 2, 4))
        return sums[-self.results :]


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


WAYS: dict[str, Callable[[dynaflow.ScheduleContext], None]] = {
    "one lane": in_order,
    "two lanes": two_lanes,
    "alternating": hand_over,
}


class Asked(NamedTuple):
    """Of malloc, by one run."""

    in_all: int
    by_us: int


def steady_run(model: Sums, way: str, counter: ctypes.CDLL) -> Asked:
    """Once all is bound and warm."""
    fast = dynaflow.compile(model, Halves(WAYS[way]), engine="aten", cut=[])
    with torch.no_grad(), dynaflow.batch(requests=[2, 1, 3], decoding=1):
        x = torch.randn(6, 8)
        for _ in range(20):
            fast(x)
        asked: list[Asked] = []
        for _ in range(5):
            counter.start_counting()
            fast(x)
            asked.append(Asked(counter.stop_counting(), counter.asked_by(b"_C.cpython")))
    assert fast.stats["steps"] == 2 * model.ops
    return min(asked)


def measure() -> dict[str, list[Asked]]:
    counter = ctypes.CDLL(os.environ["LD_PRELOAD"])
    torch.set_num_threads(1)
    models = [Sums(1), Sums(100), Sums(100, results=3)]
    return {way: [steady_run(model, way, counter) for model in models] for way in WAYS}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Asked]]:
    """Of a run with 1 step per micro-batch, with 100, and with 100 and 3 results; by way."""
    counter = tmp_path_factory.mktemp("counter") / "count_mallocs.so"
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
    measured = json.loads(done.stdout.splitlines()[-1])
    return {way: [Asked(*run) for run in runs] for way, runs in measured.items()}


@pytest.mark.parametrize("way", WAYS)
def test_more_steps_ask_for_no_more_memory(way: str, asked: dict[str, list[Asked]]) -> None:
    few, many, _ = asked[way]
    assert few.in_all == many.in_all


@pytest.mark.parametrize("way", WAYS)
def test_we_ask_for_what_is_returned_only(way: str, asked: dict[str, list[Asked]]) -> None:
    by_us = [run.by_us for run in asked[way]]
    assert by_us == [OF_A_RESULT, OF_A_RESULT, 3 * OF_A_RESULT]


if __name__ == "__main__":
    print(json.dumps(measure()))
    sys.exit()
