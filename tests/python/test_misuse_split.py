"""Splits that lose rows are refused; models that mix rows are right; failures leave no trace."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

import dynaflow
from dynaflow import Batch, Error, ScheduleContext, Split
from small import Chain, Halves, compiled, rows, two_lanes
from strategies import Under, Weave, orders, uneven_sizes
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


class SplitBy(Halves):
    """Splits as a function says."""

    def __init__(self, how: Callable[[Batch], Any]) -> None:
        """`how` is called with the batch."""
        super().__init__()
        self._how = how

    def split(self, batch: Batch) -> Split:
        """As told."""
        result: Split = self._how(batch)
        return result


@pytest.mark.parametrize(
    "sizes",
    [[3, 2], [3, 4], [6, 1], [7, -1], [-6, 12], [], [0], [5], [2, 2, 1], [1] * 7, [1 << 62] * 4],
)
def test_a_split_that_does_not_cover_the_batch_is_refused(sizes: list[int]) -> None:
    with pytest.raises(Error, match="S2 batch-not-covered"):
        compiled(Chain(), SplitBy(lambda batch: batch.by_sizes(sizes)))(rows(6))
    with pytest.raises(Error, match="S2 batch-not-covered"):
        compiled(Chain(), SplitBy(lambda batch: Split(sizes)))(rows(6))


@pytest.mark.parametrize("wrong", [None, [3, 3], 2, "halves", (3, 3)])
def test_what_is_no_split_is_refused(wrong: object) -> None:
    with pytest.raises(Error, match="S11"):
        compiled(Chain(), SplitBy(lambda batch: wrong))(rows(6))


@pytest.mark.parametrize("parts", [0, -1])
def test_a_split_into_no_parts_is_refused(parts: int) -> None:
    with pytest.raises(Error, match=r"S2|S11"):
        compiled(Chain(), SplitBy(lambda batch: batch.even(parts)))(rows(6))


def test_a_split_that_raises_says_what_and_where() -> None:
    def how(batch: Batch) -> Split:
        raise KeyError(f"no plan for {batch.rows} rows")

    with pytest.raises(Error, match="no plan for 6 rows") as refused:
        compiled(Chain(), SplitBy(how))(rows(6))
    assert "S11" in str(refused.value)
    assert "test_misuse_split.py" in str(refused.value)


@pytest.mark.parametrize("sizes", [[0, 6], [6, 0], [0, 6, 0], [0, 0, 0, 6], [1, 0, 5], [0, 1, 5]])
@pytest.mark.parametrize("order", ["Sequential", "Leapfrog", "Branches", "Weave"])
def test_empty_micro_batches_change_nothing(sizes: list[int], order: str) -> None:
    class Given(Under):
        cut = Halves.cut

        def split(self, batch: Batch) -> Split:
            return batch.by_sizes(sizes)

    model = Chain()
    assert difference([compiled(model, Given(orders()[order]))(rows(6))], [model(rows(6))]) <= 1e-5


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_batch_smaller_than_the_number_of_micro_batches_is_right(batch: int) -> None:
    model = Chain()
    fast = compiled(model, Halves(parts=4))
    assert difference([fast(rows(batch))], [model(rows(batch))]) <= 1e-5


def test_a_lopsided_split_has_one_row_in_all_but_the_last() -> None:
    assert uneven_sizes(7, 3) == [1, 1, 5]
    assert uneven_sizes(1, 3) == [1, 0, 0]


MIXES: dict[str, Callable[[Tensor], Any]] = {
    "minus the mean over the batch": lambda x: x - x.mean(0),
    "softmax over the batch": lambda x: x.softmax(0),
    "cumulative sum over the batch": lambda x: x.cumsum(0),
    "rows reversed": lambda x: x.flip(0) * 2,
    "rows rolled": lambda x: x.roll(1, 0) + x,
    "rows sorted": lambda x: x.sort(0).values + 1,
    "row differences": lambda x: (x[1:] - x[:-1]).sum() + x,
    "Gram matrix": lambda x: x @ x.t(),
    "covariance": lambda x: x.t() @ x,
    "norm of everything": lambda x: x / x.norm(),
    "first row against all": lambda x: x * x[0],
    "last row against all": lambda x: x * x[-1],
    "rows paired": lambda x: x[:, None] - x[None],
    "largest row": lambda x: x.index_select(0, x.sum(1).argmax(0, keepdim=True)) + x,
    "number of rows": lambda x: x / x.shape[0],
    "row numbers": lambda x: x + torch.arange(x.shape[0])[:, None],
    "diagonal": lambda x: (x @ x.t()).diagonal() + x[:, 0],
    "triangle": lambda x: (x @ x.t()).tril().sum(1),
    "two batches end to end": lambda x: torch.cat([x, x + 1]),
    "two batches interleaved": lambda x: torch.stack([x, x + 1], 1).flatten(0, 1),
    "rows folded into width": lambda x: x.reshape(-1, 4).sum(1),
    "batch norm": lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
}


@pytest.mark.parametrize("how", MIXES)
def test_a_model_that_mixes_rows_is_right(how: str) -> None:
    def model(x: Tensor) -> Any:  # noqa: ANN401
        return MIXES[how](torch.relu(x) + x)

    fast = compiled(model, Under(Weave()))
    for batch, parts in ((6, 2), (7, 3), (1, 2)):
        if how == "batch norm" and batch == 1:
            continue  # torch refuses that itself
        x = rows(batch)
        with dynaflow.batch(parts=parts, uneven=1):
            assert difference([fast(x)], [model(x)]) <= 1e-5


OUTPUTS: dict[str, Callable[[Tensor], Any]] = {
    "the batch on dimension 1": lambda x: (x + 1).t().contiguous(),
    "the batch as a transposed view": lambda x: (x + 1).t(),
    "the batch in the middle": lambda x: torch.stack([x, x + 1, x + 2]),
    "the batch innermost": lambda x: torch.stack([x.sum(1), x.amax(1)]),
    "no batch": lambda x: (x + 1).sum(0),
    "a scalar": lambda x: (x + 1).mean(),
    "neither rows nor numbers": lambda x: torch.ones(3) * 2,
    "a batch of pairs": lambda x: (x + 1).view(-1, 4),
    "one of each": lambda x: (x + 1, (x + 1).sum(0), (x + 1).t(), (x * 2).sum()),
    "views of one tensor": lambda x: (lambda y: (y[:, :4], y[:, 4:], y))(x + 1),
    "the input itself": lambda x: (x, x + 1),
    "a view of the input": lambda x: (x[:, :3], x.t(), x + 1),
    "the same twice": lambda x: (lambda y: (y, y))(x + 1),
    "a slice of rows": lambda x: (x + 1)[1:],
    "every other row": lambda x: (x + 1)[::2],
}


@pytest.mark.parametrize("how", OUTPUTS)
def test_an_output_has_the_shape_of_the_unsplit_models(how: str) -> None:
    model = OUTPUTS[how]
    fast = compiled(model, Under(Weave()))
    for batch in (6, 7):
        x = rows(batch)
        with dynaflow.batch(parts=3):
            ours, theirs = tree_leaves(fast(x)), tree_leaves(model(x))
        assert difference(ours, theirs) <= 1e-5


def test_two_models_may_share_a_scheduler() -> None:
    scheduler, models = Halves(), {Chain(2): 8, Chain(5): 8, Chain(3, 16): 16}
    fast = {model: compiled(model, scheduler) for model in models}
    for _ in range(3):
        for model, width in models.items():
            x = rows(6, width)
            assert difference([fast[model](x)], [model(x)]) <= 1e-5


def test_results_of_one_call_are_not_touched_by_the_next() -> None:
    fast = compiled(Chain())
    first = fast(rows(6))
    kept = first.clone()
    fast(rows(6) * 100)
    assert torch.equal(first, kept)


def test_a_failed_step_leaves_no_trace() -> None:
    broken = [False]

    def schedule(ctx: ScheduleContext) -> None:
        if broken[0]:
            raise OSError("unplugged")
        two_lanes(ctx)

    model = Chain()
    fast = compiled(model, SplitBy(lambda batch: batch.even(2 if batch.rows < 9 else 3)))
    fast._settings.scheduler._schedule = schedule  # type: ignore[attr-defined]
    assert difference([fast(rows(6))], [model(rows(6))]) <= 1e-5
    broken[0] = True
    with pytest.raises(Error, match="unplugged"):
        fast(rows(9))
    assert difference([fast(rows(8))], [model(rows(8))]) <= 1e-5
    broken[0] = False
    assert difference([fast(rows(9))], [model(rows(9))]) <= 1e-5


def test_two_threads_of_500_steps_on_one_model_are_all_right() -> None:
    model, wrong, ran = Chain(), [], []
    fast = compiled(model, Under(Weave()))
    inputs = [rows(n) for n in (1, 2, 3, 5, 6, 7, 8)]
    expected = [model(x) for x in inputs]
    with dynaflow.batch(parts=2):
        fast(inputs[3])

    def work(offset: int) -> None:
        with torch.no_grad():
            for i in range(500):
                at = (i * 3 + offset) % len(inputs)
                with dynaflow.batch(parts=1 + (i + offset) % 3):
                    result = fast(inputs[at])
                if difference([result], [expected[at]]) > 1e-5:
                    wrong.append((i, at))
                ran.append(at)

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ran) == 1000
    assert wrong == []
