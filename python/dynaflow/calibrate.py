"""What a model costs on this machine, by rows: a few timed runs, and one answer for all ranks."""

import platform
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn
from torch.utils._pytree import tree_map_only

from dynaflow._C import Batch, CommOverlap, CostPoint, MeasuredCosts, ScheduleContext, Split
from dynaflow.compiled import CompiledModule, compile  # noqa: A004
from dynaflow.request import batch
from dynaflow.scheduler import OpScheduler

_RUNS = 5
_MOST_PARTS = 4


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
    costs = probe.compare(alone, largest, args, kwargs)
    shared = _shared(costs)
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
        """What some rows cost in one piece, and how many transfers it has.

        The quickest of several runs: what others do on the machine only makes them slower.
        """
        whole, compute, network, cpu, transfers = [], [], [], [], 0
        with torch.no_grad():
            for _ in range(_RUNS + 1):  # the first one compiles
                whole.append(self._run(0, args, kwargs))
                begin_cpu = time.process_time_ns()
                with batch(parts=1):
                    spans = self._model.timeline(*args, **kwargs).spans
                cpu.append(time.process_time_ns() - begin_cpu)
                lanes = {"compute": 0, "network": 0}
                for _, lane, begin, end in spans:
                    lanes[lane] += end - begin
                compute.append(lanes["compute"])
                network.append(lanes["network"])
                transfers = sum(lane == "network" for _, lane, _, _ in spans)
        point = CostPoint(
            rows=rows,
            compute_ns=min(compute[1:]),
            network_ns=min(network[1:]),
            network_cpu_ns=max(min(cpu[1:]) - min(compute[1:]), 0),
            whole_ns=min(whole[1:]),
        )
        return point, transfers

    def compare(
        self, costs: MeasuredCosts, rows: int, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> MeasuredCosts:
        """The same costs with what scheduled runs lose; by the quickest ones again."""
        times: dict[int, list[int]] = {parts: [] for parts in range(1, min(_MOST_PARTS, rows) + 1)}
        with torch.no_grad():
            for _ in range(_RUNS + 1):
                for parts, taken in times.items():
                    taken.append(self._run(parts, args, kwargs))
        return MeasuredCosts(
            machine=costs.machine,
            transfers=costs.transfers,
            points=costs.points,
            slowdowns=[
                min(taken[1:]) / costs.overlapped_ns(rows, parts) for parts, taken in times.items()
            ],
        )

    def _run(self, parts: int, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
        with batch(parts=parts):
            begin = time.perf_counter_ns()
            self._model(*args, **kwargs)
            return time.perf_counter_ns() - begin


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


def _shared(costs: MeasuredCosts | None) -> MeasuredCosts | None:
    """What rank 0 says."""
    if not distributed.is_initialized():
        return costs
    said = [None if costs is None else costs.to_json()]
    distributed.broadcast_object_list(said, src=0)
    return None if said[0] is None else MeasuredCosts.from_json(said[0])
