"""Rounds that several ranks measure together: the same arm at the same time on each."""

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import torch.distributed as dist
from support.core_speed import CoreSpeed, SpeedWatch
from support.rounds import FEWEST, Call, Effort, Spread, Time, await_quiet, spread_of, user_seconds

JointRound: TypeAlias = Mapping[str, Sequence[Time]]
"""What each arm took on each rank."""

_CROWD = 0.1
_SLOWED = 0.15
_TRIES = 5


def slowest(values: JointRound, arm: str) -> float:
    """An arm's time by the clock: that of the rank that took longest."""
    return max(time.wall for time in values[arm])


@dataclass(frozen=True)
class JointRounds:
    """The undisturbed rounds of some arms."""

    kept: list[JointRound]
    dropped: int
    others: float
    """Cores that other processes used while the kept rounds ran, at the median."""
    slowed: float = 0
    """For which share of their samples' time a rank's core was slowed, at the median."""

    def spread(self, quantity: Callable[[JointRound], float]) -> Spread:
        """Of what is computed from one round's values, so that arms are compared in pairs."""
        return spread_of([quantity(values) for values in self.kept])

    def wall(self, arm: str) -> Spread:
        """An arm's time by the clock."""
        return self.spread(lambda values: slowest(values, arm))

    def cpu(self, arm: str) -> Spread:
        """An arm's time of all threads of a rank; of the rank that spent most."""
        return self.spread(lambda values: max(time.cpu for time in values[arm]))

    def ratio(self, arm: str, to: str) -> Spread:
        """One arm's time by the clock over another's."""
        return self.spread(lambda values: slowest(values, arm) / slowest(values, to))

    def sure_ratio(self, arm: str, to: str) -> float:
        """What the median of the ratio exceeds with a confidence of 95 %, whatever its law."""
        ratios = sorted(slowest(values, arm) / slowest(values, to) for values in self.kept)
        return ratios[_sure_rank(len(ratios))]

    def __str__(self) -> str:
        crowd = f"; others used {self.others:.2f} cores meanwhile" if self.others > _CROWD else ""
        slow = f"; {self.slowed:.0%} of the time on slowed cores" if self.slowed > 0.01 else ""
        return f"{len(self.kept)} rounds kept, {self.dropped} disturbed and dropped{crowd}{slow}"

    def to_json(self) -> dict[str, Any]:
        """For `from_json`."""
        return asdict(self)

    @staticmethod
    def from_json(saved: Mapping[str, Any]) -> "JointRounds":
        """What `to_json` gave."""
        kept: list[JointRound] = [
            {arm: [Time(*time) for time in times] for arm, times in values.items()}
            for values in saved["kept"]
        ]
        return JointRounds(kept, saved["dropped"], saved["others"], saved["slowed"])


def _sure_rank(count: int) -> int:
    """The place among `count` sorted values of one that is below the median in 95 % of cases."""
    below = 0.0
    for rank in range(count):
        below += math.comb(count, rank) / 2**count
        if below > 0.05:
            return max(0, rank - 1)
    return 0


def measure_together(
    arms: Mapping[str, Call], effort: Effort, *, baseline: str, deadline: float
) -> JointRounds:
    """Measures every arm in each round; to be called on all ranks, with the same arms.

    Rank 0 decides how often an arm is called, which rounds count and when it is enough. Past the
    `deadline`, by its clock, it is enough with as many rounds as there are.
    """
    times = {name: _times(call, effort.sample_seconds) for name, call in arms.items()}
    taken: list[_Taken] = []
    rounds = JointRounds([], 0, 0)
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        speed = CoreSpeed(patience=deadline - time.monotonic())
        with SpeedWatch(speed) as watch:
            while _agree(_needs_more(rounds, len(taken), effort, deadline)):
                if dist.get_rank() == 0:
                    await_quiet(effort.patience)
                dist.barrier()
                others = _Others()
                order = list(arms) if len(taken) % 2 == 0 else list(arms)[::-1]
                samples = {n: _sample_at_full(arms[n], times[n], watch, deadline) for n in order}
                joint = {name: samples[name].times for name in arms}
                slowed = statistics.mean(sample.slowed for sample in samples.values())
                taken.append(_Taken(joint, others.cores(), slowed))
                rounds = _drop_disturbed(taken, baseline, effort)
    finally:
        if gc_was_on:
            gc.enable()
    return rounds


@dataclass(frozen=True)
class _Sample:
    times: Sequence[Time]
    slowed: float


@dataclass(frozen=True)
class _Taken:
    values: JointRound
    others: float
    slowed: float


def _sample_at_full(call: Call, times: int, watch: SpeedWatch, deadline: float) -> _Sample:
    """The one of a few tries in which the ranks' cores were slowed least, if they were."""
    tried: list[_Sample] = []
    while True:
        watch.await_full()
        watch.begin()
        own = _sample(call, times)
        everywhere = _gather((own, watch.slowed()))
        tried.append(_Sample([each[0] for each in everywhere], max(each[1] for each in everywhere)))
        again = tried[-1].slowed > _SLOWED and len(tried) < _TRIES
        if not _agree(again and time.monotonic() < deadline):
            return min(tried, key=lambda sample: sample.slowed)


def _needs_more(rounds: JointRounds, taken: int, effort: Effort, deadline: float) -> bool:
    if taken < min(FEWEST, effort.most_rounds):
        return True
    enough = len(rounds.kept) >= effort.rounds or taken >= effort.most_rounds
    return not enough and time.monotonic() < deadline


def _times(call: Call, seconds: float) -> int:
    """How often a sample calls it, so that a sample takes so long."""
    call()
    return _agree(max(1, round(seconds / (_sample(call, 1).wall * 1e-6))))


def _sample(call: Call, times: int) -> Time:
    dist.barrier()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(times):
        call()
    spent, taken = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return Time(taken / times / 1e3, spent / times / 1e3)


def _agree(value: int) -> int:
    """What rank 0 says."""
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


def _gather(values: Any) -> list[Any]:  # noqa: ANN401
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, values)
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
        own: list[float] = _gather(os.times().user)
        return user_seconds() - sum(own)


def _drop_disturbed(taken: list[_Taken], baseline: str, effort: Effort) -> JointRounds:
    calm = [each for each in taken if each.others <= _CROWD and each.slowed <= _SLOWED]
    if len(calm) < FEWEST:
        calm = sorted(taken, key=lambda each: each.others + each.slowed)[:FEWEST]
    median = statistics.median(slowest(each.values, baseline) for each in calm)
    kept = [
        each
        for each in calm
        if abs(slowest(each.values, baseline) / median - 1) <= effort.disturbed
    ]
    others, slowed = _median([e.others for e in kept]), _median([e.slowed for e in kept])
    return JointRounds([e.values for e in kept], len(taken) - len(kept), others, slowed)


def _median(values: list[float]) -> float:
    return statistics.median(values) if values else 0.0
