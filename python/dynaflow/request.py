"""What a caller says of one batch beyond its tensors: request boundaries and facts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from torch.fx._symbolic_trace import is_fx_tracing

from dynaflow import _C

_current: ContextVar[_C.BatchFacts | None] = ContextVar("dynaflow_batch", default=None)
current = _current.get


@contextmanager
def batch(requests: Sequence[int] = (), **facts: int) -> Iterator[None]:
    """Calls inside are of a batch with these requests (rows of each, in order) and facts.

    A strategy sees them as ``batch.requests`` and ``batch.facts``.

    >>> with dynaflow.batch(requests=[3, 1, 4], decoding=1):
    ...     fast(input_ids)
    """
    token = _current.set(_C.BatchFacts(requests, facts))
    try:
        yield
    finally:
        _current.reset(token)


class Step(NamedTuple):
    """The rows that an operator is running on, and what the strategy's `context` made for them."""

    name: str
    rows: range
    context: Any


def microbatch() -> Step | None:
    """For custom operators: the step that this thread is running; None outside of one.

    A strategy's hook ``context(batch, rows)`` builds what differs per micro-batch, such as
    attention metadata, when an operator first asks; it is kept for the run.

    >>> @torch.library.custom_op("mine::attention", mutates_args=())
    ... def attention(q: torch.Tensor) -> torch.Tensor:
    ...     lengths = dynaflow.microbatch().context
    """
    step = _C.current_step()
    if step is None:
        if is_fx_tracing():
            raise RuntimeError("a trace does not know the micro-batch")  # so it will be called
        return None
    name, first, count, context = step
    return Step(name, range(first, first + count), context)
