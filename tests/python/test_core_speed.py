"""Benchmarks wait for cores that others slow down, and give up after a while."""

import os

import pytest
from support.core_speed import CoreSpeed


class Core:
    """A probe whose time the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """At full speed first."""
        self.slowdown = 1
        self.probed = 0
        monkeypatch.setattr(CoreSpeed, "_probe", staticmethod(self.probe))

    def probe(self) -> int:
        """In place of the loop."""
        self.probed += 1
        return 10_000 * self.slowdown


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    return Core(monkeypatch)


def test_a_core_at_half_its_speed_is_slowed(core: Core) -> None:
    speed = CoreSpeed(patience=1)
    assert speed.is_full()
    core.slowdown = 2
    assert not speed.is_full()


def test_full_speed_is_the_fastest_ever_seen(core: Core) -> None:
    core.slowdown = 2
    speed = CoreSpeed(patience=1)
    assert speed.is_full()
    core.slowdown = 1
    assert speed.is_full()
    core.slowdown = 2
    assert not speed.is_full()


def test_waiting_ends_when_patience_does(core: Core) -> None:
    speed = CoreSpeed(patience=0.01)
    core.slowdown = 2
    assert speed.in_time()
    speed.await_full()
    assert not speed.in_time()


def test_all_cores_are_probed_and_the_thread_may_use_them_after(core: Core) -> None:
    allowed = os.sched_getaffinity(0)
    speed = CoreSpeed(patience=1, all_cores=True)
    core.probed = 0
    assert speed.is_full()
    assert core.probed == 2 * len(allowed)
    assert os.sched_getaffinity(0) == allowed
