"""Where a run's time went, as explain tells it, with what only the kernel knows."""

from typing import NamedTuple

import torch.distributed as dist
from support.proc_stat import read_own_core_times
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
    before = read_own_core_times().interrupts
    timeline = model.timeline(x)
    interrupts = read_own_core_times().interrupts - before
    explanation = timeline.explain()
    lane = next(lane for lane in explanation.lanes if lane.name == "compute")
    lost_ns = explanation.total_ns - lane.busy_ns + lane.taken_ns
    return Explained(explanation.total_ns / 1e6, lost_ns / 1e6, interrupts * 1e3)
