"""What a model costs on this machine, by rows: a few timed runs, and one answer for all ranks."""

import platform
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median_low
from typing import Any, TypeVar

import torch
from torch import distributed, nn
from torch.utils._pytree import tree_map_only

from dynaflow._C import Batch, CommOverlap, CostPoint, MeasuredCosts, Race, ScheduleContext, Split
from dynaflow.compiled import CompiledModule, compile  # noqa: A004
from dynaflow.request import batch
from dynaflow.scheduler import OpScheduler

_T = TypeVar("_T")

_RUNS = 5
_MOST_PARTS = 4
_MOST_ROUNDS, _SECONDS = 25, 60.0  # of the race; a few rounds, however long they take


def calibrate(
    model: nn.Module,
    *args: Any,  # noqa: ANN401
    rows: Sequence[int] | None = None,
    path: str | Path | None = None,
    **kwargs: Any,  # noqa: ANN401
) -> MeasuredCosts:
    """Times `model` on batches of several sizes, cut from these arguments; rank 0 speaks for all.

    `rows` are the sizes, of which the largest is the arguments' own; without, it and its fractions.
    With a `path`, what was measured is kept there and measured again only on another machine.

    >>> costs = dynaflow.calibrate(model, x, path="costs.json")
    >>> fast = dynaflow.compile(model, dynaflow.CommOverlap(costs))
    """
    known = _shared(_load(path))
    if known is not None:
        return known
    largest = next(arg.size(0) for arg in [*args, *kwargs.values()] if torch.is_tensor(arg))
    sizes = sorted({*(rows or _fractions(largest)), largest})
    probe = _Probe(compile(model, _ByFacts()))
    points, transfers = [], 1
    for size in sizes:
        part = tree_map_only(torch.Tensor, partial(_rows, largest, size), (args, kwargs))
        point, transfers = probe.measure(size, *part)
        points.append(point)
    alone = MeasuredCosts(machine=platform.node(), transfers=max(transfers, 1), points=points)
    shared = _shared(alone.after(probe.race(largest, args, kwargs)))
    assert shared is not None  # rank 0 has just measured
    if path is not None and _rank() == 0:
        Path(path).write_text(shared.to_json())
    return shared


class _ByFacts(OpScheduler):
    """So many micro-batches as the caller says; the whole batch, as it is without us, if none."""

    def split(self, batch: Batch) -> Split:
        parts = batch.facts["parts"]
        return batch.even(parts) if parts > 0 else batch.whole()

    def schedule(self, ctx: ScheduleContext) -> None:
        CommOverlap().schedule(ctx)


class _Probe:
    """A model that is run, and timed."""

    def __init__(self, model: CompiledModule) -> None:
        self._model = model

    def measure(
        self, rows: int, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[CostPoint, int]:
        """What some rows cost in one piece, at the median of some runs, and how many transfers."""
        whole, compute, network, busy, transfers = [], [], [], [], 0
        with torch.no_grad():
            for _ in range(_RUNS + 1):  # the first one compiles
                whole.append(self._run(0, args, kwargs))
                begin_cpu = time.process_time_ns()
                with batch(parts=1):
                    spans = self._model.timeline(*args, **kwargs).spans
                cpu = time.process_time_ns() - begin_cpu
                lanes = {"compute": 0, "network": 0}
                for _, lane, begin, end in spans:
                    lanes[lane] += end - begin
                compute.append(lanes["compute"])
                network.append(lanes["network"])
                busy.append(max(cpu - lanes["compute"], 0))
                transfers = sum(lane == "network" for _, lane, _, _ in spans)
        point = CostPoint(
            rows=rows,
            compute_ns=median_low(compute[1:]),
            network_ns=median_low(network[1:]),
            network_cpu_ns=median_low(busy[1:]),
            whole_ns=median_low(whole[1:]),
        )
        return point, transfers

    def race(self, rows: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Race:
        """The batch whole, and in 1, 2, ... parts, until one is surely fastest."""
        race = Race(min(_MOST_PARTS, rows) + 1)
        with torch.no_grad():
            for parts in race.left:
                self._run(parts, args, kwargs)  # compiles
            end = time.monotonic() + _SECONDS
            while _agreed(race.rounds < _RUNS or (_is_open(race) and time.monotonic() < end)):
                race.add(_agreed([self._run(parts, args, kwargs) for parts in race.left]))
        return race

    def _run(self, parts: int, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
        with batch(parts=parts):
            begin = time.perf_counter_ns()
            self._model(*args, **kwargs)
            return time.perf_counter_ns() - begin


def _is_open(race: Race) -> bool:
    return len(race.left) > 1 and race.rounds < _MOST_ROUNDS


def _fractions(largest: int) -> list[int]:
    halves = [largest >> shift for shift in range(2, largest.bit_length())]
    return [-(-largest // parts) for parts in (1, 2, 3, 4)] + halves


def _rows(largest: int, rows: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:rows] if tensor.dim() > 0 and tensor.size(0) == largest else tensor


def _load(path: str | Path | None) -> MeasuredCosts | None:
    if path is None or _rank() != 0 or not Path(path).exists():
        return None
    costs = MeasuredCosts.from_json(Path(path).read_text())
    return costs if costs.machine == platform.node() else None


def _rank() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def _agreed(value: _T) -> _T:
    """What rank 0 says."""
    if not distributed.is_initialized():
        return value
    said = [value]
    distributed.broadcast_object_list(said, src=0)
    return said[0]


def _shared(costs: MeasuredCosts | None) -> MeasuredCosts | None:
    """Rank 0's."""
    said = _agreed(None if costs is None else costs.to_json())
    return None if said is None else MeasuredCosts.from_json(said)
