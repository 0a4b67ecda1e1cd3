"""What a run over a network lost, as explain tells it, beside the same run without one."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch.distributed as dist
from support.report import FOLDER
from torch import Tensor

import dynaflow


@dataclass(frozen=True)
class Explained:
    """A run over a network and where its time went, in milliseconds."""

    total: float
    lost: float
    """What the lane that computes waited, and what other threads took of its core."""
    identity: float
    """The same run with collectives that do nothing."""
    late: float
    """In which a transfer waited for one rank alone."""
    interrupts: float
    """What the kernel did on this rank's core in interrupts, as it does for a network. It counts as
    the time of whatever thread it interrupts, and is known to a clock tick: only a mean tells."""


def explain_pair(
    run: dynaflow.CompiledModule, identity: dynaflow.CompiledModule, x: Tensor
) -> Explained:
    """One run, explained, and right after it the same with collectives that do nothing."""
    dist.barrier()
    before = _interrupts_ms()
    timeline = run.timeline(x)
    interrupts = _interrupts_ms() - before
    explanation = timeline.explain()
    lane = next(lane for lane in explanation.lanes if lane.name == "compute")
    lost_ns = explanation.total_ns - lane.busy_ns + lane.taken_ns
    dist.barrier()
    return Explained(
        total=explanation.total_ns / 1e6,
        lost=lost_ns / 1e6,
        identity=identity.timeline(x).total_ns / 1e6,
        late=_late_ns(timeline) / 1e6,
        interrupts=interrupts,
    )


def _interrupts_ms() -> float:
    """Of this rank's cores since the machine started, hard and soft."""
    own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    ticks = sum(int(row[6]) + int(row[7]) for row in rows if row[0] in own)
    return 1e3 * ticks / os.sysconf("SC_CLK_TCK")


def _late_ns(timeline: dynaflow.Timeline) -> int:
    paths = [FOLDER / f"overlap-rank{rank}.json" for rank in range(dist.get_world_size())]
    FOLDER.mkdir(parents=True, exist_ok=True)
    timeline.save(paths[dist.get_rank()])
    dist.barrier()
    seen = {path.stem: dynaflow.Timeline.load(path) for path in paths}
    dist.barrier()  # before the next run is saved there
    return sum(rank.late_ns for rank in dynaflow.explain_ranks(seen).ranks)
