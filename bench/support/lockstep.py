"""Rounds that several ranks measure together: the same arm at the same time on each."""

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

import torch.distributed as dist
from support.rounds import Call, Effort, Spread, Time, spread_of
from support.samples import CROWD, Sample, Sampler, agree, calmest

JointRound: TypeAlias = Mapping[str, Sequence[Time]]
"""What each arm took on each rank."""


def slowest(values: JointRound, arm: str) -> float:
    """An arm's time by the clock: that of the rank that took longest."""
    return max(time.wall for time in values[arm])


@dataclass(frozen=True)
class JointRounds:
    """The undisturbed samples of some arms: a round is the first, the second, … of each."""

    kept: list[JointRound]
    dropped: int
    """Samples that did not count."""
    others: float
    """Cores that other processes used during the kept ones, at the median."""
    slowed: float = 0
    """For which share of the kept ones' time a rank's core was slowed, on average."""

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
        crowd = f"; others used {self.others:.2f} cores meanwhile" if self.others > CROWD else ""
        slow = f"; {self.slowed:.0%} of the time on slowed cores" if self.slowed > 0.01 else ""
        dropped = f"{self.dropped} disturbed samples dropped"
        return f"{len(self.kept)} rounds kept, {dropped}{crowd}{slow}"

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
    arms: Mapping[str, Call], effort: Effort, sampler: Sampler, *, seconds: float
) -> JointRounds:
    """Measures the arms in turn; to be called on all ranks, with the same arms.

    Rank 0 decides how often an arm is called and when it is enough: at the latest after so many
    `seconds`, if there is a handful of samples by then.
    """
    samples = {
        name: partial(_sample, call, _times(call, effort.sample_seconds))
        for name, call in arms.items()
    }
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        return join(sampler.collect(samples, effort.rounds, seconds))
    finally:
        if gc_was_on:
            gc.enable()


def join(taken: Mapping[str, Sequence[Sample[Time]]]) -> JointRounds:
    """Rounds of those samples that count."""
    kept = {name: calmest(samples) for name, samples in taken.items()}
    rounds = [dict(zip(kept, each, strict=True)) for each in zip(*kept.values(), strict=False)]
    samples = [sample for each in rounds for sample in each.values()]
    return JointRounds(
        kept=[{name: sample.everywhere for name, sample in each.items()} for each in rounds],
        dropped=sum(map(len, taken.values())) - len(samples),
        others=statistics.median(sample.others for sample in samples),
        slowed=statistics.mean(sample.slowed for sample in samples),
    )


def _times(call: Call, seconds: float) -> int:
    """How often a sample calls it, so that a sample takes so long."""
    call()
    return agree(max(1, round(seconds / (_sample(call, 1).wall * 1e-6))))


def _sample(call: Call, times: int) -> Time:
    dist.barrier()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(times):
        call()
    spent, taken = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return Time(taken / times / 1e3, spent / times / 1e3)
