"""A core that never idles, as with `idle=poll` on the kernel's command line.

A core of a virtual machine that idles is given to other machines. It comes back late, and slower
for a while, so that what an arm takes depends on how often it waits. A process of the lowest
priority on the same core runs whenever no other does, and knows how long that was.
"""

import os
import subprocess
import sys
import time
from mmap import mmap
from types import TracebackType

_INTERRUPTED = 1000  # ns: a turn of the keeper's loop takes a fifth of that


class AwakeCore:
    """The cores that this process may use, kept awake; ranks have one each.

    >>> with AwakeCore() as core:
    ...     begin = core.idle_ns()
    """

    def __init__(self) -> None:
        self._shared = os.memfd_create("idle")
        os.truncate(self._shared, 8)
        self._idle = memoryview(mmap(self._shared, 8)).cast("q")

    def __enter__(self) -> "AwakeCore":
        # In the session of this process: those of others are scheduled beside it, not below it.
        self._keeper = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", sys.executable, __file__, str(self._shared)],
            pass_fds=[self._shared],
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._keeper.kill()
        self._keeper.wait()

    @property
    def process_id(self) -> int:
        """Of what keeps it awake."""
        return self._keeper.pid

    def idle_ns(self) -> int:
        """In which nobody needed the core so far: no thread, and no interrupt."""
        return self._idle[0]


def keep_awake(idle: memoryview) -> None:
    """Forever; writes down how long it ran without being interrupted."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.nice(19)  # as such its time is counted
    clock = time.perf_counter_ns
    total, last = 0, clock()
    while True:
        now = clock()
        if now - last < _INTERRUPTED:
            total += now - last
            idle[0] = total
        last = now


if __name__ == "__main__":
    keep_awake(memoryview(mmap(int(sys.argv[1]), 8)).cast("q"))
