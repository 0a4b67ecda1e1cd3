"""Whose turn it is where one core has both the computation and gloo's threads.

Left alone, the kernel lets a computing thread finish its slice (3 ms) before a thread that data
has arrived for. And it lets gloo's event loop interrupt gloo's worker inside of a send: the loop
then polls for the lock that the worker holds, and keeps it from the core until its own slice ends.
So the computing thread becomes one that everybody may interrupt (SCHED_IDLE), and gloo's threads
become ones that do not interrupt each other (SCHED_BATCH).

Real-time priority for gloo's threads is faster where it works, and no choice: while the lock is
with a thread of less priority, the polling loop keeps that one from the core all but for good.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_NAMES = {"gloo_tcp_loop", "pt_gloo_runloop"}

R = TypeVar("R")


def gloo_threads() -> list[int]:
    """Of this process; none before the first collective."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(task.name) for task in tasks if (task / "comm").read_text().strip() in _NAMES]


def may_put_network_first() -> bool:
    """Whether a thread of this process may step back, and come forth again afterwards."""
    came_back: list[bool] = []

    def step_back() -> None:
        try:
            _set(0, os.SCHED_IDLE)
            _set(0, os.SCHED_OTHER)
            came_back.append(True)
        except PermissionError:
            came_back.append(False)

    thread = threading.Thread(target=step_back)
    thread.start()
    thread.join()
    return came_back[0]


@contextmanager
def network_first() -> Iterator[None]:
    """While inside, gloo's threads run as soon as they can, and the calling one when none does."""
    threads = gloo_threads()
    try:
        for thread in threads:
            _set(thread, os.SCHED_BATCH)
        _set(0, os.SCHED_IDLE)
        yield
    finally:
        _set(0, os.SCHED_OTHER)
        for thread in threads:
            _set(thread, os.SCHED_OTHER)


def with_network_first(call: Callable[[], R]) -> Callable[[], R]:
    """The same, with gloo's threads first."""

    def first() -> R:
        with network_first():
            return call()

    return first


def _set(thread: int, policy: int) -> None:
    os.sched_setscheduler(thread, policy, os.sched_param(0))
