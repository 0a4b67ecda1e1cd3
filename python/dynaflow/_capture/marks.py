"""Marks the batch on a model's arguments, before each call that may be captured.

Dynamo reads marks from the tensors themselves. A mark never makes a captured graph unusable:
Dynamo accepts a tensor whose marks are those of the capture or fewer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch._dynamo import decorators
from torch.fx.experimental import _config as shape_config

Batch: TypeAlias = Literal["unbacked", "oblivious", "dynamic", "static"]
Others: TypeAlias = Literal["free", "fixed"]


class Rung(NamedTuple):
    """How a capture treats the batch, and the other sizes of arguments."""

    batch: Batch
    others: Others


LADDER: tuple[Rung, ...] = (
    Rung("unbacked", "free"),
    Rung("unbacked", "fixed"),
    Rung("oblivious", "free"),
    Rung("oblivious", "fixed"),
    Rung("dynamic", "free"),
    Rung("dynamic", "fixed"),
    Rung("static", "fixed"),
)
"""Each rung captures more models than the one before, for fewer sizes."""

_SHAPE_ID = "dynaflow_batch"
_MOST_SEQUENCE_DIMS = 3  # [batch, sequence, width]; a tensor of more is an image or a video
_ATTRIBUTES = (
    "_dynamo_unbacked_indices",
    "_dynamo_unbacked_bounds",
    "_dynamo_shape_ids",
    "_dynamo_dynamic_indices",
    "_dynamo_dynamic_range",
    "_dynamo_weak_dynamic_indices",
    "_dynamo_static_indices",
    "_dynamo_hint_overrides",
    "_specialize_on",
    "_has_dynamo_dim_marking",
)


_PLAIN = (torch.nn.Module, type, str, bytes, int, float, complex, type(None))


class BatchMarkError(ValueError):
    """The batch dimensions that were given do not fit the arguments."""


class Marks(NamedTuple):
    """The batch of one call: its size, and the dimension that carries it by argument name.

    Two calls with equal `dims` can share a capture; with other ones they must not.
    """

    batch: int | None
    dims: Mapping[str, int]


class NamedTensor(NamedTuple):
    """A tensor among a model's arguments, with the name that the user knows it by."""

    name: str
    tensor: torch.Tensor
    held: bool
    """By an object, such as a cache: its sizes other than the batch are the model's own."""


def named_tensors(
    args: Sequence[object], kwargs: Mapping[str, object], positional: Sequence[str] = ()
) -> list[NamedTensor]:
    """Every tensor among the arguments, in order.

    >>> [t.name for t in named_tensors((x,), {"cache": {"k": k}}, ["input"])]
    ['input', 'cache.k']
    """
    names = [*positional[: len(args)], *(f"args.{i}" for i in range(len(positional), len(args)))]
    seen: set[int] = set()
    pairs = [*zip(names, args, strict=True), *kwargs.items()]
    return [found for name, value in pairs for found in _walk(name, value, False, seen)]


def mark(
    args: Sequence[object],
    kwargs: Mapping[str, object],
    batch_dims: Mapping[str, int | None] | None = None,
    *,
    positional: Sequence[str] = (),
    rung: Rung = LADDER[0],
) -> Marks:
    """Marks the batch of every tensor argument and returns what was marked.

    The batch is dimension 0 of every tensor whose size there is the batch, unless `batch_dims`
    names another dimension, or None for an argument without a batch. An argument's name stands
    for all tensors in it. Other dimensions of sequences are marked as free to vary; those of
    images are left to torch, which captures a second size as free. Marks of the user's own on
    these tensors are lost.

    >>> mark((ids,), {"mask": mask}, {"mask": None}, positional=["input_ids"])
    Marks(batch=4, dims={'input_ids': 0})
    """
    tensors = named_tensors(args, kwargs, positional)
    marks = batch_marks(tensors, batch_dims or {})
    for name, tensor, held in tensors:
        clear(tensor)
        _mark_batch(tensor, marks.dims.get(name), rung.batch)
        _mark_others(tensor, marks.dims.get(name), "fixed" if held else rung.others)
    return marks


def batch_marks(tensors: Sequence[NamedTensor], batch_dims: Mapping[str, int | None]) -> Marks:
    """Which dimension of which tensor is the batch; BatchMarkError where that is contradictory."""
    owners = {t.name: _owner(t.name, batch_dims) for t in tensors}
    if unknown := sorted(set(batch_dims) - set(owners.values())):
        raise BatchMarkError(f"batch_dims names {unknown}; arguments are {sorted(owners)}")
    said = {name: batch_dims[owner] for name, owner in owners.items() if owner is not None}
    explicit = {t.name: (t, dim) for t in tensors if (dim := said.get(t.name)) is not None}
    batch = _agreed_size(list(explicit.values()))
    dims: dict[str, int] = {}
    for tensor in tensors:
        if tensor.name in explicit:
            dims[tensor.name] = explicit[tensor.name][1] % tensor.tensor.dim()
        elif tensor.name not in said and tensor.tensor.dim() > 0:
            batch = int(tensor.tensor.shape[0]) if batch is None else batch
            if tensor.tensor.shape[0] == batch:
                dims[tensor.name] = 0
    return Marks(batch, dims)


def clear(tensor: torch.Tensor) -> None:
    """Takes all of Dynamo's marks off `tensor`."""
    if hasattr(tensor, "_has_dynamo_dim_marking"):
        for attribute in _ATTRIBUTES:
            if hasattr(tensor, attribute):
                delattr(tensor, attribute)


def capturing(rung: Rung) -> AbstractContextManager[None]:
    """Torch's settings for a capture on `rung`: to be held around the call that captures."""
    patch: Callable[..., AbstractContextManager[None]] = shape_config.patch  # type: ignore[attr-defined]
    return patch(backed_size_oblivious=rung.batch == "oblivious")


def _mark_batch(tensor: torch.Tensor, dim: int | None, batch: Batch) -> None:
    if dim is None:
        return
    if batch == "unbacked":
        decorators.mark_unbacked(tensor, dim, shape_id=_SHAPE_ID, min=1)
    elif batch == "static":
        decorators.mark_static(tensor, dim)
    else:
        decorators.mark_dynamic(tensor, dim)


def _mark_others(tensor: torch.Tensor, batch: int | None, others: Others) -> None:
    dims = [dim for dim in range(tensor.dim()) if dim != batch]
    if others == "fixed":
        decorators.mark_static(tensor, dims)
    elif tensor.dim() <= _MOST_SEQUENCE_DIMS:
        decorators.maybe_mark_dynamic(tensor, dims)


def _walk(name: str, value: object, held: bool, seen: set[int]) -> Iterator[NamedTensor]:
    """Tensors in `value`; an object that is met twice is walked once."""
    if isinstance(value, torch.Tensor):
        if id(value) not in seen:
            seen.add(id(value))
            yield NamedTensor(name, value, held)
        return
    if isinstance(value, _PLAIN) or callable(value) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        items = [(str(key), item, held) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [(str(index), item, held) for index, item in enumerate(value)]
    else:
        items = [(key, item, True) for key, item in getattr(value, "__dict__", {}).items()]
    for key, item, inside in items:
        yield from _walk(f"{name}.{key}", item, inside, seen)


def _owner(name: str, batch_dims: Mapping[str, int | None]) -> str | None:
    """The longest entry of `batch_dims` that stands for the tensor `name`."""
    owners = [key for key in batch_dims if name == key or name.startswith(f"{key}.")]
    return max(owners, key=len, default=None)


def _agreed_size(explicit: Sequence[tuple[NamedTensor, int]]) -> int | None:
    sizes: dict[str, int] = {}
    for (name, tensor, _), dim in explicit:
        if not -tensor.dim() <= dim < tensor.dim():
            raise BatchMarkError(f"{name} has no dimension {dim}: its shape is {[*tensor.shape]}")
        sizes[name] = int(tensor.shape[dim])
    if len(set(sizes.values())) > 1:
        raise BatchMarkError(f"the batch dimensions that were given disagree: {sizes}")
    return next(iter(sizes.values()), None)
