"""A batch that is not split runs as Inductor compiles it: what that costs beside torch.compile.

Small models of the zoo, where a microsecond counts most; both arms with the batch and sequences
free to vary and the same settings of Inductor. Where a process happens to put weights and code
decides more than what we add, so each model is measured in several processes, each pair in one of
them. Then chains of additions, whose calls are nearly all overhead.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from support.marked import compile_marked
from support.report import Budget, Report, Row
from support.rounds import QUICK, Call, Effort, Rounds, Spread, measure_rounds, spread_of
from support.small_models import Chain
from torch import nn

import dynaflow

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "models"))
from zoo import ZOO

MODELS = ("llama", "bert", "vit", "dit", "cnn_groupnorm")
BATCH, LENGTH = 8, 16
OURS, THEIRS = "DynaFlow, whole batch", "torch.compile"
PROCESSES = 7


def measure(
    model: nn.Module,
    example: tuple[tuple[Any, ...], dict[str, Any]],
    effort: Effort,
    batch_dims: dict[str, int | None],
    *,
    ours_first: bool,
) -> Rounds:
    args, kwargs = example
    ours = dynaflow.compile(model, dynaflow.Sequential(), batch_dims=batch_dims or None)
    if ours_first:
        ours(*args, **kwargs)
    theirs = compile_marked(model, args, kwargs, batch_dims)
    check_same(ours(*args, **kwargs), theirs(*args, **kwargs))
    assert ours._graphs[-1].model is not None, "captured for a schedule, then not split"
    arms: dict[str, Call] = {
        THEIRS: lambda: theirs(*args, **kwargs),
        OURS: lambda: ours(*args, **kwargs),
    }
    return measure_rounds(arms, effort)


def check_same(ours: Any, theirs: Any) -> None:  # noqa: ANN401
    """The same graph through the same compiler gives the same numbers."""
    flat = [torch.utils._pytree.tree_leaves(_plain(value)) for value in (ours, theirs)]
    for a, b in zip(*flat, strict=True):
        if isinstance(a, torch.Tensor):
            error = float((a - b).abs().max() / b.abs().max())
            assert error <= 1e-5, f"differs by {error}"


def _plain(value: Any) -> Any:  # noqa: ANN401
    return dict(value) if isinstance(value, dict) else value


# In one process of its own: the medians of its rounds.


def measure_here(name: str, effort: Effort, *, ours_first: bool) -> dict[str, float]:
    entry = next(entry for entry in ZOO if entry.name == name)
    model = entry.make()
    with torch.no_grad(), entry.context():
        example = entry.example(BATCH, LENGTH)
        rounds = measure(model, example, effort, dict(entry.batch_dims), ours_first=ours_first)
    return {THEIRS: rounds.wall(THEIRS).median, OURS: rounds.wall(OURS).median}


def measure_apart(name: str, threads: int, index: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--threads", str(threads), "--here", name]
    command += ["--ours-first"] if index % 2 else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def report_model(report: Report, name: str, measured: list[dict[str, float]]) -> None:
    for arm in (THEIRS, OURS):
        report.add(Row(f"{name}: {arm}", spread_of([each[arm] for each in measured])))
    added = spread_of([each[OURS] - each[THEIRS] for each in measured])
    ratio = spread_of([each[OURS] / each[THEIRS] for each in measured])
    report.add(Row(f"{name}: added", added, ratio=ratio, budget=budget_of(added, ratio)))


def budget_of(added: Spread, ratio: Spread) -> Budget:
    """Either the difference or the ratio is small enough."""
    return Budget("<= max(1.02x, +8 µs)", ratio.median <= 1.02 or added.median <= 8)


def report_chain(report: Report, effort: Effort, arguments: int) -> None:
    with torch.no_grad():
        model = Chain(arguments, arguments)
        rounds = measure(model, ((Chain.example(),), {}), effort, {}, ours_first=True)
    added = rounds.spread(lambda values: values[OURS].wall - values[THEIRS].wall)
    name = f"chain of {arguments + 1} tensor arguments"
    ratio = rounds.ratio(OURS, THEIRS)
    report.add(Row(f"{name}: {THEIRS}", rounds.wall(THEIRS)))
    report.add(Row(f"{name}: added", added, ratio=ratio, budget=budget_of(added, ratio)))
    report.add_rounds(name, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, one process, one model")
    parser.add_argument("--threads", type=int, default=1, help="of kernels")
    parser.add_argument("--models", nargs="*", default=MODELS, help="of tests/models/zoo.py")
    parser.add_argument("--here", help="measure this model in this process, for the others")
    parser.add_argument("--ours-first", action="store_true", help="which arm is compiled first")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    effort = QUICK if options.quick else Effort()
    if options.here:
        print(json.dumps(measure_here(options.here, effort, ours_first=options.ours_first)))
        return
    title = f"whole batch of {BATCH} against torch.compile, {options.threads} thread(s)"
    report = Report("fallback", title)
    for name in options.models[:1] if options.quick else options.models:
        count = 1 if options.quick else PROCESSES
        taken = [measure_apart(name, options.threads, i) for i in range(count)]
        measured = [each for each in taken if not any(map(math.isnan, each.values()))]
        report_model(report, name, measured)
        seconds = statistics.median(each[THEIRS] for each in measured) / 1e6
        lost = f", {count - len(measured)} without a quiet round" if len(measured) < count else ""
        report.note(f"{name}: {count} processes{lost}, {seconds * 1e3:.1f} ms per call")
    for arguments in (1,) if options.quick else (1, 50):
        report_chain(report, effort, arguments)
    report.finish()


if __name__ == "__main__":
    main()
