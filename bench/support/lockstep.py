"""Rounds that several ranks measure together: the same arm at the same time on each."""

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import torch.distributed as dist
from support.awake import AwakeCore
from support.proc_stat import read_core_times, read_own_core_times
from support.ranks import agree, gather
from support.rounds import FEWEST, Call, Spread, spread_of


class RankTime(NamedTuple):
    """What one call takes on a rank, in µs."""

    wall: float
    """By the clock."""
    threads: float
    """CPU time of all its threads."""
    core: float
    """What kept its core busy: threads, and interrupts that found no thread to count for."""
    kernel: float
    """That its core was in the kernel, interrupts included; by clock ticks: only means tell."""


JointRound: TypeAlias = Mapping[str, Sequence[RankTime]]
"""What each arm took on each rank."""

ENOUGH = 15  # rounds, however long they take
_CROWD = 0.1  # cores: if other processes use more, a round is disturbed
_SAMPLE = 0.1  # seconds at least


def slowest(values: JointRound, arm: str) -> float:
    """An arm's time by the clock: that of the rank that took longest."""
    return max(time.wall for time in values[arm])


@dataclass(frozen=True)
class JointSample:
    """Of one arm."""

    times: Sequence[RankTime]
    """On each rank."""
    others: float
    """Cores that other processes used meanwhile."""


@dataclass(frozen=True)
class JointRounds:
    """Rounds of some arms, as they were taken."""

    taken: Sequence[Mapping[str, JointSample]]

    @cached_property
    def kept(self) -> list[JointRound]:
        """Those in which other processes left the cores alone; a few, whatever they did."""
        crowds = [max(sample.others for sample in each.values()) for each in self.taken]
        limit = max(_CROWD, sorted(crowds)[min(FEWEST, len(crowds)) - 1])
        return [
            {arm: sample.times for arm, sample in each.items()}
            for each, crowd in zip(self.taken, crowds, strict=True)
            if crowd <= limit
        ]

    def spread(self, quantity: Callable[[JointRound], float]) -> Spread:
        """Of what is computed from one round's values, so that arms are compared in pairs."""
        return spread_of([quantity(values) for values in self.kept])

    def wall(self, arm: str) -> Spread:
        """An arm's time by the clock."""
        return self.spread(lambda values: slowest(values, arm))

    def core(self, arm: str) -> Spread:
        """What an arm keeps a core busy; of the rank that it keeps busy most."""
        return self.spread(lambda values: max(time.core for time in values[arm]))

    def kernel(self, arm: str) -> float:
        """How long an arm keeps a core in the kernel; the mean, also of all ranks."""
        return statistics.mean(time.kernel for values in self.kept for time in values[arm])

    def ratio(self, arm: str, to: str) -> Spread:
        """One arm's time by the clock over another's."""
        return self.spread(lambda values: slowest(values, arm) / slowest(values, to))

    def sure_ratio(self, arm: str, to: str) -> float:
        """What the median of the ratio exceeds with a confidence of 95 %, whatever its law."""
        ratios = sorted(slowest(values, arm) / slowest(values, to) for values in self.kept)
        return ratios[_sure_rank(len(ratios))]

    def __str__(self) -> str:
        others = statistics.median(s.others for each in self.taken for s in each.values())
        crowd = f"; others used {others:.2f} cores meanwhile" if others > _CROWD else ""
        dropped = len(self.taken) - len(self.kept)
        return f"{len(self.kept)} rounds kept, {dropped} disturbed and dropped{crowd}"

    def to_json(self) -> list[dict[str, Any]]:
        """For `from_json`."""
        return [{arm: asdict(sample) for arm, sample in each.items()} for each in self.taken]

    @staticmethod
    def from_json(saved: Sequence[Mapping[str, Any]]) -> "JointRounds":
        """What `to_json` gave."""

        def sample(of: Mapping[str, Any]) -> JointSample:
            return JointSample([RankTime(*time) for time in of["times"]], of["others"])

        return JointRounds([{arm: sample(of) for arm, of in each.items()} for each in saved])


def _sure_rank(count: int) -> int:
    """The place among `count` sorted values of one that is below the median in 95 % of cases."""
    below = 0.0
    for rank in range(count):
        below += math.comb(count, rank) / 2**count
        if below > 0.05:
            return max(0, rank - 1)
    return 0


def measure_together(
    arms: Mapping[str, Call],
    core: AwakeCore,
    *,
    rounds: int,
    seconds: float,
    after_round: Callable[[JointRound], None] = lambda _: None,
) -> JointRounds:
    """Measures the arms in turn; to be called on all ranks, with the same arms, each on its core.

    As many rounds, but after so many `seconds` fewer are enough. `after_round` is told of each,
    with the same values on all ranks.
    """
    times = {name: _times(call, core) for name, call in arms.items()}
    order = list(arms)
    taken: list[Mapping[str, JointSample]] = []
    end = time.monotonic() + seconds
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        while agree(len(taken) < (rounds if time.monotonic() < end else min(rounds, ENOUGH))):
            samples = {name: _take(arms[name], times[name], core) for name in order}
            taken.append({name: samples[name] for name in arms})
            after_round({name: sample.times for name, sample in taken[-1].items()})
            order.reverse()
    finally:
        if gc_was_on:
            gc.enable()
    return JointRounds(taken)


def _times(call: Call, core: AwakeCore) -> int:
    """How often a sample calls it, so that it takes long enough."""
    call()
    return agree(math.ceil(_SAMPLE / (_time(call, 1, core).wall * 1e-6)))


def _take(call: Call, times: int, core: AwakeCore) -> JointSample:
    others = _Others()
    everywhere = gather(_time(call, times, core))
    return JointSample(everywhere, others.cores())


def _time(call: Call, times: int, core: AwakeCore) -> RankTime:
    dist.barrier()
    before, idle = read_own_core_times(), core.idle_ns()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(times):
        call()
    spent, taken = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    idle, after = core.idle_ns() - idle, read_own_core_times()
    busy = max(spent, taken - idle - (after.stolen - before.stolen) * 1e9)
    kernel = (after.kernel - before.kernel) * 1e9
    return RankTime(*(ns / times / 1e3 for ns in (taken, spent, busy, kernel)))


class _Others:
    """How many cores processes other than the ranks compute on, until asked.

    The kernel's time is nobody's: what it does for a network counts for the core it does it on. Nor
    does the time of what keeps the cores awake.
    """

    def __init__(self) -> None:
        self._start, self._user = time.perf_counter(), self._seconds()

    def cores(self) -> float:
        seconds = self._seconds() - self._user
        return max(0.0, seconds / (time.perf_counter() - self._start))

    @staticmethod
    def _seconds() -> float:
        return read_core_times().user - sum(gather(os.times().user))
