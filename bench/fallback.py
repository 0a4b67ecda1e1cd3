"""A batch that is not split runs as Inductor compiles it: what that costs beside torch.compile.

Small models of the zoo, where a microsecond counts most; both arms with the same batch marks and
the same settings of Inductor. Each pair is measured together, with one thread for kernels.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from support.marked import compile_marked, rung_of
from support.report import Budget, Report, Row
from support.rounds import QUICK, Call, Effort, Rounds, measure_rounds

import dynaflow

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "models"))
from zoo import ZOO, Entry

MODELS = ("llama", "bert", "vit", "dit", "cnn_groupnorm")
BATCH, LENGTH = 8, 16
OURS, THEIRS = "DynaFlow, whole batch", "torch.compile"


def report_model(report: Report, entry: Entry, effort: Effort, engine: str) -> None:
    model = entry.make()
    args, kwargs = entry.example(BATCH, LENGTH)
    ours = dynaflow.compile(
        model, dynaflow.Sequential(), batch_dims=entry.batch_dims or None, engine=engine
    )
    ours(*args, **kwargs)
    assert ours._graphs[-1].model is not None, "captured for a schedule, then not split"
    theirs: Any = model
    if engine == "inductor":
        theirs = compile_marked(model, args, kwargs, entry.batch_dims, rung_of(ours))
    check_same(ours(*args, **kwargs), theirs(*args, **kwargs), engine)
    arms: dict[str, Call] = {
        THEIRS: lambda: theirs(*args, **kwargs),
        OURS: lambda: ours(*args, **kwargs),
    }
    rounds = measure_rounds(arms, effort)
    for name in arms:
        report.add(Row(f"{entry.name}: {name}", rounds.wall(name), cpu=rounds.cpu(name)))
    added = rounds.spread(lambda values: values[OURS].wall - values[THEIRS].wall)
    ratio = rounds.ratio(OURS, THEIRS)
    budget = budget_of(rounds) if engine == "inductor" else None
    report.add(Row(f"{entry.name}: added", added, ratio=ratio, budget=budget))
    report.add_rounds(f"{entry.name} ({rung_of(ours).batch} batch)", rounds)


def budget_of(rounds: Rounds) -> Budget:
    """Either the difference or the ratio is small enough."""
    added = rounds.spread(lambda values: values[OURS].wall - values[THEIRS].wall)
    ratio = rounds.ratio(OURS, THEIRS)
    return Budget("<= max(1.02x, +8 µs)", ratio.median <= 1.02 or added.median <= 8)


def check_same(ours: Any, theirs: Any, engine: str) -> None:  # noqa: ANN401
    """The same graph through the same compiler gives the same numbers."""
    flat = [torch.utils._pytree.tree_leaves(_plain(value)) for value in (ours, theirs)]
    for a, b in zip(*flat, strict=True):
        if isinstance(a, torch.Tensor):
            error = float((a - b).abs().max() / b.abs().max())
            assert error <= 1e-5, f"{engine}: differs by {error}"


def _plain(value: Any) -> Any:  # noqa: ANN401
    return dict(value) if isinstance(value, dict) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, one model, no Inductor")
    parser.add_argument("--threads", type=int, default=1, help="of kernels")
    parser.add_argument("--models", nargs="*", default=MODELS, help="of tests/models/zoo.py")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    effort, engine = (QUICK, "aten") if options.quick else (Effort(), "inductor")
    names = options.models[:1] if options.quick else options.models
    entries = {entry.name: entry for entry in ZOO}
    title = f"whole batch of {BATCH} against torch.compile, {options.threads} thread(s)"
    report = Report("fallback", title)
    for name in names:
        with torch.no_grad(), entries[name].context():
            report_model(report, entries[name], effort, engine)
    report.finish()


if __name__ == "__main__":
    main()
