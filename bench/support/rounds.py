"""Interleaved measurements: each round measures every arm, and only undisturbed rounds count."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from support.core_speed import CoreSpeed
from support.proc_stat import read_core_times

Call: TypeAlias = Callable[[], object]


class Spread(NamedTuple):
    """Median and quartiles of some measurements."""

    low: float
    median: float
    high: float


class Time(NamedTuple):
    """What one call takes, in µs: by the clock, and of all cores together."""

    wall: float
    cpu: float


Round: TypeAlias = Mapping[str, Time]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int = 15
    most_rounds: int = 60
    """A machine that is never quiet ends it too: then fewer are kept, and the report says so."""
    samples: int = 11
    """Per arm and round; their median is the round's value, so a lost time slice is no matter."""
    sample_seconds: float = 0.6e-3
    """As short as the clock allows: most samples then lie within one time slice."""
    disturbed: float = 0.05
    """A round whose baseline is off the baselines' median by more is dropped."""
    patience: float = 2
    """Seconds that a round with arms on all cores waits for other processes to leave them."""
    speed_patience: float = 180
    """Seconds that all rounds together wait for the arms' cores to run at their own speed."""


QUICK = Effort(rounds=3, most_rounds=3, samples=3, patience=0, speed_patience=0)
FEWEST = 5  # rounds that are kept whatever happened: those that others disturbed least


@dataclass(frozen=True)
class Rounds:
    """The undisturbed rounds of some arms."""

    kept: list[Round]
    dropped: int
    others: float = 0
    """Cores that other processes used while the kept rounds ran, at the median."""
    slowed: int = 0
    """Of the kept ones: those on cores that were slowed for longer than there was patience."""

    def spread(self, quantity: Callable[[Round], float]) -> Spread:
        """Of what is computed from one round's values, so that arms are compared in pairs."""
        return spread_of([quantity(values) for values in self.kept])

    def wall(self, arm: str) -> Spread:
        """An arm's time by the clock."""
        return self.spread(lambda values: values[arm].wall)

    def cpu(self, arm: str) -> Spread:
        """An arm's time of all cores."""
        return self.spread(lambda values: values[arm].cpu)

    def ratio(self, arm: str, to: str) -> Spread:
        """One arm's time by the clock over another's."""
        return self.spread(lambda values: values[arm].wall / values[to].wall)

    def __str__(self) -> str:
        crowd = f"; others used {self.others:.2f} cores meanwhile" if self.others > 0.1 else ""
        slow = f" ({self.slowed} on slowed cores)" if self.slowed else ""
        return f"{len(self.kept)} rounds kept{slow}, {self.dropped} disturbed and dropped{crowd}"


@dataclass
class _Arm:
    call: Call
    settle: float
    batch: int = field(init=False)

    def __post_init__(self) -> None:
        self.batch = 1

    def calibrate(self, seconds: float) -> None:
        for _ in range(3):
            self.call()
        once = min(self._sample().wall for _ in range(5)) * 1e-6
        self.batch = max(1, round(seconds / once))

    def measure(self, samples: int, speed: CoreSpeed) -> Time:
        if self.settle > 0:
            time.sleep(self.settle)
        self._sample()
        taken = [self._sample_at_full(speed) for _ in range(samples)]
        return Time(*(statistics.median(values) for values in zip(*taken, strict=True)))

    def _sample_at_full(self, speed: CoreSpeed) -> Time:
        """Taken again where cores were slowed meanwhile."""
        while True:
            speed.await_full()
            self.call()
            sample = self._sample()
            if speed.is_full() or not speed.in_time():
                return sample

    def _sample(self) -> Time:
        call, batch = self.call, self.batch
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(batch):
            call()
        spent, taken = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
        return Time(taken / batch / 1e3, spent / batch / 1e3)


@dataclass(frozen=True)
class _Taken:
    values: Round
    others: float
    slowed: bool


def measure_rounds(
    arms: Mapping[str, Call],
    effort: Effort,
    *,
    baseline: str | None = None,
    cores: int = 1,
    settle: float = 0,
) -> Rounds:
    """Measures every arm in each round, each sample while its cores run at their own speed.

    `baseline` (by default the first arm) tells whether a round was disturbed. Where some arm uses
    several `cores`, a round also counts as disturbed when other processes used a tenth of one.
    `settle` seconds before each arm let the threads of the one before go to sleep.
    """
    speed = CoreSpeed(effort.speed_patience, all_cores=cores > 1)
    made = {name: _Arm(call, settle) for name, call in arms.items()}
    for arm in made.values():
        arm.calibrate(effort.sample_seconds)
    taken: list[_Taken] = []
    rounds = Rounds([], 0)
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        while len(rounds.kept) < effort.rounds and len(taken) < effort.most_rounds:
            if len(_at_full_speed(taken)) >= FEWEST and not speed.in_time():
                break  # there will be no more of those, and only those count
            if cores > 1:
                await_quiet(effort.patience)
            others = _Others()
            order = list(made) if len(taken) % 2 == 0 else list(reversed(made))
            values = {name: made[name].measure(effort.samples, speed) for name in order}
            values = {name: values[name] for name in made}
            taken.append(_Taken(values, others.cores(), slowed=not speed.in_time()))
            rounds = _drop_disturbed(taken, baseline or next(iter(made)), effort, cores)
    finally:
        if gc_was_on:
            gc.enable()
    return rounds


class _Others:
    """How many cores other processes use, from now on until asked."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._busy = read_core_times().busy - time.process_time()

    def cores(self) -> float:
        busy = read_core_times().busy - time.process_time() - self._busy
        return max(0.0, busy / (time.perf_counter() - self._start))


def await_quiet(patience: float) -> None:
    """Until other processes leave the cores alone, `patience` seconds at most."""
    end = time.perf_counter() + patience
    while time.perf_counter() < end:
        others = _Others()
        time.sleep(0.1)
        if others.cores() < _CROWD:
            return


_CROWD = 0.1


def spread_of(samples: list[float]) -> Spread:
    """Median and quartiles, linear between the two nearest ranks."""
    if not samples:
        return Spread(float("nan"), float("nan"), float("nan"))
    if len(samples) == 1:
        return exactly(samples[0])
    return Spread(*statistics.quantiles(samples, n=4, method="inclusive"))


def exactly(value: float) -> Spread:
    """A value that does not vary."""
    return Spread(value, value, value)


def _drop_disturbed(taken: list[_Taken], baseline: str, effort: Effort, cores: int) -> Rounds:
    counted = _at_full_speed(taken) if len(_at_full_speed(taken)) >= FEWEST else taken
    calm = [each for each in counted if cores == 1 or each.others <= _CROWD]
    if len(calm) < FEWEST:
        calm = sorted(counted, key=lambda each: each.others)[:FEWEST]
    times = [each.values[baseline].wall for each in calm]
    median = statistics.median(times)
    steady = [abs(time / median - 1) <= effort.disturbed for time in times]
    kept = [each for each, well in zip(calm, steady, strict=True) if well]
    others = statistics.median(each.others for each in kept) if kept and cores > 1 else 0.0
    slowed = sum(each.slowed for each in kept)
    return Rounds([each.values for each in kept], len(taken) - len(kept), others, slowed)


def _at_full_speed(taken: list[_Taken]) -> list[_Taken]:
    return [each for each in taken if not each.slowed]
