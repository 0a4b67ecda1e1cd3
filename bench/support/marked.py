"""Inductor through torch.compile, with the batch marked as DynaFlow marks it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

import dynaflow
from dynaflow._capture.capture import positional_names
from dynaflow._capture.marks import LADDER, Rung, capturing, clear, mark, named_tensors


def rung_of(compiled: dynaflow.CompiledModule) -> Rung:
    """How the model was captured, which is known after its first call."""
    return LADDER[len(compiled._reasons)]


def compile_marked(
    model: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    batch_dims: Mapping[str, int | None],
    rung: Rung,
) -> Callable[..., Any]:
    """torch.compile(model), captured on `rung` by a first call with these arguments."""
    compiled: Callable[..., Any] = torch.compile(  # type: ignore[call-overload]
        model, fullgraph=True, isolate_recompiles=True
    )
    positional = positional_names(model)
    mark(args, kwargs, batch_dims, positional=positional, rung=rung)
    with capturing(rung):
        compiled(*args, **kwargs)
    for named in named_tensors(args, kwargs, positional):
        clear(named.tensor)
    return compiled
