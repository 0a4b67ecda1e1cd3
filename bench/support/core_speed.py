"""Whether cores run at their own speed.

On a shared machine a core can take twice as long for seconds at a time, as if another's work ran on
its second hardware thread, and no counter tells. So measurements ask a probe that is no part of
them.
"""

import os
import threading
import time
from collections.abc import Callable

import torch

_FULL = 1.4  # a core's clock varies by a fifth; a slowed core takes 1.6 to 2 times as long
_FIRST_LOOK = 0.5  # seconds
_WARMING = 3  # times: a thread that has just woken finds caches cold, whatever the core's speed
_EVERY = 0.03  # seconds from one look to the next: a look takes a few thousandths of it


def count() -> None:
    """Some 20 µs."""
    for _ in range(1000):
        pass


class Product:
    """Some 10 µs of a matrix product: what work of that kind notices of neighbours, it does."""

    def __init__(self) -> None:
        self._a, self._b = torch.ones(32, 128), torch.ones(128, 128)
        self._out = torch.empty(32, 128)

    def __call__(self) -> None:
        """Always the same."""
        torch.mm(self._a, self._b, out=self._out)


class CoreSpeed:
    """Work that is always the same, beside the shortest time it ever took here."""

    def __init__(
        self, patience: float, *, all_cores: bool = False, work: Callable[[], None] = count
    ) -> None:
        """Looks for a while, so that full speed is known before anything is judged by it.

        `patience`: seconds that all waiting may take together. `all_cores`: those this process may
        use, rather than the one the calling thread happens to be on.
        """
        self._work = work
        self._patience = patience
        self._cores = os.sched_getaffinity(0) if all_cores else None
        self._shortest = self._probe()
        end = time.perf_counter() + _FIRST_LOOK
        while time.perf_counter() < end:
            self.is_full()

    def in_time(self) -> bool:
        """Whether there is patience left."""
        return self._patience > 0

    def is_full(self) -> bool:
        """Whether they run at their own speed now."""
        if self._cores is None:
            return self._is_full_here()
        try:
            return all(self._is_full_on(core) for core in self._cores)
        finally:
            os.sched_setaffinity(0, self._cores)

    def await_full(self) -> None:
        """Waits until they do, as long as there is patience."""
        start = time.perf_counter()
        end = start + self._patience
        while not self.is_full() and time.perf_counter() < end:
            pass
        self._patience -= time.perf_counter() - start

    def _is_full_on(self, core: int) -> bool:
        os.sched_setaffinity(0, {core})
        return self._is_full_here()

    def _is_full_here(self) -> bool:
        for _ in range(_WARMING):
            self._probe()
        taken = min(self._probe(), self._probe())  # an interrupt is no slow core
        self._shortest = min(self._shortest, taken)
        return taken <= _FULL * self._shortest

    def _probe(self) -> int:
        start = time.thread_time_ns()  # time slices that others got do not count
        self._work()
        return time.thread_time_ns() - start


class SpeedWatch:
    """Looks at a core's speed again and again, from a thread beside those that compute on it."""

    def __init__(self, speed: CoreSpeed) -> None:
        """To be entered before it looks."""
        self._speed = speed
        self._seen: list[bool] = []
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

    def slowed(self) -> float:
        """In which share of what was seen since then the core was slowed."""
        assert self._thread.is_alive()
        seen = self._seen
        return seen.count(False) / len(seen) if seen else 0.0

    def _look(self) -> None:
        while not self._end.wait(_EVERY):
            self._seen.append(self._speed.is_full())
