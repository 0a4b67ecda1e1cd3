"""Where a run's time went, as explain tells it, with what only the kernel knows."""

import resource
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
    """What the kernel did in the thread that computes. Interrupts count as time of the thread that
    they interrupt, so explain takes a network's for computation; those that come while the thread
    waits are lost already. Known to a clock tick: only a mean tells."""


def explain_run(model: dynaflow.CompiledModule, x: Tensor) -> Explained:
    """One run, traced; to be called on all ranks, which begin together."""
    dist.barrier()
    before = kernel_seconds()
    timeline = model.timeline(x)
    interrupts = kernel_seconds() - before
    explanation = timeline.explain()
    lane = next(lane for lane in explanation.lanes if lane.name == "compute")
    lost_ns = explanation.total_ns - lane.busy_ns + lane.taken_ns
    return Explained(explanation.total_ns / 1e6, lost_ns / 1e6, interrupts * 1e3)


def kernel_seconds() -> float:
    """Of the time of this thread, which runs the lane that computes."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_stime
