"""How fast a core was meanwhile.

On a shared machine neighbours slow a core down by up to a half, now more, now less, and no counter
tells. So a thread beside those that compute does the same little work again and again, and takes
its time.
"""

import statistics
import threading
import time
from collections.abc import Callable

import torch

_EVERY = 0.015  # seconds from one look to the next: a look takes less than a hundredth of it
_WARMING = 3  # times: a thread that has just woken finds caches cold, however fast the core is


class SpeedWatch:
    """Looks at the core of the thread that enters it, which must have no other."""

    def __init__(self) -> None:
        """To be entered before it looks."""
        self._seen: list[int] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "SpeedWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def begin(self) -> None:
        """Forgets what was seen."""
        self._seen = []

    def probe_us(self) -> float:
        """What the work took since then on average, in µs."""
        while not self._seen:  # the time was too short for a look
            time.sleep(_EVERY)
        return statistics.mean(self._seen) / 1e3

    def _look(self) -> None:
        work = _make_work()
        while not self._end.wait(_EVERY):
            for _ in range(_WARMING):
                work()
            self._seen.append(min(_time(work), _time(work)))  # an interrupt is no slow core


def _make_work() -> Callable[[], None]:
    """Matrix products of a core's own caches: what such work notices of neighbours, they do."""
    a, b, out = torch.ones(16, 64), torch.ones(64, 64), torch.empty(16, 64)

    def work() -> None:
        for _ in range(4):
            torch.mm(a, b, out=out)

    return work


def _time(work: Callable[[], None]) -> int:
    start = time.thread_time_ns()  # time slices that others got do not count
    work()
    return time.thread_time_ns() - start
