"""dynaflow.compile: a module that runs another one under a schedule."""

import copy
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed, TorchDynamoException

from dynaflow import _C
from dynaflow._capture.capture import BatchLostError, positional_names
from dynaflow._capture.marks import LADDER, Marks, Rung, capturing, clear, mark, named_tensors
from dynaflow.annotations import SplitFunc, SplitModule
from dynaflow.backend import ScheduledGraph, Settings, scheduled_piece
from dynaflow.whole import Compiled

log = logging.getLogger("dynaflow")


def compile(  # noqa: A001  (like torch.compile)
    model: nn.Module,
    scheduler: _C.OpScheduler | None = None,
    *,
    cut: Sequence[SplitModule | SplitFunc] | None = None,
    batch_dims: Mapping[str, int | None] | None = None,
    engine: str = "inductor",
    row_wise: Sequence[str] = (),
    fullgraph: bool = False,
) -> "CompiledModule":
    """`model` under `scheduler`; weights are shared, nothing is copied.

    `cut` says where the model is cut into ops (None: as ``scheduler.cut`` says, or by default at
    repeated blocks), `batch_dims` which dimension of which argument carries the batch (by
    default dimension 0; None for an argument without one), `engine` what runs a batch that is
    not split ("inductor", or "aten" without a compiler), `row_wise` which custom operators treat
    each row by itself. A model that torch cannot capture as one graph is scheduled in pieces,
    graph by graph, unless `fullgraph` forbids it.

    >>> fast = dynaflow.compile(model, dynaflow.Sequential(parts=2))
    >>> fast(input_ids, attention_mask=mask)
    """
    settings = Settings(scheduler or _C.Sequential(), cut, engine, batch_dims, row_wise)
    return CompiledModule(model, settings, fullgraph=fullgraph)


class CompiledModule(nn.Module):
    """A model under a schedule, called like the model itself."""

    _compiled: Callable[..., Any]

    def __init__(self, model: nn.Module, settings: Settings, *, fullgraph: bool = False) -> None:
        """Use `dynaflow.compile`."""
        super().__init__()
        self.model = model
        self.training = model.training
        self._settings = settings
        self._fullgraph = fullgraph
        self._positional = positional_names(model)
        self._graphs: list[ScheduledGraph] = []
        self._reasons: list[str] = []
        self._traced: _C.Timeline | None = None
        self._tracing = False
        self._capturing = threading.local()  # .now: the rung and marks of this thread's call
        self._lock = threading.RLock()
        self._compile(self._backend, fullgraph=True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The model's own forward."""
        if self._graphs:
            try:
                return self._compiled(*args, **kwargs)
            except BackendCompilerFailed as error:
                if not isinstance(error.inner_exception, _UnmarkedError):
                    raise
        return self._capture(args, kwargs)

    def train(self, mode: bool = True) -> "CompiledModule":
        """As for every module."""
        super().train(mode)
        return self

    def explain(self) -> str:
        """How the model was captured and cut, what became of each call, and where time went.

        The last part is about the last run that `timeline` traced, if there was one.
        """
        lines = [f"{type(self.model).__name__}: {len(self._graphs)} graph(s) captured"]
        lines += [f"  not captured with {reason}" for reason in self._reasons]
        for graph in self._graphs:
            if graph.model is None:
                lines.append(f"  unscheduled: {graph.unscheduled_because}")
            else:
                lines += [_counts(graph.model.counts), graph.model.cut, graph.model.merged]
        if self._traced is not None:
            lines.append(str(self._traced.explain()))
        return "\n".join(lines)

    def plan(self) -> str:
        """The plan of the last scheduled run, as a picture; of several graphs, the last one's."""
        return self._last().plan

    @property
    def stats(self) -> dict[str, int]:
        """What the last scheduled run did; of several graphs, the last one."""
        return self._last().stats

    def timeline(self, *args: Any, **kwargs: Any) -> _C.Timeline:  # noqa: ANN401
        """Runs the model once on these arguments and tells when each step ran."""
        self._trace(on=True)
        try:
            self(*args, **kwargs)
        finally:
            self._trace(on=False)
        self._traced = self._last().timeline
        return self._traced

    def __deepcopy__(self, memo: dict[int, object]) -> "CompiledModule":
        model = copy.deepcopy(self.model, memo)
        return CompiledModule(model, self._settings, fullgraph=self._fullgraph)

    def _trace(self, *, on: bool) -> None:
        """The next runs, of graphs that are yet to be captured too."""
        self._tracing = on
        for graph in self._graphs:
            graph.trace = on

    def _last(self) -> _C.Model:
        last = max(self._graphs, key=lambda graph: graph.last_run, default=None)
        if last is None or last.model is None or last.last_run == 0:
            raise RuntimeError("nothing has been scheduled yet: call the model first")
        return last.model

    def _backend(self, gm: torch.fx.GraphModule, examples: list[Any]) -> Compiled:
        now: tuple[Rung, Marks] | None = getattr(self._capturing, "now", None)
        if now is None:
            raise _UnmarkedError
        rung, marks = now
        graph = ScheduledGraph(
            gm,
            examples,
            self._settings,
            name=type(self.model).__name__,
            positional=self._positional,
            batch=rung.batch,
            batch_dims=marks.dims,
        )
        graph.trace = self._tracing
        self._graphs.append(graph)
        return graph

    def _piece_backend(self, gm: torch.fx.GraphModule, examples: list[Any]) -> Compiled:
        graph = scheduled_piece(gm, examples, self._settings, type(self.model).__name__)
        graph.trace = self._tracing
        self._graphs.append(graph)
        return graph

    def _compile(self, backend: Callable[..., Compiled], *, fullgraph: bool) -> None:
        compiled = torch.compile(  # type: ignore[call-overload]  # its overloads forget the last
            self.model, backend=backend, fullgraph=fullgraph, isolate_recompiles=True
        )
        # Its forward: the module around it would do what this one does, and give weights two names.
        self._compiled = compiled.forward

    def _capture(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The call that captures: with marks on its tensors, down the ladder if need be."""
        with self._lock:
            for rung in LADDER:
                try:
                    return self._call_marked(rung, args, kwargs)
                except (TorchDynamoException, BatchLostError, AssertionError) as error:
                    own = isinstance(error, AssertionError) and _GUARD_FAILED not in str(error)
                    if own or (rung == LADDER[-1] and (self._fullgraph or self._graphs)):
                        raise
                    self._reasons.append(f"{rung.batch} batch, {rung.others} sizes: {_line(error)}")
                    log.info("%s: not with %s", type(self.model).__name__, self._reasons[-1])
            log.warning(
                "%s is scheduled in pieces, since torch cannot capture it as one graph: %s",
                *(type(self.model).__name__, self._reasons[-1]),
            )
            self._compile(self._piece_backend, fullgraph=False)
            return self._compiled(*args, **kwargs)

    def _call_marked(self, rung: Rung, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        marks = mark(
            args, kwargs, self._settings.batch_dims, positional=self._positional, rung=rung
        )
        if rung.batch == "dynamic" and marks.batch == 1:
            raise BatchLostError("a batch of 1 would be taken for a constant")
        self._capturing.now = (rung, marks)
        if rung == LADDER[-1] and self._graphs:
            self._clear(args, kwargs)  # a second size: torch itself makes it free to vary
        try:
            if marks.batch == 0:
                return self.model(*args, **kwargs)  # no rows to tell a batch by
            with capturing(rung):
                return self._compiled(*args, **kwargs)
        finally:
            self._capturing.now = None
            self._clear(args, kwargs)

    def _clear(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        for named in named_tensors(args, kwargs, self._positional):
            clear(named.tensor)


_GUARD_FAILED = "Guard failed on the same frame"
"""What torch asserts when a capture refuses the very sizes it was made for."""


class _UnmarkedError(Exception):
    """Dynamo captures again, but nobody has marked the batch: the call is made once more."""


def _line(error: Exception) -> str:
    inner = getattr(error, "inner_exception", error)
    lines = str(inner).strip().splitlines()
    return f"{type(inner).__name__}: {lines[0] if lines else ''}"


def _counts(counts: Mapping[str, int]) -> str:
    return "  " + ", ".join(f"{name} {count}" for name, count in counts.items())
