"""What cores did since the machine came up, as the kernel counts it."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple


class CoreTimes(NamedTuple):
    """In seconds, to a hundredth.

    What ran is found by a look at every clock tick, so only means tell.
    """

    user: float
    nice: float
    """Of processes of lower priority."""
    system: float
    interrupts: float
    """Hard and soft: what the kernel does for a network, for instance. It counts as CPU time of the
    thread that it interrupts, and on an idle core as nobody's."""
    stolen: float
    """That another machine had the core."""

    @property
    def busy(self) -> float:
        """By ticks."""
        return self.user + self.nice + self.kernel

    @property
    def kernel(self) -> float:
        """For threads, or for nobody."""
        return self.system + self.interrupts


def read_core_times(cores: Collection[int] | None = None) -> CoreTimes:
    """Of these cores together; by default of all."""
    return parse_core_times(Path("/proc/stat").read_text(), cores)


def read_own_core_times() -> CoreTimes:
    """Of the cores that this process may use."""
    return read_core_times(os.sched_getaffinity(0))


def parse_core_times(stat: str, cores: Collection[int] | None) -> CoreTimes:
    """From what the kernel writes."""
    rows = dict(line.split(maxsplit=1) for line in stat.splitlines())
    names = ["cpu"] if cores is None else [f"cpu{core}" for core in cores]
    lines = [[int(field) for field in rows[name].split()] for name in names]
    user, nice, system, _, _, irq, softirq, stolen = (
        sum(fields) / os.sysconf("SC_CLK_TCK") for fields in list(zip(*lines, strict=True))[:8]
    )
    return CoreTimes(user, nice, system, irq + softirq, stolen)
