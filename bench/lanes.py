"""Where lanes pay on two cores without a network: ops that do not scale with threads.

DynaFlow with two lanes of one core each, beside eager, Inductor and ONNX Runtime with two threads
for each op, and ONNX Runtime with ops side by side.
"""

import argparse
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from support.entry import compile_alone
from support.lane_models import Decode, Expert, Experts, Heads, SmallOps, Tower, TwoTowers
from support.onnx_arm import OnnxModel
from support.report import Budget, Report, Row
from support.rounds import QUICK, Call, Effort, Rounds, measure_rounds
from support.schedules import InTurn
from torch import Tensor, nn

import dynaflow
from dynaflow import SplitModule

Scheduler: TypeAlias = dynaflow.OpScheduler | dynaflow.Branches

THREADS = 2
OURS = "DynaFlow, 2 lanes"
BY_COLUMNS = "DynaFlow, 2 lanes, weights by columns"
SETTLE = 5e-3  # idle threads of OpenMP and ONNX Runtime spin for a while


@dataclass(frozen=True)
class Case:
    """A model, a batch, and how it is cut and scheduled."""

    name: str
    model: Callable[[], Any]
    batch: int
    scheduler: Callable[[], Scheduler]
    cut: Sequence[SplitModule] = ()


def branches() -> Scheduler:
    return dynaflow.Branches(lanes=2)


def halves() -> Scheduler:
    return InTurn(parts=2, lanes=2)


LINEAR = (SplitModule(nn.Linear),)
TOWER = (SplitModule(Tower),)
EXPERT = (SplitModule(Expert),)

CASES = [
    Case("decode, hidden 512, batch 1", lambda: Decode(512), 1, branches, LINEAR),
    Case("decode, hidden 512, batch 8", lambda: Decode(512), 8, branches, LINEAR),
    Case("decode, hidden 1024, batch 4", lambda: Decode(1024), 4, branches, LINEAR),
    Case("GEMV, 8 × 256²", lambda: Heads(256, 8), 1, branches, LINEAR),
    Case("GEMV, 64 × 256²", lambda: Heads(256, 64), 1, branches, LINEAR),
    Case("GEMV, 8 × 1024²", lambda: Heads(1024, 8), 1, branches, LINEAR),
    Case("small ops", SmallOps, 16, halves),
    Case("two towers of 4 layers", lambda: TwoTowers(256, 4), 16, branches, TOWER),
    Case("two towers of 16 layers", lambda: TwoTowers(256, 16), 16, branches, TOWER),
    Case("8 experts", lambda: Experts(256, 8), 4, branches, EXPERT),
]


def flat(result: Any) -> list[Tensor]:  # noqa: ANN401
    return list(result) if isinstance(result, tuple | list) else [result]


def check_equal(name: str, result: Any, expected: Any) -> None:  # noqa: ANN401
    for a, b in zip(flat(result), flat(expected), strict=True):
        error = float((a - b).abs().max() / b.abs().max())
        assert error <= 1e-5, f"{name} differs from eager by {error:.1e}"


def make_arms(case: Case, *, rivals: bool) -> dict[str, Call]:
    """Every arm, each checked against eager."""
    model = case.model().eval()
    example = model.example(case.batch)
    expected = model(*example)
    ours = dynaflow.compile(model, case.scheduler(), cut=case.cut, engine="aten")
    check_equal(OURS, ours(*example), expected)
    columns = dynaflow.compile(by_columns(model), case.scheduler(), cut=case.cut, engine="aten")
    check_equal(BY_COLUMNS, columns(*example), expected)
    arms: dict[str, Call] = {
        "eager": lambda: model(*example),
        OURS: lambda: ours(*example),
        BY_COLUMNS: lambda: columns(*example),
    }
    if not rivals:
        return arms
    inductor = compile_alone(model)
    check_equal("Inductor", inductor(*example), expected)
    onnx = OnnxModel(model, example)
    within, across = onnx.session("within ops", THREADS), onnx.session("across ops", THREADS)
    for name, session in (("within ops", within), ("across ops", across)):
        session()
        check_equal(f"ONNX Runtime, {name}", session.outputs(), expected)
    return arms | {
        "Inductor": lambda: inductor(*example),
        "ONNX Runtime": within,
        "ONNX Runtime, ops side by side": across,
    }


def by_columns(model: nn.Module) -> nn.Module:
    """The same with linear weights stored by columns, as small products read them."""
    copied = copy.deepcopy(model)
    for linear in copied.modules():
        if isinstance(linear, nn.Linear):
            linear.weight.data = linear.weight.data.t().contiguous().t()
    return copied


def report_case(report: Report, case: Case, effort: Effort, *, rivals: bool) -> None:
    arms = make_arms(case, rivals=rivals)
    rounds = measure_rounds(arms, effort, cores=THREADS, settle=SETTLE)
    for name in arms:
        verdict = ahead(rounds, list(arms)) if name == OURS else None
        ratio = rounds.ratio(name, OURS)
        label = f"{case.name}: {name}"
        report.add(Row(label, rounds.wall(name), "µs", rounds.cpu(name), ratio, verdict))
    report.add_rounds(case.name, rounds)


def ahead(rounds: Rounds, arms: list[str]) -> Budget:
    """Nobody else is faster."""
    rivals = [name for name in arms if name != BY_COLUMNS]
    faster = [name for name in rivals if rounds.ratio(name, OURS).median < 1]
    return Budget(f"behind {', '.join(faster)}" if faster else "ahead of all", not faster)


KERNELS = "kernels of a tower's layer, one thread"


def kernel_arms() -> dict[str, Call]:
    """What a layer of a tower comes to, by PyTorch's kernels, and a product with packed weights."""
    torch.manual_seed(0)
    x, weight, bias = torch.randn(16, 256), torch.randn(256, 256), torch.randn(256)
    columns, out, aten = weight.t().contiguous(), torch.empty(16, 256), torch.ops.aten
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, 16)
    packed_linear = torch.ops.mkldnn._linear_pointwise
    return {
        "product": lambda: torch.addmm(bias, x, weight.t(), out=out),
        "product, weights by columns": lambda: torch.addmm(bias, x, columns, out=out),
        "product, weights packed by oneDNN": lambda: packed_linear(x, packed, bias, "none", [], ""),
        "GELU": lambda: aten.gelu.out(x, out=out),
        "norm": lambda: aten.native_layer_norm(x, [256], bias, bias, 1e-5),
    }


def report_kernels(report: Report, effort: Effort) -> None:
    torch.set_num_threads(1)
    rounds = measure_rounds(kernel_arms(), effort, baseline="GELU")
    torch.set_num_threads(THREADS)
    for name in rounds.kept[0]:
        report.add(Row(f"{KERNELS}: {name}", rounds.wall(name), "µs", rounds.cpu(name)))
    report.add_rounds(KERNELS, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, eager and us only")
    parser.add_argument("--patience", type=float, default=Effort.patience, help="s per round")
    parser.add_argument("--cases", default="", help="only those whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    effort = QUICK if options.quick else Effort(patience=options.patience, speed_patience=20)
    report = Report("lanes", f"two lanes of one core each, beside {THREADS} threads for each op")
    with torch.no_grad():
        for case in CASES:
            if options.cases in case.name:
                report_case(report, case, effort, rivals=not options.quick)
        if options.cases in KERNELS:
            report_kernels(report, effort)
    report.finish()


if __name__ == "__main__":
    main()
