"""Inductor through torch.compile, with the batch marked as DynaFlow marks it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from dynaflow._capture.capture import positional_names
from dynaflow._capture.marks import Rung, capturing, clear, mark, named_tensors

FREE = Rung("oblivious", "free")
"""The batch and sequences may vary, 1 included; Inductor fails or is wrong without examples."""


def compile_marked(
    model: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    batch_dims: Mapping[str, int | None],
) -> Callable[..., Any]:
    """torch.compile(model), captured by a first call with these arguments."""
    compiled: Callable[..., Any] = torch.compile(  # type: ignore[call-overload]
        model, fullgraph=True, isolate_recompiles=True
    )
    positional = positional_names(model)
    mark(args, kwargs, batch_dims, positional=positional, rung=FREE)
    with capturing(FREE):
        compiled(*args, **kwargs)
    for named in named_tensors(args, kwargs, positional):
        clear(named.tensor)
    return compiled
