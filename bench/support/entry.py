"""What Dynamo calls: the callable that a backend returned, and the arguments it is called with."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import Tensor, fx, nn

import dynaflow
from dynaflow.backend import ScheduledGraph


def compile_alone(model: nn.Module, backend: str = "inductor") -> Callable[..., Any]:
    """torch.compile for fixed sizes, whose graphs are not searched for those of other models."""
    compiled: Callable[..., Any] = torch.compile(  # type: ignore[call-overload]
        model, backend=backend, dynamic=False, fullgraph=True, isolate_recompiles=True
    )
    return compiled


class Entry:
    """A model under a schedule, from its outermost call to the innermost one.

    >>> entry = Entry(model, Sequential(2), x)
    >>> entry.compiled(x), entry.callable(*entry.arguments)
    """

    def __init__(self, model: nn.Module, scheduler: dynaflow.OpScheduler, example: Tensor) -> None:
        """Captures `model`, and runs it once."""
        self.compiled = dynaflow.compile(model, scheduler, engine="aten")
        self.compiled(example)
        self.callable: ScheduledGraph = self.compiled._graphs[-1]
        self.arguments = self.arguments_for(example)
        inner = self.callable.model
        assert inner is not None, self.callable.unscheduled_because
        self.model = inner

    def arguments_for(self, example: Tensor) -> tuple[Any, ...]:
        """What Dynamo passes on; runs the model."""
        seen: list[tuple[Any, ...]] = []
        plain = ScheduledGraph.__call__

        def spy(graph: ScheduledGraph, *args: Any) -> Any:  # noqa: ANN401
            seen.append(args)
            return plain(graph, *args)

        with mock.patch.object(ScheduledGraph, "__call__", spy):
            self.compiled(example)
        return seen[-1]


class EagerEntry:
    """The same of torch.compile(backend="eager"), with the batch free to vary."""

    def __init__(self, model: nn.Module, example: Tensor) -> None:
        """Captures `model`, and runs it once."""
        self.callable: Callable[..., Any] | None = None
        self.arguments: tuple[Any, ...] = ()
        self._spying = True
        self.compiled: Callable[..., Any] = torch.compile(  # type: ignore[call-overload]
            model, backend=self._backend, dynamic=True, fullgraph=True, isolate_recompiles=True
        )
        self.compiled(example)
        self._spying = False

    def _backend(self, gm: fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
        self.callable = gm.forward

        def call(*args: Any) -> Any:  # noqa: ANN401
            if self._spying:
                self.arguments = args
            return gm.forward(*args)

        return call
