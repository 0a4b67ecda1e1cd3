"""What the host does per run, on one thread: kernels so small that the machinery is what is left.

A decoder of four layers beside its rivals; then our fixed cost, cost per step and cost of new
sizes, each against its budget. The time is the clock's; CPU time beside it tells where the
clock was another process's.
"""

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from support.core_speed import CoreSpeed
from support.entry import EagerEntry, Entry, compile_alone
from support.report import Report, Row, at_most
from support.rounds import QUICK, Call, Effort, Round, Spread, measure_rounds, spread_of
from support.schedules import Alternating, InTurn
from support.small_models import Chain, Decoder
from torch import Tensor

import dynaflow

STEPS = 200


# The decoder and its rivals.


def decoder_arms(model: Decoder, x: Tensor, *, inductor: bool) -> dict[str, Callable[[], Tensor]]:
    ours = {
        f"DynaFlow, {lanes} lane{'s'[: lanes - 1]} × {parts}": dynaflow.compile(
            model, InTurn(parts, lanes), engine="aten"
        )
        for parts, lanes in ((1, 1), (2, 1), (2, 2))
    }
    arms: dict[str, Callable[[], Tensor]] = {"eager": lambda: model(x)}
    traced = compile_alone(model, backend="eager")
    arms['torch.compile(backend="eager")'] = lambda: traced(x)
    if inductor:
        whole = compile_alone(model)
        arms["Inductor, whole batch"] = lambda: whole(x)
        arms["Inductor, two halves, joined"] = lambda: torch.cat([whole(h) for h in x.chunk(2)])
    return arms | {name: _calling(compiled, x) for name, compiled in ours.items()}


def _calling(compiled: dynaflow.CompiledModule, x: Tensor) -> Callable[[], Tensor]:
    return lambda: compiled(x)


def check_equal(arms: dict[str, Callable[[], Tensor]]) -> float:
    """The largest difference from the first arm."""
    results = {name: call() for name, call in arms.items()}
    reference = next(iter(results.values()))
    errors = {name: _error(result, reference) for name, result in results.items()}
    wrong = {name: error for name, error in errors.items() if error > 1e-5}
    assert not wrong, f"differ from eager: {wrong}"
    return max(errors.values())


def _error(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max() / b.abs().max())


def report_decoder(report: Report, effort: Effort, *, inductor: bool) -> None:
    model, x = Decoder().eval(), Decoder.example()
    arms = decoder_arms(model, x, inductor=inductor)
    error = check_equal(arms)
    entry = Entry(model, InTurn(2), x)
    counts, steps = entry.model.counts, entry.model.stats["steps"]
    assert (counts["ops"], steps) == (17, 34), (counts, steps)
    rounds = measure_rounds(arms, effort, cores=2)
    for name in arms:
        ratio = rounds.ratio(name, "eager")
        below = at_most(ratio, 1, "x eager") if name.startswith("DynaFlow") else None
        report.add(Row(f"decoder: {name}", rounds.wall(name), "µs", rounds.cpu(name), ratio, below))
    report.add_rounds(f"decoder ({counts['calls']} calls in 17 ops × 2)", rounds)
    report.note(f"decoder: all arms equal, largest relative difference {error:.1e}")


# The fixed cost of a run: what is left of it without its calls.


@dataclass(frozen=True)
class Shape:
    """A chain by what its cost may depend on."""

    calls: int
    arguments: int
    results: int

    def terms(self) -> list[int]:
        """The input is a tensor argument too."""
        return [1, self.calls, self.arguments + 1, self.results]


SHAPES = [
    *(Shape(calls, 1, 1) for calls in (1, 10, 50, 100)),
    *(Shape(n, n, 1) for n in (10, 50, 100)),
    *(Shape(n, 1, 4) for n in (10, 50)),
    *(Shape(n, n, 4) for n in (10, 50)),
]
QUICK_SHAPES = [Shape(1, 1, 1), Shape(10, 1, 1), Shape(10, 10, 1), Shape(10, 1, 4)]


def _entering(entry: Entry) -> Call:
    callable_, arguments = entry.callable, entry.arguments
    return lambda: callable_(*arguments)


def fit(values: Round, shapes: list[Shape]) -> list[float]:
    """Fixed cost, and cost per call, argument and result, in µs."""
    times = [values[str(shape)].wall for shape in shapes]
    found: list[float] = np.linalg.lstsq([s.terms() for s in shapes], times, rcond=None)[0].tolist()
    return found


def report_fixed_cost(report: Report, effort: Effort, shapes: list[Shape]) -> None:
    x = Chain.example()
    entries = {str(s): Entry(Chain(s.calls, s.arguments, s.results), InTurn(1), x) for s in shapes}
    assert all(entry.model.counts["ops"] == 1 for entry in entries.values())
    rounds = measure_rounds({name: _entering(entry) for name, entry in entries.items()}, effort)
    fits = [fit(values, shapes) for values in rounds.kept]
    fixed, call, argument, result = (spread_of(list(column)) for column in zip(*fits, strict=True))
    report.add(Row("fixed: per run", fixed, budget=at_most(fixed, 15, "µs")))
    report.add(Row("fixed: per tensor argument", argument, budget=at_most(argument, 0.15, "µs")))
    report.add(Row("fixed: per returned tensor", result, budget=at_most(result, 2, "µs")))
    report.add(Row("fixed: per call of the body (an addition)", call))
    report.add_rounds(f"fixed ({len(shapes)} chains, least squares per round)", rounds)


def report_dynamo(report: Report, effort: Effort, arguments: int) -> None:
    """What Dynamo adds before it calls us, beside what it adds before it calls eager code."""
    x = Chain.example()
    ours = Entry(Chain(arguments, arguments), InTurn(1), x)
    eager = EagerEntry(Chain(arguments, arguments), x)
    inner = eager.callable
    assert inner is not None
    arms: dict[str, Call] = {
        "ours": lambda: ours.compiled(x),
        "ours inside": _entering(ours),
        "eager": lambda: eager.compiled(x),
        "eager inside": lambda: inner(*eager.arguments),
    }
    rounds = measure_rounds(arms, effort, baseline="ours inside")
    for arm, name in (("ours", "DynaFlow"), ("eager", 'backend="eager"')):
        added = rounds.spread(lambda v, arm=arm: v[arm].wall - v[f"{arm} inside"].wall)  # type: ignore[misc]
        report.add(Row(f"Dynamo adds, {arguments + 1} tensor arguments: {name}", added))
    report.add_rounds(f"Dynamo, {arguments + 1} arguments", rounds)


# The cost per step: the same calls, each a step of its own, less all of them in one step.


def report_steps(report: Report, effort: Effort) -> None:
    x = Chain.example()
    entries = {
        "one step": Entry(Chain(STEPS), InTurn(1), x),
        "one lane": Entry(Chain(STEPS, cut=True), InTurn(1), x),
        "alternating lanes": Entry(Chain(STEPS, cut=True), Alternating(), x),
    }
    assert [e.model.stats["steps"] for e in entries.values()] == [1, STEPS, STEPS]
    assert entries["alternating lanes"].model.stats["waits"] == STEPS - 1
    arms = {name: _entering(entry) for name, entry in entries.items()}
    rounds = measure_rounds(arms, effort, cores=2)
    for name, limit in (("one lane", 0.3), ("alternating lanes", 1.0)):
        cost = rounds.spread(lambda v, name=name: _per_step(v, name))  # type: ignore[misc]
        report.add(Row(f"per step: {name}", cost, budget=at_most(cost, limit, "µs")))
    report.add_rounds(f"per step ({STEPS} additions)", rounds)


def _per_step(values: Round, arm: str) -> float:
    return (values[arm].wall - values["one step"].wall) / (STEPS - 1)


# New sizes for a known plan. A run whose input does not fit the sizes it is said to have is refused
# when the plan is bound to them, and before anything runs: so what the first refusal takes beyond
# the second one is the rebinding, and nothing else.


class Resizable:
    """A captured model whose runs can be said to have any sizes."""

    def __init__(self, entry: Entry, example: Tensor) -> None:
        """`example` has sizes that are all different, and larger than any asked for."""
        self._entry = entry
        self._arguments = entry.arguments_for(example)
        dims = {size: d for d, size in enumerate(example.shape)}
        self._sizes = {i: dims[v] for i, v in enumerate(self._arguments) if isinstance(v, int)}

    def refuse(self, sizes: tuple[int, ...]) -> float:
        """µs of CPU time of a run that is refused for these sizes."""
        arguments = list(self._arguments)
        for position, dim in self._sizes.items():
            arguments[position] = sizes[dim]
        start = time.thread_time_ns()
        with contextlib.suppress(dynaflow.Error):
            self._entry.callable(*arguments)
        return (time.thread_time_ns() - start) / 1e3

    def rebind(self, sizes: tuple[int, ...]) -> float:
        """µs that binding to these new sizes takes."""
        before = self._entry.model.compile_stats
        first = self.refuse(sizes)
        after = self._entry.model.compile_stats
        assert after["bindings"] == before["bindings"] + 1, f"{sizes} are not new"
        assert after["recordings"] == before["recordings"]
        return first - statistics.median(self.refuse(sizes) for _ in range(5))


def rebind_all(resizable: Resizable, sizes: list[tuple[int, int]], effort: Effort) -> list[float]:
    """Each of these sizes, less those for which the core was slowed."""
    speed, taken = CoreSpeed(effort.speed_patience), []
    for new in sizes:
        speed.await_full()
        rebound = resizable.rebind(new)
        if speed.is_full() or not speed.in_time():
            taken.append(rebound)
    return taken


def report_rebinding(report: Report, effort: Effort, most_sizes: int | None) -> None:
    decoder, chain = Decoder().eval(), Chain(STEPS)
    subjects = {
        f"{name} × {parts}": (Entry(model, InTurn(parts), model.example()), example)
        for parts in (1, 2)
        for name, model, example in (
            ("decoder", decoder, Decoder.example(61, 59)),
            (f"{STEPS} calls in one op", chain, Chain.example(127)),
            (f"{STEPS} ops", Chain(STEPS, cut=True), Chain.example(127)),
        )
    }
    for name, (entry, example) in subjects.items():
        resizable = Resizable(entry, example)
        sizes = [(batch, length) for batch in range(6, 48, 6) for length in (2, 3, 5, 6, 7, 9)]
        if example.dim() == 2:
            sizes = [(batch, 0) for batch in range(10, 90, 2)]
        taken = spread_of(rebind_all(resizable, sizes[:most_sizes], effort))
        calls = entry.model.counts["calls"] * int(name[-1])
        per_call = Spread(*(value / calls for value in taken))
        report.add(Row(f"new sizes: {name}", taken))
        budget = at_most(per_call, 1.5, "µs")
        report.add(Row(f"new sizes: {name}, per call of a run", per_call, budget=budget))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, no Inductor")
    parser.add_argument("--threads", type=int, default=1, help="of eager and compiled kernels")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    effort = QUICK if options.quick else Effort()
    report = Report("host", f"what the host costs, {options.threads} thread(s) for kernels")
    with torch.no_grad():
        report_decoder(report, effort, inductor=not options.quick)
        report_fixed_cost(report, effort, QUICK_SHAPES if options.quick else SHAPES)
        for arguments in (1,) if options.quick else (1, 50):
            report_dynamo(report, effort, arguments)
        report_steps(report, effort)
        report_rebinding(report, effort, 5 if options.quick else None)
    report.finish()


if __name__ == "__main__":
    main()
