"""Tiny models and strategies for tests of one thing at a time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import dynaflow


class Chain(nn.Module):
    """Layers one after the other: ops layers.0, layers.1, … when cut at Linear."""

    def __init__(self, layers: int = 3, width: int = 8) -> None:
        """`layers` of `width`."""
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(layers)))

    def forward(self, x: Tensor) -> Tensor:
        """All layers."""
        result: Tensor = self.layers(x)
        return result


class Says(nn.Module):
    """A model that is a function of its tensors."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """`function` is the forward."""
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """What the function says."""
        return self.function(*args, **kwargs)


AT_LINEAR = [dynaflow.SplitModule("Linear")]


class Halves(dynaflow.OpScheduler):
    """Even micro-batches, two by default, and a schedule that a test gives."""

    cut = AT_LINEAR

    def __init__(
        self, schedule: Callable[[dynaflow.ScheduleContext], None] | None = None, parts: int = 2
    ) -> None:
        """Without a schedule: all that is ready, on two lanes in turn."""
        super().__init__()
        self._schedule = schedule or two_lanes
        self._parts = parts

    def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
        """Even."""
        return batch.even(self._parts)

    def schedule(self, ctx: dynaflow.ScheduleContext) -> None:
        """As given."""
        self._schedule(ctx)


def two_lanes(ctx: dynaflow.ScheduleContext) -> None:
    """Whatever is ready, each micro-batch on a lane of its own."""
    lanes = [ctx.lane("left"), ctx.lane("right")]
    while ctx.unfinished():
        for mb in ctx.microbatches:
            for op in ctx.get_ready_ops(mb):
                ctx.execute(op, lane=lanes[mb.index % 2])


def rows(count: int, width: int = 8) -> Tensor:
    """A batch with other numbers in every row."""
    torch.manual_seed(1)
    return torch.randn(count, width)


def compiled(
    model: nn.Module | Callable[..., Any],
    scheduler: dynaflow.OpScheduler | None = None,
    **options: Any,  # noqa: ANN401
) -> dynaflow.CompiledModule:
    """Without a compiler, since that is not the point."""
    module = model if isinstance(model, nn.Module) else Says(model)
    return dynaflow.compile(module, scheduler or Halves(), engine="aten", **options)
