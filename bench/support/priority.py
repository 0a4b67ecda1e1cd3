"""Whose turn it is where one core has both the computation and gloo's threads.

Left alone, the kernel lets a computing thread finish its slice (3 ms) before a thread that data
has arrived for. And it lets gloo's event loop interrupt gloo's worker inside of a send: the loop
then polls for the lock that the worker holds, and keeps it from the core until its own slice ends.
Real-time priority, the same for all of gloo's threads, ends both.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_NAMES = {"gloo_tcp_loop", "pt_gloo_runloop"}

R = TypeVar("R")


def gloo_threads() -> list[int]:
    """Of this process; none before the first process group."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(task.name) for task in tasks if (task / "comm").read_text().strip() in _NAMES]


def may_put_network_first() -> bool:
    """Whether this process has the right to."""
    try:
        with network_first(gloo_threads()):
            return True
    except PermissionError:
        return False


@contextmanager
def network_first(threads: list[int]) -> Iterator[None]:
    """While inside, these threads run as soon as they can, and do not interrupt each other."""
    try:
        for thread in threads:
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(1))
        yield
    finally:
        for thread in threads:
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def with_network_first(call: Callable[[], R]) -> Callable[[], R]:
    """The same, with gloo's present threads first."""
    threads = gloo_threads()

    def first() -> R:
        with network_first(threads):
            return call()

    return first
