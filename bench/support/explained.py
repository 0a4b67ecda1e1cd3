"""Where a run's time went, as explain tells it, with what only the kernel knows."""

import os
from pathlib import Path
from typing import NamedTuple

import torch.distributed as dist
from torch import Tensor

import dynaflow


class Explained(NamedTuple):
    """A run of one rank, in milliseconds."""

    total: float
    lost: float
    """What the lane that computes waited, and what other threads took of its core."""
    interrupts: float
    """What the kernel did on this rank's core in interrupts, as it does for a network. It counts as
    the time of whatever thread it interrupts, and is known to a clock tick: only a mean tells."""


def explain_run(model: dynaflow.CompiledModule, x: Tensor) -> Explained:
    """One run, traced; to be called on all ranks, which begin together."""
    dist.barrier()
    before = _interrupts_ms()
    timeline = model.timeline(x)
    interrupts = _interrupts_ms() - before
    explanation = timeline.explain()
    lane = next(lane for lane in explanation.lanes if lane.name == "compute")
    lost_ns = explanation.total_ns - lane.busy_ns + lane.taken_ns
    return Explained(explanation.total_ns / 1e6, lost_ns / 1e6, interrupts)


def _interrupts_ms() -> float:
    """Of this rank's cores since the machine started, hard and soft."""
    own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    ticks = sum(int(row[6]) + int(row[7]) for row in rows if row[0] in own)
    return 1e3 * ticks / os.sysconf("SC_CLK_TCK")
