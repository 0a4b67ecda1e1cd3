"""DynaFlow: an unchanged PyTorch model under a schedule that is a small program of its own.

>>> import torch, dynaflow
>>> fast = torch.compile(model, backend="dynaflow", options={"scheduler": dynaflow.Leapfrog()})
"""

from dynaflow._version import check_torch

check_torch()

from dynaflow._C import (  # noqa: E402  (after the check: another torch cannot load it)
    Batch,
    Branches,
    CommOverlap,
    CostPoint,
    Error,
    Explanation,
    Finding,
    IssuedStep,
    Lane,
    LaneTimes,
    Leapfrog,
    MeasuredCosts,
    Microbatch,
    PathStep,
    RanksExplanation,
    RankTimes,
    ReadyOp,
    ScheduleContext,
    Sequential,
    Split,
    Timeline,
    explain_ranks,
    save_html,
)
from dynaflow.annotations import SplitFunc, SplitModule, mark  # noqa: E402
from dynaflow.backend import register_where_not_installed  # noqa: E402
from dynaflow.calibrate import calibrate  # noqa: E402
from dynaflow.compiled import CompiledModule, compile  # noqa: E402, A004
from dynaflow.request import batch, microbatch  # noqa: E402
from dynaflow.scheduler import OpScheduler  # noqa: E402

register_where_not_installed()

__all__ = [
    "Batch",
    "Branches",
    "CommOverlap",
    "CompiledModule",
    "CostPoint",
    "Error",
    "Explanation",
    "Finding",
    "IssuedStep",
    "Lane",
    "LaneTimes",
    "Leapfrog",
    "MeasuredCosts",
    "Microbatch",
    "OpScheduler",
    "PathStep",
    "RankTimes",
    "RanksExplanation",
    "ReadyOp",
    "ScheduleContext",
    "Sequential",
    "Split",
    "SplitFunc",
    "SplitModule",
    "Timeline",
    "batch",
    "calibrate",
    "compile",
    "explain_ranks",
    "mark",
    "microbatch",
    "save_html",
]
