"""What a caller says of one batch beyond its tensors: request boundaries and facts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Facts: TypeAlias = tuple[tuple[int, ...], tuple[tuple[str, int], ...]]

_current: ContextVar[Facts | None] = ContextVar("dynaflow_batch", default=None)
current = _current.get


@contextmanager
def batch(requests: Sequence[int] = (), **facts: int) -> Iterator[None]:
    """Calls inside are of a batch with these requests (rows of each, in order) and facts.

    A strategy sees them as ``batch.requests`` and ``batch.facts``.

    >>> with dynaflow.batch(requests=[3, 1, 4], decoding=1):
    ...     fast(input_ids)
    """
    token = _current.set((tuple(requests), tuple(sorted(facts.items()))))
    try:
        yield
    finally:
        _current.reset(token)


def facts_of(values: Facts | None) -> tuple[Sequence[int], Mapping[str, int]]:
    """Requests and facts as C++ takes them."""
    return ((), {}) if values is None else (values[0], dict(values[1]))
