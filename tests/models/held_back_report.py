"""How the models held back from development fare: one line each, and what is wrong.

>>> python tests/models/held_back_report.py              # all, minutes
>>> python tests/models/held_back_report.py opt swin -v  # and why

`make models` runs it and its neighbours with the package on the path.

Each model runs through dynaflow.compile under Sequential in two micro-batches, cut by default, and
under a Python strategy of two lanes, cut at its attentions and MLPs, at two batch sizes (and two
sequence lengths), and is held against the model itself. `unknown` counts the calls that the table
does not know, `share` those and all that run merged because of one. The line to hold: a share of
5 % at most over all models, nothing wrong.
"""

import math
import sys
import time
from dataclasses import dataclass, field

import torch
from torch.utils._pytree import tree_leaves

import dynaflow
from confirm import shake
from dynaflow._capture.marks import named_tensors
from held_back import HELD_BACK
from small import two_lanes
from sweep import CUT, FP32, Trial, difference
from zoo import Entry, Example

SIZES = ((5, 7), (8, 9))
ALLOWED_SHARE = 0.05
NOT_KNOWN = "the table does not know"
HEADER = (
    f"{'model':16}{'calls':>6}{'split':>6}{'once':>6}{'merged':>7}{'drawn':>6}{'unknown':>8}"
    f"{'share':>7}{'ops':>5}{'runs':>5}{'copied':>8}{'error':>9}{'seconds':>8}  "
)


@dataclass
class Line:
    """What came of one model."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    because: int = 0
    """Calls that run merged because the table does not know one."""
    runs: int = 0
    copied: int = 0
    error: float = 0.0
    seconds: float = 0.0
    remarks: list[str] = field(default_factory=list)
    merged: str = ""

    @property
    def well(self) -> bool:
        """Whether it was scheduled every time, and right."""
        return not self.remarks and self.error <= FP32

    def __str__(self) -> str:
        get = self.counts.get
        share = self.because / get("calls", 1)
        return (
            f"{self.name:16}{get('calls', 0):6}{get('split', 0):6}{get('once', 0):6}"
            f"{get('merged', 0):7}{get('drawn', 0):6}{get('unknown', 0):8}{share:7.1%}"
            f"{get('ops', 0):5}{self.runs:5}{self.copied:8}{self.error:9.1e}{self.seconds:8.0f}  "
            + ("; ".join(self.remarks) or ("scheduled" if self.well else "WRONG"))
        )


class TwoLanes(dynaflow.OpScheduler):
    """Two uneven micro-batches, each on a lane of its own."""

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        """The first has a third of the rows."""
        small = max(batch.rows // 3, 1)
        return batch.by_sizes([small, batch.rows - small])

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        """Whatever is ready."""
        two_lanes(ctx)


def shaken(entry: Entry) -> Entry:
    """The same model on arguments whose rows differ: masks and positions too."""

    def example(batch: int, seq: int) -> Example:
        args, kwargs = entry.example(batch, seq)
        torch.manual_seed(2)
        for named in named_tensors(args, kwargs):
            shake(named.tensor)
        return args, kwargs

    return Entry(entry.name, entry.model, example, entry.batch_dims, entry.context, entry.mode)


def at_modules(trial: Trial) -> list[dynaflow.SplitModule]:
    """Rules for the model's attentions and MLPs, whatever their classes are called."""
    types = {type(module).__name__ for module in trial.model.modules()}
    return [dynaflow.SplitModule(t) for t in sorted(types) if t.endswith(CUT)]


def look(entry: Entry) -> Line:
    """Runs one model every way."""
    began = time.monotonic()
    line = Line(entry.name)
    trial = Trial(shaken(entry))
    expected = {size: trial.call(trial.model, *size) for size in SIZES}
    if any(
        not torch.isfinite(t).all() for t in tree_leaves(expected) if isinstance(t, torch.Tensor)
    ):
        line.remarks.append("the model itself gives no numbers")
    for scheduler, cut in ((dynaflow.Sequential(parts=2), []), (TwoLanes(), at_modules(trial))):
        torch._dynamo.reset()
        compiled = dynaflow.compile(trial.model, scheduler, cut=cut, engine="aten")
        for size, theirs in expected.items():
            try:
                ours = trial.call(compiled, *size)
            except Exception as error:  # the other models are of interest too
                line.remarks.append(f"{type(error).__name__}: {str(error)[:300]}")
                break
            line.runs += 1
            line.error = max(line.error, difference(ours, theirs))
        note(line, compiled)
    line.seconds = time.monotonic() - began
    return line


def note(line: Line, compiled: dynaflow.CompiledModule) -> None:
    """What the compiled model says of itself."""
    for graph in compiled._graphs:
        if graph.unscheduled_because is not None:
            line.remarks.append(f"unscheduled: {graph.unscheduled_because}")
        if graph.model is not None:
            line.counts = dict(graph.model.counts)
            line.merged = graph.model.merged
            line.because = line.merged.count(NOT_KNOWN)
            line.remarks += graph.model.warnings
            line.copied = max(line.copied, graph.model.stats["copied_bytes"])
    if len(compiled._graphs) > 1:
        line.remarks.append(f"captured {len(compiled._graphs)} times")


def main(arguments: list[str]) -> int:
    """Prints the report; 1 where the line does not hold."""
    names = [argument for argument in arguments if not argument.startswith("-")]
    print(HEADER, flush=True)
    lines = []
    for entry in HELD_BACK:
        if names and entry.name not in names:
            continue
        line = look(entry)
        lines.append(line)
        print(line, flush=True)
        if "-v" in arguments:
            print(line.merged)
    calls = sum(line.counts.get("calls", 0) for line in lines)
    because = sum(line.because for line in lines)
    share = because / max(calls, 1)
    wrong = [line.name for line in lines if not line.well or math.isnan(line.error)]
    print(f"{calls} calls of {len(lines)} models, {because} merged for being unknown: {share:.2%}")
    print(f"not well: {', '.join(wrong) or 'none'}")
    return int(bool(wrong) or share > ALLOWED_SHARE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
