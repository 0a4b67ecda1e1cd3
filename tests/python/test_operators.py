"""Operators that torch does not know, that draw, that write, or whose sizes only the run knows."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves

import dynaflow
from small import compiled
from strategies import Under, Weave
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


ROWS_SEEN: list[int] = []


@torch.library.custom_op("dynaflow_test::scale", mutates_args=())
def scale(x: Tensor, by: float) -> Tensor:
    ROWS_SEEN.append(x.shape[0])
    return x * by


@scale.register_fake
def _(x: Tensor, by: float) -> Tensor:
    del by
    return torch.empty_like(x)


@torch.library.custom_op("dynaflow_test::minus_mean", mutates_args=())
def minus_mean(x: Tensor) -> tuple[Tensor, Tensor]:
    return x - x.mean(0), x.mean(0)


@minus_mean.register_fake
def _(x: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), x.new_empty(x.shape[1])


@torch.library.custom_op("dynaflow_test::add_into", mutates_args={"out"})
def add_into(x: Tensor, out: Tensor) -> None:
    out.add_(x)


@torch.library.custom_op("dynaflow_test::bump", mutates_args={"counts"})
def bump(x: Tensor, counts: Tensor) -> Tensor:
    counts += x.shape[0]
    return x + 1


@bump.register_fake
def _(x: Tensor, counts: Tensor) -> Tensor:
    del counts
    return torch.empty_like(x)


@torch.library.custom_op("dynaflow_test::fails", mutates_args=())
def fails(x: Tensor) -> Tensor:
    if x.shape[0] < 100:
        raise ValueError("the tide is out")
    return x.clone()


@fails.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def fast(model: Callable[..., Any], **options: Any) -> dynaflow.CompiledModule:  # noqa: ANN401
    return compiled(model, Under(Weave()), **options)


def same(quick: nn.Module, model: Callable[..., Any], *args: Tensor, parts: int = 2) -> bool:
    """With equal seeds, equal results and equal arguments afterwards."""
    ours, theirs = [[a.clone() for a in args] for _ in range(2)]
    torch.manual_seed(5)
    with dynaflow.batch(parts=parts):
        mine = tree_leaves(quick(*ours))
    torch.manual_seed(5)
    return difference([*mine, *ours], [*tree_leaves(model(*theirs)), *theirs]) <= 1e-5


def numbers(*shape: int) -> Tensor:
    torch.manual_seed(2)
    return torch.randn(*shape)


def test_an_unknown_operator_runs_merged_and_explain_says_so() -> None:
    quick = fast(lambda x: scale(x + 1, 2.0) + 1)
    ROWS_SEEN.clear()
    assert same(quick, lambda x: (x + 1) * 2 + 1, numbers(6, 4))
    assert ROWS_SEEN == [6]
    assert quick.stats["python_calls"] == 1
    assert "dynaflow_test::scale" in quick.explain()
    assert "runs merged" in quick.explain()
    assert quick._graphs[0].model is not None
    assert quick._graphs[0].model.counts["unknown"] == 1


def test_an_operator_said_to_be_row_wise_is_split() -> None:
    quick = fast(lambda x: scale(x + 1, 2.0) + 1, row_wise=["dynaflow_test::scale"])
    ROWS_SEEN.clear()
    with dynaflow.batch(parts=3):
        quick(numbers(6, 4))
    assert sorted(ROWS_SEEN) in ([2, 2, 2], [2, 4], [6])
    assert same(quick, lambda x: (x + 1) * 2 + 1, numbers(7, 4), parts=3)


def test_a_name_said_to_be_row_wise_that_is_not_called_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quick = fast(lambda x: scale(x + 1, 2.0) + 1, row_wise=["dynaflow_test::scael"])
    assert same(quick, lambda x: (x + 1) * 2 + 1, numbers(6, 4))
    expected = "row_wise 'dynaflow_test::scael' is not called; near: dynaflow_test::scale, "
    assert caplog.text.count(expected) == 1


def test_an_operator_that_mixes_rows_is_right() -> None:
    assert same(fast(lambda x: minus_mean(x + 1)), lambda x: minus_mean(x + 1), numbers(6, 4))


def write_to_a_temporary(x: Tensor) -> Tensor:
    total = torch.zeros_like(x)
    add_into(x, total)
    add_into(x * 2, total)
    return total + 1


def write_to_an_argument(x: Tensor, y: Tensor) -> Tensor:
    add_into(x, y)
    return y * 2


def write_to_a_view(x: Tensor, y: Tensor) -> Tensor:
    add_into(x[:, 1:3], y[:, :2])
    return x + 1


def count_rows(x: Tensor, counts: Tensor) -> Tensor:
    result: Tensor = bump(bump(x * 2, counts), counts)
    return result


@pytest.mark.parametrize(
    ("model", "arguments"),
    [(write_to_a_temporary, 1), (write_to_an_argument, 2), (write_to_a_view, 2)],
)
def test_an_operator_that_writes_to_its_arguments_is_right(
    model: Callable[..., Any], arguments: int
) -> None:
    quick = fast(model)
    for n in (6, 7):
        assert same(quick, model, *[numbers(n, 4)] * arguments)


def test_an_operator_that_counts_rows_counts_each_once() -> None:
    quick = fast(count_rows)
    assert same(quick, count_rows, numbers(6, 4), torch.zeros(1, dtype=torch.int64))


def test_an_operator_that_raises_says_what_and_the_next_run_works() -> None:
    quick = fast(lambda x: fails(x + 1) * 2)
    for _ in range(2):
        with pytest.raises(dynaflow.Error, match="the tide is out") as refused:
            quick(numbers(6, 4))
        assert "dynaflow_test::fails" in str(refused.value)
    assert same(quick, lambda x: (x + 1) * 2, numbers(100, 4))


DRAWS: dict[str, Callable[[Tensor], Any]] = {
    "rand": lambda x: x + torch.rand_like(x),
    "randn": lambda x: x + torch.randn_like(x),
    "rand of its own shape": lambda x: x + torch.rand(x.shape[0], 1),
    "randint": lambda x: x + torch.randint(0, 9, (x.shape[0], 4)),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "dropout": lambda x: functional.dropout(x, 0.5, training=True),
    "dropout twice": lambda x: functional.dropout(functional.dropout(x, 0.3) * 2, 0.5),
    "multinomial": lambda x: torch.multinomial(x.softmax(1), 2),
    "normal": lambda x: torch.normal(x, x.abs() + 1),
    "without a batch": lambda x: x + torch.rand(4),
    "a permutation of rows": lambda x: x[torch.randperm(x.shape[0])],
    "two kinds": lambda x: torch.rand_like(x) + torch.randn_like(x),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_the_unsplit_model(name: str) -> None:
    model = DRAWS[name]
    quick = fast(model)
    for n, parts in ((6, 2), (7, 3), (16, 4)):
        assert same(quick, model, numbers(n, 4), parts=parts)


def test_the_random_state_afterwards_is_that_of_the_unsplit_model() -> None:
    model = DRAWS["dropout twice"]
    quick = fast(model)
    quick(numbers(6, 4))
    torch.manual_seed(9)
    with dynaflow.batch(parts=3):
        quick(numbers(6, 4))
    after = torch.rand(3)
    torch.manual_seed(9)
    model(numbers(6, 4))
    assert torch.equal(after, torch.rand(3))


def test_a_dropout_module_in_train_mode_is_right_without_gradients() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 4), nn.Dropout(0.1))
    assert same(fast(model.train()), model, numbers(7, 4), parts=3)


SIZES: dict[str, Callable[[Tensor], Any]] = {
    "nonzero inside": lambda x: x + (x > 0).nonzero().float().sum(),
    "masked_select inside": lambda x: x - x[x > 0].mean(),
    "a filtered matrix inside": lambda x: (x[x[:, 0] > 0] * 2).sum(0) + x,
    "scattered back": lambda x: torch.zeros_like(x).masked_scatter(x > 0, x[x > 0] * 3),
    "indices put back": lambda x: x.clone().index_add_(
        0, (x[:, 0] > 0).nonzero()[:, 0], x[x[:, 0] > 0]
    ),
    "two of them": lambda x: x + x[x > 0].sum() * x[x < 0].sum(),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_only_the_run_knows_are_right(name: str) -> None:
    model = SIZES[name]
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        quick = fast(model)
        for n in (6, 7, 1):
            x = numbers(n, 4)
            assert same(quick, model, x, parts=3)
            assert same(quick, model, -x.abs(), parts=3) or name == "masked_select inside"


def test_an_output_whose_size_only_the_run_knows_is_right() -> None:
    def model(x: Tensor) -> tuple[Tensor, Tensor]:
        return (x + 1)[x > 0], x * 2

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        quick = fast(model)
        for n in (6, 7):
            assert same(quick, model, numbers(n, 4))
    assert "size that only the run knows" in quick.explain()
