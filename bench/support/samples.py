"""Samples that ranks take together, until enough of them were taken on undisturbed cores.

Whether one counts is told by what is no part of it: what other processes used of the cores, and a
probe beside it that tells a core that runs at its own speed from one that does not.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch.distributed as dist
from support.core_speed import CoreSpeed, Product, SpeedWatch
from support.rounds import FEWEST, user_seconds

T = TypeVar("T")

CROWD = 0.1
"""Cores: if other processes use more, a sample is disturbed."""
_SLOWED = 0.15
_TRIES = 3  # for each sample that is to be calm


@dataclass(frozen=True)
class Sample(Generic[T]):
    """What each rank measured."""

    everywhere: Sequence[T]
    others: float
    """Cores that other processes used meanwhile."""
    slowed: float
    """For which share of its time a core was slowed: that of the rank where it was longest."""

    @property
    def is_calm(self) -> bool:
        """Whether it counts."""
        return self.others <= CROWD and self.slowed <= _SLOWED


class Sampler:
    """Watches the cores until closed; all ranks have one, and call the same."""

    def __init__(self) -> None:
        """It learns over time how fast a core is: use one for all that is compared."""
        self._held = ExitStack()
        self._watch = self._held.enter_context(SpeedWatch(CoreSpeed(patience=0, work=Product())))

    def close(self) -> None:
        """Ends the thread that watches."""
        self._held.close()

    def collect(
        self, kinds: Mapping[str, Callable[[], T]], enough: int, seconds: float
    ) -> dict[str, list[Sample[T]]]:
        """Of each kind in turn, until it has `enough` that are calm, or was tried too often.

        After so many `seconds`, by rank 0's clock, a few of each are enough, calm or not.
        """
        deadline = time.monotonic() + seconds
        taken: dict[str, list[Sample[T]]] = {name: [] for name in kinds}
        order = list(kinds)
        while wanting := agree([name for name in order if _wants(taken[name], enough, deadline)]):
            for name in wanting:
                taken[name].append(self._take(kinds[name]))
            order.reverse()
        return taken

    def _take(self, measure: Callable[[], T]) -> Sample[T]:
        others = _Others()
        self._watch.begin()
        own = measure()
        everywhere = gather((own, self._watch.slowed()))
        slowed = max(each[1] for each in everywhere)
        return Sample([each[0] for each in everywhere], others.cores(), slowed)


def calmest(samples: Sequence[Sample[T]]) -> list[Sample[T]]:
    """Those that count; if they are too few, the least disturbed."""
    calm = [each for each in samples if each.is_calm]
    if len(calm) >= FEWEST:
        return calm
    return sorted(samples, key=lambda each: each.others + each.slowed)[:FEWEST]


def _wants(taken: Sequence[Sample[T]], enough: int, deadline: float) -> bool:
    if time.monotonic() > deadline:
        return len(taken) < min(FEWEST, enough)
    return len(taken) < _TRIES * enough and sum(each.is_calm for each in taken) < enough


def agree(value: T) -> T:
    """What rank 0 says."""
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


def gather(value: Any) -> list[Any]:  # noqa: ANN401
    """What each rank says."""
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, value)
    return everywhere


class _Others:
    """How many cores processes other than the ranks compute on, until asked.

    The kernel's time is nobody's: what it does for a network counts for the core it does it on.
    """

    def __init__(self) -> None:
        self._start, self._user = time.perf_counter(), self._seconds()

    def cores(self) -> float:
        seconds = self._seconds() - self._user
        return max(0.0, seconds / (time.perf_counter() - self._start))

    @staticmethod
    def _seconds() -> float:
        own: list[float] = gather(os.times().user)
        return user_seconds() - sum(own)
