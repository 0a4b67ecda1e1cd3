"""What runs over a network lost, as explain tells it."""

import os
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

import dynaflow


class Loss(NamedTuple):
    """Of one run, in milliseconds."""

    lost: float
    """What the lane that computes waited, and what other threads took of its core."""
    interrupts: float
    """What the kernel did on this rank's core in interrupts, as it does for a network. It counts as
    the time of whatever thread it interrupts, and is known to a clock tick: only a mean tells."""


class Explained:
    """A model that is called, and keeps what each call lost."""

    def __init__(self, model: dynaflow.CompiledModule, x: Tensor) -> None:
        """Called with `x`."""
        self._model, self._x = model, x
        self.losses: list[Loss] = []

    def __call__(self) -> None:
        """Traced, and explained."""
        before = _interrupts_ms()
        timeline = self._model.timeline(self._x)
        interrupts = _interrupts_ms() - before
        explanation = timeline.explain()
        lane = next(lane for lane in explanation.lanes if lane.name == "compute")
        lost_ns = explanation.total_ns - lane.busy_ns + lane.taken_ns
        self.losses.append(Loss(lost_ns / 1e6, interrupts))


def _interrupts_ms() -> float:
    """Of this rank's cores since the machine started, hard and soft."""
    own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    ticks = sum(int(row[6]) + int(row[7]) for row in rows if row[0] in own)
    return 1e3 * ticks / os.sysconf("SC_CLK_TCK")
