"""DynaFlow's C++ side (src/torch/bindings); use the dynaflow package instead."""

from collections.abc import Callable, Mapping, Sequence
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

class Timeline:
    """When each step of a traced run ran."""

    @property
    def total_ns(self) -> int: ...
    @property
    def spans(self) -> list[tuple[str, str, int, int]]:
        """(step, lane, begin, end) of each step, in nanoseconds."""
    def overlapped_ns(self) -> int:
        """How long at least two lanes were busy."""
    def chrome_trace(self) -> str:
        """JSON that Perfetto opens."""

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
