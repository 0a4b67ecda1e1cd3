"""Whether cores run at their own speed.

On a shared machine a core can take twice as long for seconds at a time, as if another's work ran on
its second hardware thread, and no counter tells. So measurements ask a probe that is no part of
them.
"""

import os
import time

_LOOP = 1000
_FULL = 1.4  # a core's clock varies by a fifth; a slowed core takes 1.6 to 2 times as long
_FIRST_LOOK = 0.5  # seconds


class CoreSpeed:
    """A loop that always does the same, beside the shortest time it ever took here."""

    def __init__(self, patience: float, *, all_cores: bool = False) -> None:
        """Looks for a while, so that full speed is known before anything is judged by it.

        `patience`: seconds that all waiting may take together. `all_cores`: those this process may
        use, rather than the one the calling thread happens to be on.
        """
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
        self._probe()  # what was measured before has left the caches cold
        taken = self._probe()
        self._shortest = min(self._shortest, taken)
        return taken <= _FULL * self._shortest

    @staticmethod
    def _probe() -> int:
        start = time.thread_time_ns()  # time slices that others got do not count
        for _ in range(_LOOP):
            pass
        return time.thread_time_ns() - start
