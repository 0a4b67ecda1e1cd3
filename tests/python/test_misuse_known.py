"""Mistakes that schedulers of batches are known for: stale plans, leaks, silent fallbacks."""

import logging
import random
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import dynaflow
from dynaflow import Batch, Error, ScheduleContext, Split
from small import AT_LINEAR, Chain, Halves, Says, compiled, rows
from strategies import Under, Weave, orders
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


class Anywhere(Under):
    """As many micro-batches as the fact "parts" says, cut where the fact "seed" draws."""

    cut = AT_LINEAR

    def split(self, batch: Batch) -> Split:
        """Some of them may be empty."""
        draw = random.Random(batch.facts["seed"])
        inner = sorted(draw.randint(0, batch.rows) for _ in range(batch.facts["parts"] - 1))
        return batch.by_sizes([b - a for a, b in pairwise([0, *inner, batch.rows])])


@pytest.mark.parametrize("order", ["Sequential", "Leapfrog", "Branches", "Weave"])
def test_one_to_eight_micro_batches_cut_anywhere_in_any_order_are_right(order: str) -> None:
    model, draw = Chain(), random.Random(0)
    fast = compiled(model, Anywhere(orders()[order]))
    for _ in range(150):
        x, parts = rows(draw.randint(1, 12)), draw.randint(1, 8)
        with dynaflow.batch(parts=parts, seed=draw.randint(0, 3)):
            assert difference([fast(x)], [model(x)]) <= 1e-5
        assert fast.plan().startswith(f"plan  {parts} microbatch")


def test_a_plan_made_for_some_sizes_serves_no_others() -> None:
    def by_its_rows(ctx: ScheduleContext) -> None:
        for mb in ctx.microbatches:
            number = ctx.rows(mb)
            for op in ctx.get_ready_ops(mb):
                ctx.execute(op, replace_func=lambda x, weight, bias, n=number: x * n)

    fast = compiled(Chain(1), Halves(by_its_rows))
    for batch in (4, 5, 6, 5, 4, 7, 1):
        x, half = rows(batch), (batch + 1) // 2
        assert torch.equal(fast(x), torch.cat([x[:half] * half, x[half:] * (batch - half)]))


class WholeAtTimes(Under):
    """One part is no schedule at all: such a batch runs as Inductor compiles it."""

    cut = AT_LINEAR

    def split(self, batch: Batch) -> Split:
        """By the fact "parts"."""
        return batch.whole() if batch.facts["parts"] == 1 else super().split(batch)


def test_results_of_all_sizes_and_splits_stay_what_they_were() -> None:
    model, kept = Chain(), []
    fast = dynaflow.compile(model, WholeAtTimes(Weave()))
    for i in range(30):
        x = rows(1 + i * 5 % 7) * (i + 1)
        with dynaflow.batch(parts=1 + i % 3):
            kept.append((fast(x), model(x)))
    assert all(difference([ours], [theirs]) <= 1e-5 for ours, theirs in kept)


def test_what_a_caller_writes_to_results_does_not_come_back() -> None:
    def model(x: Tensor) -> tuple[Tensor, ...]:
        return x + 1, torch.tensor(4), torch.ones(3) * 2, torch.arange(3)

    fast = compiled(model, Under(Weave()))
    for _ in range(3):
        results = fast(rows(6))
        assert difference(results, model(rows(6))) <= 1e-5
        for result in results:
            result.zero_()


class Held(nn.Module):
    """Tensors of every kind that a module holds."""

    cache: Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("cache", torch.randn(3, 8))
        self.table = torch.randn(3, 8)
        self.weight = nn.Parameter(torch.randn(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        """All of them matter to every row."""
        return x @ self.weight + (x @ self.cache.t()).sum(1, True) - (x @ self.table.t()).amax()


def assign(name: str, value: Tensor) -> Callable[[Held], None]:
    return lambda model: setattr(model, name, value)


GROWTH: dict[str, Callable[[Held], Any]] = {
    "a longer buffer": assign("cache", torch.ones(5, 8)),
    "another buffer": assign("cache", torch.ones(3, 8)),
    "a longer tensor": assign("table", torch.ones(6, 8)),
    "another tensor": assign("table", torch.ones(3, 8)),
    "a wider parameter": assign("weight", nn.Parameter(torch.ones(8, 4))),
    "a wider parameter's data": lambda model: setattr(model.weight, "data", torch.ones(8, 4)),
    "a parameter with other strides": lambda model: setattr(
        model.weight, "data", torch.arange(24.0).view(3, 8).t()
    ),
    "a buffer resized in place": lambda model: model.cache.resize_(9, 8).fill_(2),
    "a buffer moved": lambda model: setattr(model.cache, "data", torch.ones(99)[50:74].view(3, 8)),
}


@pytest.mark.parametrize("how", GROWTH)
def test_what_has_grown_or_moved_since_the_capture_is_seen(how: str) -> None:
    model = Held()
    fast = compiled(model, Under(Weave()))
    before = fast(rows(4))
    GROWTH[how](model)
    for batch in (4, 7):
        assert difference([fast(rows(batch))], [model(rows(batch))]) <= 1e-5
    assert difference([fast(rows(4))], [before]) > 1e-5
    assert [graph.unscheduled_because for graph in fast._graphs] == [None] * len(fast._graphs)


def test_a_cache_that_grows_with_every_step_is_right() -> None:
    def step(x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        cache = torch.cat([cache, x[:, None]], 1)
        return cache.mean(1), cache

    fast = compiled(step, Under(Weave()))
    for batch in (4, 3):
        ours = theirs = rows(batch)[:, None]
        for turn in range(6):
            x = rows(batch) * turn
            (y, ours), (z, theirs) = fast(x, ours), step(x, theirs)
            assert difference([y, ours], [z, theirs]) <= 1e-5


@pytest.mark.parametrize("sizes", [(8, 6, 7, 8, 1), (6, 8, 1, 8)])
def test_a_table_that_happens_to_have_as_many_rows_as_the_batch_is_no_batch(
    sizes: tuple[int, ...],
) -> None:
    def model(x: Tensor, table: Tensor) -> Tensor:
        return x @ table + table.sum(0)

    fast, table = compiled(model, Under(Weave())), rows(8) + 1
    for batch in sizes:
        assert difference([fast(rows(batch), table)], [model(rows(batch), table)]) <= 1e-5


UNSUPPORTED: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], str]] = {
    "a dtype without a name": (
        lambda x: x.float() * 2,
        lambda: (rows(6).to(torch.float8_e4m3fn),),
        "float8_e4m3fn has no name in a Capture",
    ),
    "a sparse argument": (
        lambda s, x: torch.sparse.mm(s, x) + 1,
        lambda: (torch.eye(6).to_sparse(), rows(6)),
        "sparse Tensor",
    ),
    "no batch at all": (lambda s: s * 2, lambda: (torch.tensor(3.0),), "no input carries a batch"),
    "no tensors": (lambda n: torch.ones(n, 2), lambda: (4,), "no input carries a batch"),
    "rows lost": (lambda x: (x + 1)[1:], lambda: (rows(6),), "has size"),
}


@pytest.mark.parametrize("what", UNSUPPORTED)
def test_what_cannot_be_scheduled_runs_unsplit_and_says_why(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    model, arguments, reason = UNSUPPORTED[what]
    fast = compiled(model, Under(Weave()))
    with caplog.at_level(logging.WARNING, "dynaflow"):
        for _ in range(2):
            assert difference([fast(*arguments())], [model(*arguments())]) <= 1e-5
    assert reason in fast.explain()
    said = [r.getMessage() for r in caplog.records if r.name == "dynaflow"]
    assert len(said) == 1
    with pytest.raises(RuntimeError, match="nothing has been scheduled"):
        fast.plan()


def test_memory_that_is_not_the_cpus_is_refused() -> None:
    with pytest.raises(Error, match=r"R6 bad-binding.*no dense CPU tensor"):
        compiled(Says(lambda x: x * 2), Under(Weave()))(torch.empty(4, 2, device="meta"))


ROWLESS: dict[str, Callable[[Tensor], Any]] = {
    "rows": lambda x: (x * 2, x.sum(1)),
    "a sum": lambda x: x.sum(0),
    "mixed rows": lambda x: x - x.cumsum(0),
}


@pytest.mark.parametrize("front", ["dynaflow.compile", "torch.compile"])
@pytest.mark.parametrize("what", ROWLESS)
def test_a_batch_of_no_rows_may_come_first_and_between(what: str, front: str) -> None:
    model, scheduler = Says(ROWLESS[what]), Under(Weave())
    options: dict[str, Any] = {"scheduler": scheduler, "engine": "aten"}
    fast: Any = (
        compiled(model, scheduler)
        if front == "dynaflow.compile"
        else torch.compile(model, backend="dynaflow", options=options)
    )
    for batch in (0, 4, 0, 1, 0, 7):
        ours, theirs = tree_leaves(fast(rows(batch))), tree_leaves(model(rows(batch)))
        assert difference(ours, theirs) <= 1e-5


@pytest.mark.parametrize("traced", [True, False])
def test_a_replacement_never_sees_an_empty_micro_batch(traced: bool) -> None:
    seen: list[int] = []

    def called(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        del weight, bias
        if not traced:
            seen.append(int(x.sum() * 0) + len(x))
        return x * 2

    def schedule(ctx: ScheduleContext) -> None:
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op, replace_func=called)

    fast = compiled(Chain(2), Halves(schedule, parts=4))
    for batch in (2, 1, 5):
        assert torch.equal(fast(rows(batch)), rows(batch) * 4)
    assert seen == ([] if traced else [1, 1, 1, 1] + [1, 1] + [2, 1, 1, 1] * 2)


def test_two_models_with_one_scheduler_may_be_recorded_side_by_side() -> None:
    scheduler, models = Anywhere(Weave()), [Chain(2), Chain(5)]
    fast = [compiled(model, scheduler) for model in models]
    right, inputs = [0, 0], [rows(n) for n in range(1, 9)]
    for quick in fast:
        with dynaflow.batch(parts=1, seed=0):
            quick(inputs[0])

    def work(at: int) -> None:
        with torch.no_grad():
            for i in range(100):
                x = inputs[(i * 3 + at) % len(inputs)]
                with dynaflow.batch(parts=1 + (i + at) % 5, seed=i):
                    right[at] += difference([fast[at](x)], [models[at](x)]) <= 1e-5

    threads = [threading.Thread(target=work, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [100, 100]
