"""DynaFlow's C++ side (src/torch/bindings); use the dynaflow package instead."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

from torch import Tensor

torch_version: str
"""Of the torch that this module was compiled against."""

class Error(RuntimeError):
    """Why something was refused or failed."""

    @property
    def findings(self) -> list[Finding]:
        """Every reason, each with the rule's id, the place and the fix."""

class Finding:
    """One reason for a refusal."""

    @property
    def rule(self) -> str:
        """The rule's stable id, such as "S3"; docs/rules.md explains each."""
    @property
    def name(self) -> str:
        """The rule's name, such as "run-twice"."""
    @property
    def message(self) -> str:
        """What happened."""
    @property
    def where(self) -> str:
        """Where."""
    @property
    def fix(self) -> str:
        """What to do about it."""

class Split:
    """How many rows each micro-batch has."""

    def __init__(self, sizes: Sequence[int]) -> None: ...
    @property
    def sizes(self) -> list[int]: ...
    @property
    def scheduled(self) -> bool:
        """False for batch.whole(): the model runs as one compiled piece."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

class Batch:
    """What a strategy may know of this step when it decides how to split."""

    def __init__(
        self, rows: int, requests: Sequence[int] = ..., facts: Mapping[str, int] = ...
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def requests(self) -> list[int]:
        """Rows of each request, in order."""
    @property
    def facts(self) -> dict[str, int]:
        """Anything else the caller wants decided upon."""
    def whole(self) -> Split:
        """One micro-batch."""
    def even(self, parts: int) -> Split:
        """Micro-batches whose sizes differ by one row at most, the larger ones first."""
    def by_sizes(self, sizes: Sequence[int]) -> Split: ...
    def at_requests(self, parts: int) -> Split:
        """Micro-batches that never cut a request in two."""

class Microbatch:
    """The i-th part of a split batch."""

    @property
    def index(self) -> int: ...
    def __index__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class ReadyOp:
    """An op that may be executed now."""

    @property
    def name(self) -> str: ...
    @property
    def tags(self) -> set[str]: ...
    @property
    def group(self) -> str: ...
    @property
    def cost(self) -> str: ...
    @property
    def microbatches(self) -> list[Microbatch]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Lane:
    """An in-order queue of this recording."""

class IssuedStep:
    """A recorded step, to order others after it."""

class ScheduleContext:
    """What a strategy sees while it records: what is ready, and execute."""

    @property
    def microbatches(self) -> list[Microbatch]: ...
    def rows(self, microbatch: Microbatch) -> int:
        """The rows of a micro-batch. A plan whose strategy asked serves these sizes only."""
    @overload
    def get_ready_ops(self, microbatch: Microbatch) -> list[ReadyOp]:
        """A snapshot in program order."""
    @overload
    def get_ready_ops(self) -> list[ReadyOp]: ...
    def first_ready_op(self, microbatch: Microbatch) -> ReadyOp | None: ...
    def get_ready_after(self, ops: Sequence[ReadyOp]) -> list[ReadyOp]:
        """What would become ready if these had been executed."""
    def unfinished(self) -> bool: ...
    def lane(self, name: str, cores: int | None = None) -> Lane: ...
    @overload
    def execute(
        self,
        op: ReadyOp,
        *,
        lane: Lane | None = None,
        replace_func: Callable[..., Any] | None = None,
        after: Sequence[IssuedStep] = ...,
    ) -> IssuedStep:
        """Runs one op, or a function in its place."""
    @overload
    def execute(
        self,
        ops: Sequence[ReadyOp],
        *,
        lane: Lane | None = None,
        replace_func: Callable[..., Any] | None = None,
        after: Sequence[IssuedStep] = ...,
    ) -> IssuedStep:
        """Runs the same op of adjacent micro-batches merged, or a chain of ops."""

class OpScheduler:
    """A strategy: split(batch) and schedule(ctx), both pure."""

    def __init__(self) -> None: ...
    @property
    def name(self) -> str: ...
    def split(self, batch: Batch) -> Split: ...
    def schedule(self, ctx: ScheduleContext) -> None: ...

class Sequential(OpScheduler):
    """One op after the other on one lane, micro-batch by micro-batch."""

    def __init__(self, parts: int = 1) -> None: ...

class Leapfrog(OpScheduler):
    """One op of each micro-batch in turn; network ops on a lane of their own."""

    def __init__(self, parts: int = 2) -> None: ...

class Branches(OpScheduler):
    """Independent branches of one micro-batch side by side."""

    def __init__(self, lanes: int = 2, parts: int = 1) -> None: ...

class CommOverlap(OpScheduler):
    """While one micro-batch's transfer is on the wire, the others compute.

    Micro-batches leapfrog, with two transfers on their way at most. How many there are is given,
    or decided for each batch from what the model costs.
    """

    @overload
    def __init__(self, parts: int = 2) -> None: ...
    @overload
    def __init__(self, costs: MeasuredCosts, most_parts: int = 4) -> None: ...

class Race:
    """Which of several programs is fastest: they run in rounds; who is surely slower drops out."""

    def __init__(self, runners: int) -> None: ...
    @property
    def left(self) -> list[int]:
        """Who still runs."""
    @property
    def rounds(self) -> int: ...
    @property
    def leader(self) -> int:
        """Of those that are left."""
    def add(self, taken_ns: Sequence[int]) -> None:
        """One round: what each that is left took, in order."""
    def taken_ns(self, runner: int) -> int:
        """At the median, beside the leader."""

class CostPoint:
    """What one batch of some rows costs, in nanoseconds."""

    def __init__(
        self,
        *,
        rows: int,
        compute_ns: int,
        network_ns: int,
        network_cpu_ns: int,
        whole_ns: int,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def compute_ns(self) -> int:
        """All steps that compute, one after the other."""
    @property
    def network_ns(self) -> int:
        """All transfers, one after the other."""
    @property
    def network_cpu_ns(self) -> int:
        """Of the transfers, what the processor is busy with."""
    @property
    def whole_ns(self) -> int:
        """The whole batch, unsplit and unscheduled."""

class MeasuredCosts:
    """What a model costs on one machine, by rows: see `calibrate`."""

    def __init__(
        self,
        *,
        machine: str,
        transfers: int,
        points: Sequence[CostPoint],
        slowdowns: Sequence[float] = ...,
    ) -> None: ...
    @property
    def machine(self) -> str: ...
    @property
    def transfers(self) -> int: ...
    @property
    def points(self) -> list[CostPoint]: ...
    @property
    def slowdowns(self) -> list[float]:
        """For 1, 2, 3, ... micro-batches, how much longer a run took than `overlapped_ns` says."""
    def after(self, race: Race) -> MeasuredCosts:
        """The same once the largest size has run: whole as runner 0, in n parts as runner n."""
    def at(self, rows: int) -> CostPoint: ...
    def overlapped_ns(self, rows: int, parts: int) -> int:
        """How long so many micro-batches take at least."""
    def expected_ns(self, rows: int, parts: int) -> int:
        """The same with what such runs lose by experience."""
    def best_parts(self, rows: int, most: int = 4) -> int | None:
        """How many micro-batches are fastest; None where the batch is best left whole."""
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(document: str) -> MeasuredCosts: ...

class Timeline:
    """When each step of a traced run ran."""

    @property
    def total_ns(self) -> int: ...
    @property
    def spans(self) -> list[tuple[str, str, int, int]]:
        """(step, lane, begin, end) of each step, in nanoseconds."""
    def overlapped_ns(self) -> int:
        """How long at least two lanes were busy."""
    def explain(self) -> Explanation:
        """Where the time went."""
    def chrome_trace(self) -> str:
        """JSON that Perfetto opens."""
    def save(self, path: str | PathLike[str]) -> None:
        """As the suffix says: `.json` for Perfetto and `load`, `.html` for a page to look at."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Timeline:
        """A run that was saved as `.json`."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

class Explanation:
    """Where the time of a run went. As text, a report; every split of it adds up to the total."""

    @property
    def total_ns(self) -> int: ...
    @property
    def bound_ns(self) -> int:
        """What no order of these steps on these lanes can beat."""
    @property
    def share(self) -> float:
        """How much of the run the bound is, from 0 to 1."""
    @property
    def network_ns(self) -> int:
        """How long at least one network step ran."""
    @property
    def exposed_ns(self) -> int:
        """Of that, with no other step beside it."""
    @property
    def path(self) -> list[PathStep]:
        """The critical path: the steps that made the run as long as it was, in order."""
    @property
    def path_ns(self) -> dict[str, int]:
        """The path's time: compute, memory, network, and host between steps."""
    @property
    def lanes(self) -> list[LaneTimes]: ...
    @property
    def advice(self) -> list[str]:
        """Sentences about what stands out."""

class LaneTimes:
    """Where one lane's time went: busy, waited, tail and host add up to the total."""

    @property
    def name(self) -> str: ...
    @property
    def busy_ns(self) -> int: ...
    @property
    def waited_ns(self) -> dict[str, int]:
        """For steps of other lanes: compute, memory, network."""
    @property
    def tail_ns(self) -> int:
        """Its own steps were done, those of other lanes were not."""
    @property
    def host_ns(self) -> int:
        """Nothing to wait for: hand-over, start and end of the run."""
    @property
    def queued_ns(self) -> int:
        """Beside the sum: a step whose waits held stood behind another one."""
    @property
    def taken_ns(self) -> int:
        """Of its compute and memory steps: other threads had the core."""
    @property
    def waited_for(self) -> list[tuple[str, int]]:
        """(op, nanoseconds), the longest first."""

class PathStep:
    """One step of the critical path."""

    @property
    def label(self) -> str: ...
    @property
    def cost(self) -> str:
        """What it mainly uses: compute, memory or network."""
    @property
    def gap_ns(self) -> int:
        """Host time since the step before it on the path ended."""
    @property
    def ns(self) -> int: ...

class RankTimes:
    """What one rank's transfers took, and for whom they waited."""

    @property
    def name(self) -> str: ...
    @property
    def network_ns(self) -> int:
        """In transfers that all ranks take part in."""
    @property
    def awaited_ns(self) -> int:
        """Of that, until the last rank came."""
    @property
    def late_ns(self) -> int:
        """How long only this one was missing."""
    @property
    def last(self) -> int:
        """To how many transfers it came last."""

class RanksExplanation:
    """What transfers waited for ranks, and what the wire took. As text, a report."""

    @property
    def ranks(self) -> list[RankTimes]: ...
    @property
    def transfers(self) -> list[tuple[str, str, int, int]]:
        """(transfer, rank that came last, awaited, on the wire), in nanoseconds."""

def explain_ranks(timelines: dict[str, Timeline]) -> RanksExplanation:
    """Who was late: of one run's timelines, one for each rank, by name.

    >>> print(dynaflow.explain_ranks({"rank 0": first, "rank 1": second}))
    """

def save_html(path: str | PathLike[str], timelines: dict[str, Timeline]) -> None:
    """One page with several timelines by name, on the same time axis.

    >>> dynaflow.save_html("runs.html", {"Sequential": slow, "Leapfrog": fast})
    """

class Rule:
    """What becomes an op of its own, and the tags it gets."""

    def __init__(
        self,
        selects: Literal["module", "function", "mark"],
        patterns: Sequence[str],
        tags: Sequence[str],
    ) -> None: ...

class BatchFacts:
    """What a caller says of a batch beyond its tensors."""

    def __init__(self, requests: Sequence[int], facts: Mapping[str, int]) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Model:
    """A captured model under a schedule."""

    def __init__(
        self,
        document: str,
        rules: Sequence[Rule],
        scheduler: OpScheduler,
        constants: Sequence[Tensor],
        row_wise: Sequence[str] = ...,
    ) -> None: ...
    def run(
        self,
        arguments: list[Any],
        facts: BatchFacts | None = None,
        trace: bool = False,
        context: Callable[[Batch, range], object] | None = None,
    ) -> list[Any]:
        """The outputs, in order: tensors, numbers or None.

        `context` is asked for what current_step() shows of some rows, once for each such rows.
        """
    def split(self, sizes: Sequence[int], facts: BatchFacts | None = None) -> Split:
        """What the scheduler decides for these sizes of `symbols`."""
    @property
    def symbols(self) -> list[str]:
        """The names that sizes are free in."""
    @property
    def plan(self) -> str:
        """Of the last run, as text; like the others below."""
    @property
    def timeline(self) -> Timeline: ...
    @property
    def lanes(self) -> list[tuple[str, int]]:
        """(name, cores) of each."""
    @property
    def stats(self) -> dict[str, int]: ...
    @property
    def counts(self) -> dict[str, int]:
        """What became of the calls."""
    @property
    def compile_stats(self) -> dict[str, int]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def rows(self) -> str: ...
    @property
    def merged(self) -> str:
        """A line for each call that sees the whole batch, and the reason."""
    @property
    def cut(self) -> str: ...
    @property
    def graph(self) -> str: ...

def current_step() -> tuple[str, int, int, Any] | None:
    """(name, first row, rows, context) of the step that this thread is running, or None."""
