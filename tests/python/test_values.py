"""What goes in and comes out: strides, dtypes, aliases, updates, structures."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_structure

import dynaflow
from small import compiled
from strategies import Under, Weave
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def fast(model: Callable[..., Any], **options: Any) -> dynaflow.CompiledModule:  # noqa: ANN401
    return compiled(model, Under(Weave()), **options)


def numbers(*shape: int) -> Tensor:
    torch.manual_seed(2)
    return torch.randn(*shape)


LAYOUTS: dict[str, Callable[[int], Tensor]] = {
    "contiguous": lambda n: numbers(n, 8),
    "transposed": lambda n: numbers(8, n).t(),
    "every other column": lambda n: numbers(n, 16)[:, ::2],
    "every other row": lambda n: numbers(2 * n, 8)[::2],
    "a slice with an offset": lambda n: numbers(n + 3, 10)[3:, 2:],
    "expanded over the batch": lambda n: numbers(1, 8).expand(n, 8),
    "expanded over columns": lambda n: numbers(n, 1).expand(n, 8),
    "a scalar everywhere": lambda n: numbers(1, 1).expand(n, 8),
    "a column of a larger tensor": lambda n: numbers(n, 8, 3)[..., 1],
    "part of one storage": lambda n: numbers(100 * n)[: 8 * n].view(n, 8),
    "a window": lambda n: numbers(n + 7).unfold(0, 8, 1),
}


@torch._dynamo.config.patch(recompile_limit=64)  # type: ignore[untyped-decorator]
@pytest.mark.parametrize("first", ["contiguous", "transposed", "expanded over the batch"])
def test_a_model_takes_every_layout_after_any_other(first: str) -> None:
    def model(x: Tensor) -> tuple[Tensor, Tensor]:
        return (x * 2).softmax(1), x.sum(1) + 1

    quick = fast(model)
    for layout in (first, *LAYOUTS):
        for n in (4, 7, 1):
            x = LAYOUTS[layout](n)
            before = x.clone()
            with dynaflow.batch(parts=3):
                assert difference([*quick(x)], [*model(x)]) <= 1e-5, layout
            assert torch.equal(x, before), layout


def test_the_batch_may_be_any_dimension() -> None:
    def model(a: Tensor, b: Tensor) -> Tensor:
        return a.softmax(0) + b.permute(2, 1, 0)[0].t()

    class Named(torch.nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return model(a, b)

    quick = fast(Named(), batch_dims={"a": 1, "b": 1})
    for n in (4, 7, 1):
        a, b = numbers(5, n), numbers(5, n, 3)
        with dynaflow.batch(parts=3, uneven=1):
            assert difference([quick(a, b)], [model(a, b)]) <= 1e-5


DTYPES: dict[str, tuple[torch.dtype, Callable[[Tensor], Any]]] = {
    "int64": (torch.int64, lambda x: x * 3 + x.cumsum(1)),
    "int32": (torch.int32, lambda x: (x // 2, x % 3, x.clamp(min=1))),
    "uint8": (torch.uint8, lambda x: x + x),
    "int8": (torch.int8, lambda x: (x << 1) | 1),
    "bool": (torch.bool, lambda x: (x.any(1), x & x.flip(1), x.long().sum(1))),
    "float64": (torch.float64, lambda x: (x @ x.new_ones(8, 3)).exp()),
    "bfloat16": (torch.bfloat16, lambda x: (x * 2).relu() + 1),
    "float16": (torch.float16, lambda x: x.abs() + 1),
    "complex64": (torch.complex64, lambda x: (x * 1j, x.real, x.abs(), x.conj().resolve_conj())),
    "complex128": (torch.complex128, lambda x: x.sum(1) * (2 + 1j)),
}


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_right(name: str) -> None:
    dtype, model = DTYPES[name]
    quick = fast(model)
    for n in (4, 7):
        x = (numbers(n, 8) * 10).to(dtype)
        with dynaflow.batch(parts=3):
            ours, theirs = tree_leaves(quick(x)), tree_leaves(model(x))
        assert difference(ours, theirs) <= 1e-5


STRUCTURES: dict[str, Callable[[Tensor], Any]] = {
    "a tuple of one": lambda x: (x + 1,),
    "a dict": lambda x: {"a": x + 1, "b": {"c": x * 2}},
    "None": lambda x: (x + 1, None),
    "a number": lambda x: (x + 1, 3, 2.5, True, "text"),
    "the batch as a number": lambda x: (x + 1, x.shape[0], 2 * x.shape[0]),
    "a scalar tensor": lambda x: (x.sum(), x + 1),
    "an empty tensor": lambda x: (x[:, :0], x + 1),
    "a list of lists": lambda x: [[x + 1], [x * 2, [x - 1]]],
    "an integer from the model": lambda x: (x + 1, torch.tensor(4)),
    "a chunk of columns": lambda x: (x * 2).chunk(4, 1),
    "an unbound tensor": lambda x: (x * 2).unbind(1),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_comes_back(name: str) -> None:
    model = STRUCTURES[name]
    quick = fast(model)
    for n in (4, 7):
        x = numbers(n, 8)
        with dynaflow.batch(parts=3):
            ours, theirs = quick(x), model(x)
        assert tree_structure(ours) == tree_structure(theirs)
        assert difference(tree_leaves(ours), tree_leaves(theirs)) <= 1e-5


def test_arguments_of_every_kind_go_in() -> None:
    def model(x: Tensor, *, scale: float, more: Any, flag: bool, none: None) -> Any:  # noqa: ANN401
        assert none is None
        y = x * scale + more["y"][0] + more["n"]
        return y if flag else -y

    quick = fast(model)
    for flag in (True, False):
        x = numbers(5, 8)
        kwargs: dict[str, Any] = {
            "scale": 2.0,
            "more": {"y": [x + 1], "n": 3},
            "flag": flag,
            "none": None,
        }
        assert difference([quick(x, **kwargs)], [model(x, **kwargs)]) <= 1e-5


UPDATES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "all of it": lambda x, y: x.add_(y),
    "a column": lambda x, y: x[:, 2].copy_(y[:, 0]),
    "some columns": lambda x, y: x[:, 2:5].mul_(3).sum(1),
    "twice": lambda x, y: x.add_(1).mul_(y).sum(1),
    "after it was read": lambda x, y: (x * 2, x.add_(y))[0],
    "before it is read": lambda x, y: (x.add_(y), x * 2)[1],
    "a view of it": lambda x, y: x.view(-1, 2, 4)[:, 1].fill_(7).clone(),
    "by index": lambda x, y: x.index_copy_(1, torch.tensor([1, 3]), y[:, :2]),
    "by mask": lambda x, y: x.masked_fill_(y > 0, 5.0),
    "both": lambda x, y: (x.add_(y), y.add_(x))[1] * 1,
    "a row": lambda x, y: (x[0].add_(1), y * 2)[1],
    "the mean over the batch": lambda x, y: x.sub_(y.mean(0)),
    "and nothing else": lambda x, y: (x.zero_(), None)[1],
    "and returned through a view": lambda x, y: (x.add_(y)[:, :3], x.t()),
    "through a view that is returned": lambda x, y: x[:, 2:6].add_(y[:, :4]),
    "then read through a view": lambda x, y: x.add_(y)[:, 1:4] * 2,
    "with what it was before": lambda x, y: x.copy_(x.flip(1) + y),
    "with itself over rows": lambda x, y: x.copy_(x.flip(0) + y),
}


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "a slice with an offset"])
@pytest.mark.parametrize("name", UPDATES)
def test_an_argument_updated_in_place_is_updated(name: str, layout: str) -> None:
    model = UPDATES[name]
    quick = fast(model)
    for n, made in ((4, "contiguous"), (7, layout), (4, layout)):
        ours, theirs = [[LAYOUTS[made](n).clone(), numbers(n, 8)] for _ in range(2)]
        if made != "contiguous":
            ours[0], theirs[0] = LAYOUTS[made](n), LAYOUTS[made](n)
        with dynaflow.batch(parts=3):
            results = quick(*ours), model(*theirs)
        assert difference(tree_leaves(results[0]), tree_leaves(results[1])) <= 1e-5
        assert difference(ours, theirs) <= 1e-5
    assert [graph.unscheduled_because for graph in quick._graphs] == [None] * len(quick._graphs)


def test_a_buffer_updated_in_place_is_updated() -> None:
    class Counts(torch.nn.Module):
        seen: Tensor
        total: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
            self.register_buffer("total", torch.zeros(8))

        def forward(self, x: Tensor) -> Tensor:
            self.seen += x.shape[0]
            self.total.add_(x.sum(0))
            return x - self.total / self.seen

    ours, theirs = Counts(), Counts()
    quick = fast(ours)
    for n in (4, 7, 1, 4):
        with dynaflow.batch(parts=3):
            assert difference([quick(numbers(n, 8))], [theirs(numbers(n, 8))]) <= 1e-5
    assert quick._graphs[0].unscheduled_because is None
    assert int(ours.seen) == 16
    assert difference([ours.total], [theirs.total]) <= 1e-5


def test_an_output_that_is_an_input_is_that_very_tensor() -> None:
    x = numbers(4, 8)
    same, view, new = fast(lambda x: (x, x[:, :2], x + 1))(x)
    assert same.data_ptr() == x.data_ptr()
    assert view.data_ptr() == x.data_ptr()
    assert new.data_ptr() != x.data_ptr()
    updated = fast(lambda x: x.add_(1))(x)
    assert updated.data_ptr() == x.data_ptr()


def test_arguments_that_are_one_tensor_are_right() -> None:
    def model(a: Tensor, b: Tensor) -> Tensor:
        return a.add_(1) + b

    quick = fast(model)
    for other in (lambda x: x, lambda x: x[:, :], torch.clone):
        ours, theirs = [(x, other(x)) for x in (numbers(4, 8), numbers(4, 8))]
        assert difference([quick(*ours), *ours], [model(*theirs), *theirs]) <= 1e-5


def test_arguments_that_overlap_are_right() -> None:
    def model(a: Tensor, b: Tensor) -> Tensor:
        a.add_(1)
        return a * b

    quick = fast(model)
    for n in (4, 7):
        whole = [numbers(n, 12) for _ in range(2)]
        ours, theirs = [(w[:, :8], w[:, 4:]) for w in whole]
        assert difference([quick(*ours), whole[0]], [model(*theirs), whole[1]]) <= 1e-5


def test_a_batch_of_no_rows_is_right() -> None:
    def model(x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x.sum(1)

    quick = fast(model)
    assert difference([*quick(numbers(4, 8))], [*model(numbers(4, 8))]) <= 1e-5
    assert difference([*quick(numbers(0, 8))], [*model(numbers(0, 8))]) <= 1e-5
