"""What belongs to a micro-batch or a request stays with it."""

import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from torch import Tensor

import dynaflow
from dynaflow import Batch, ScheduleContext, Split
from small import Halves, compiled, rows
from strategies import Under, Weave
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


@torch.library.custom_op("dynaflow_test::add_context", mutates_args=())
def add_context(x: Tensor) -> Tensor:
    step = dynaflow.microbatch()
    assert step is not None
    assert len(step.rows) == len(step.context) == len(x)
    numbers: Tensor = step.context
    return x + numbers[:, None]


@add_context.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Numbered(Halves):
    """Tells every step the numbers of its rows."""

    def context(self, batch: Batch, rows: range) -> Tensor:
        """Of this batch, not of the one before."""
        return torch.tensor(rows) + 100 * batch.rows


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_steps_side_by_side_see_their_own_rows_and_context(parts: int) -> None:
    fast = compiled(
        lambda x: add_context(add_context(x * 1)),
        Numbered(parts=parts),
        cut=[dynaflow.SplitFunc("add_context")],
        row_wise=["dynaflow_test::add_context"],
    )
    for turn in range(100):
        x = torch.zeros(1 + turn % 7, 2)
        expected = 2.0 * (torch.arange(len(x)) + 100 * len(x))
        assert torch.equal(fast(x), expected[:, None].expand(-1, 2))
        assert dynaflow.microbatch() is None


HOOK_RUNS, ANOTHER_ASKED = threading.Event(), threading.Event()


@torch.library.custom_op("dynaflow_test::ask", mutates_args=())
def ask(x: Tensor, later: bool) -> Tensor:
    step = dynaflow.microbatch()
    if step is None:
        return x.clone()
    if later:
        HOOK_RUNS.wait(5)
    try:
        context: float = step.context
        return x + context
    finally:
        ANOTHER_ASKED.set()


@ask.register_fake
def _(x: Tensor, later: bool) -> Tensor:
    del later
    return torch.empty_like(x)


def test_branches_of_one_micro_batch_may_ask_for_its_context_together() -> None:
    class Asked(Halves):
        def context(self, batch: Batch, rows: range) -> float:
            del batch, rows
            HOOK_RUNS.set()
            ANOTHER_ASKED.wait(0.2)  # lets the other lane ask meanwhile
            return 1.0

    def side_by_side(ctx: ScheduleContext) -> None:
        while ctx.unfinished():
            for i, op in enumerate(ctx.get_ready_ops()):
                ctx.execute(op, lane=ctx.lane("ab"[i % 2]))

    fast = compiled(
        lambda x: (ask(x, False), ask(x, True)),
        Asked(side_by_side, parts=1),
        cut=[dynaflow.SplitFunc("ask")],
        row_wise=["dynaflow_test::ask"],
    )
    for result in fast(rows(4)):
        assert torch.equal(result, rows(4) + 1)


@torch.library.custom_op("dynaflow_test::running_sum", mutates_args=())
def running_sum(x: Tensor) -> Tensor:
    step = dynaflow.microbatch()
    assert step is not None
    return torch.cat([part.cumsum(0) for part in torch.split(x, step.context)])


@running_sum.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class AtRequests(Under):
    """Never cuts a request in two, and tells every step the requests it has."""

    def split(self, batch: Batch) -> Split:
        """In as many parts as the fact says."""
        return batch.at_requests(batch.facts["parts"])

    def context(self, batch: Batch, rows: range) -> list[int]:
        """The rows of each of the step's requests; a request that is cut is found out."""
        ends = [sum(batch.requests[:i]) for i in range(len(batch.requests) + 1)]
        inside = [end for end in ends if rows.start <= end <= rows.stop]
        assert inside[0] == rows.start
        assert inside[-1] == rows.stop
        return [b - a for a, b in pairwise(inside)]


def test_a_request_whose_rows_depend_on_each_other_is_never_cut() -> None:
    fast = compiled(
        lambda x: running_sum(x * 1) + 1,
        AtRequests(Weave()),
        cut=[dynaflow.SplitFunc("running_sum")],
        row_wise=["dynaflow_test::running_sum"],
    )
    for requests in ([4, 1, 2], [1, 1, 5], [7], [1] * 7, [0, 3, 0, 4]):
        x = rows(7)
        expected = torch.cat([part.cumsum(0) for part in torch.split(x, requests)]) + 1
        for parts in (1, 2, 3, 8):
            with dynaflow.batch(requests=requests, parts=parts):
                assert difference([fast(x)], [expected]) <= 1e-5
