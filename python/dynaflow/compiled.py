"""dynaflow.compile: a module that runs another one under a schedule."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from dynaflow import _C
from dynaflow._capture.capture import positional_names
from dynaflow._capture.marks import LADDER, capturing, mark
from dynaflow.annotations import SplitFunc, SplitModule
from dynaflow.backend import ScheduledGraph, Settings
from torch import nn

log = logging.getLogger("dynaflow")


def compile(  # noqa: A001  (like torch.compile)
    model: nn.Module,
    scheduler: _C.OpScheduler | None = None,
    *,
    cut: Sequence[SplitModule | SplitFunc] | None = None,
    batch_dims: Mapping[str, int | None] | None = None,
    engine: str = "inductor",
) -> "CompiledModule":
    """`model` under `scheduler`; weights are shared, nothing is copied.

    >>> fast = dynaflow.compile(model, dynaflow.Sequential(parts=2))
    >>> fast(input_ids, attention_mask=mask)
    """
    return CompiledModule(model, scheduler or _C.Sequential(), cut, batch_dims, engine)


class _Holder(nn.Module):
    """So that every module of the model, its root included, has a path in the trace."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return self.model(*args, **kwargs)


class CompiledModule(nn.Module):
    """A model under a schedule, called like the model itself."""

    def __init__(
        self,
        model: nn.Module,
        scheduler: _C.OpScheduler,
        cut: Sequence[SplitModule | SplitFunc] | None,
        batch_dims: Mapping[str, int | None] | None,
        engine: str,
    ) -> None:
        super().__init__()
        self.model = model
        self._batch_dims = batch_dims
        self._positional = positional_names(model)
        self._settings = Settings(
            scheduler, cut, engine, positional=self._positional, name=type(model).__name__
        )
        self._compiled = torch.compile(_Holder(model), backend=self._backend, fullgraph=True)

    def _backend(self, gm: Any, examples: list[Any]) -> Any:  # noqa: ANN401
        return ScheduledGraph(gm, examples, self._settings).call

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        rung = LADDER[0]
        marks = mark(args, kwargs, self._batch_dims, positional=self._positional, rung=rung)
        self._settings.batch_dims = marks.dims
        with capturing(rung):
            return self._compiled(*args, **kwargs)
