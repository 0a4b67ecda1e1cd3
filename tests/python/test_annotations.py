"""Where a model is cut: modules, functions, marks and tags; and what is said of a rule in vain."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import dynaflow
from dynaflow import SplitFunc, SplitModule
from small import Chain, Halves, compiled, rows
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


class Attention(nn.Module):
    """Two projections around an attention of one head."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.out = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Of each row alone."""
        q = self.query(x)[:, None]
        result: Tensor = self.out(functional.scaled_dot_product_attention(q, q, q)[:, 0])
        return result


class Block(nn.Module):
    """Attention, then a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.mlp = Attention(), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Both with a residual."""
        x = x + self.attention(x)
        result: Tensor = x + functional.gelu(self.mlp(x))
        return result


class Blocks(nn.Module):
    """Two of them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """One after the other."""
        for layer in self.layers:
            x = layer(x)
        return x


class Watcher(Halves):
    """Remembers the ops it was offered, with their tags."""

    def __init__(self) -> None:
        super().__init__(self._watch)
        self.seen: dict[str, set[str]] = {}

    def _watch(self, ctx: dynaflow.ScheduleContext) -> None:
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                self.seen[op.name] = op.tags
                ctx.execute(op)


def ops(model: nn.Module, cut: list[SplitModule | SplitFunc]) -> dict[str, set[str]]:
    """Names and tags of what a schedule is offered; the result is right in any case."""
    watcher = Watcher()
    fast = compiled(model, watcher, cut=cut)
    assert difference([fast(rows(4))], [model(rows(4))]) <= 1e-5
    return watcher.seen


@pytest.mark.parametrize(
    "rule", ["Attention", Attention, "layers.*.attention", "Att*", "*.attention"]
)
def test_a_module_is_found_by_class_name_and_path(rule: str | type) -> None:
    found = ops(Blocks(), [SplitModule(rule, tags={"attention", "heavy"})])
    tagged = {name for name, tags in found.items() if tags == {"attention", "heavy"}}
    assert tagged == {"layers.0.attention", "layers.1.attention"}


def test_one_path_is_one_module() -> None:
    found = ops(Blocks(), [SplitModule("layers.1.mlp", tags={"here"})])
    assert {name for name, tags in found.items() if "here" in tags} == {"layers.1.mlp"}


FUNCTIONS = ["scaled_dot_product*", "*attention", functional.scaled_dot_product_attention]


@pytest.mark.parametrize("rule", FUNCTIONS)
def test_a_function_is_found_by_name_and_by_itself(rule: str | Callable[..., object]) -> None:
    found = ops(Blocks(), [SplitFunc(rule, tags={"attention"})])
    tagged = [name for name, tags in found.items() if tags == {"attention"}]
    assert {name.split(".")[1] for name in tagged} == {"0", "1"}


def test_a_call_of_a_function_is_one_op() -> None:
    found = ops(Blocks(), [SplitFunc(functional.scaled_dot_product_attention, tags={"one"})])
    assert len([tags for tags in found.values() if tags == {"one"}]) == 2


def test_a_sequence_of_calls_is_one_op() -> None:
    class Pairs(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x.sin().cos() + 1).sin().cos()

    found = ops(Pairs(), [SplitFunc(("sin", "cos"), tags={"pair"})])
    assert len([tags for tags in found.values() if tags == {"pair"}]) == 2
    assert len(found) == 3


def test_without_annotations_repeated_blocks_are_ops() -> None:
    assert set(ops(Blocks(), [])) >= {"layers.0", "layers.1"}


@pytest.mark.parametrize(
    ("rule", "near"),
    [
        (SplitModule("Atention"), "Attention"),
        (SplitModule("layers.0.atention"), "layers.0.attention"),
        (SplitFunc("gelu_"), "gelu"),
    ],
)
def test_a_rule_that_matches_nothing_warns_and_names_what_is_near(
    rule: SplitModule | SplitFunc, near: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "dynaflow"):
        ops(Blocks(), [rule])
    said = [r.getMessage() for r in caplog.records if "matches nothing" in r.getMessage()]
    assert len(said) == 1
    assert near in said[0].split("near:")[1]


def test_a_cut_that_lists_plain_names_is_refused() -> None:
    names: Any = ["Linear"]
    with pytest.raises(TypeError, match=r"SplitModule\(...\) .* not 'Linear'"):
        dynaflow.compile(Blocks(), cut=names)


def test_a_rule_that_matches_does_not_warn(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "dynaflow"):
        ops(Blocks(), [SplitModule("Attention")])
    assert "matches nothing" not in caplog.text


@dynaflow.mark("activation", tags={"cheap", "marked"})  # type: ignore[untyped-decorator]
def activation(x: Tensor) -> Tensor:
    return functional.gelu(x) * 2


class Marked(nn.Module):
    """Marks as context manager and as decorator."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Wide in the middle."""
        with dynaflow.mark("up", tags={"wide"}):
            y = self.up(x) + 1
        result: Tensor = self.down(activation(y))
        return result


def test_a_mark_reaches_ops_as_context_and_as_decorator() -> None:
    found = ops(Marked(), [])
    assert found["up"] == {"wide"}
    assert found["activation"] == {"cheap", "marked"}
    assert len(found) >= 3


def test_a_mark_outside_of_a_trace_does_nothing() -> None:
    model, x = Marked(), rows(4)
    with dynaflow.mark("outside"):
        expected = model(x)
    assert torch.equal(expected, model.down(functional.gelu(model.up(x) + 1) * 2))


def test_a_mark_in_a_repeated_block_is_one_op_per_block() -> None:
    class Repeated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Marked() for _ in range(2))

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    found = ops(Repeated(), [])
    assert {"layers.0.up", "layers.1.up", "layers.0.activation", "layers.1.activation"} <= {*found}


def test_an_annotation_says_itself() -> None:
    assert (
        repr(SplitModule(Attention, tags={"b", "a"})) == "SplitModule('Attention', tags=['a', 'b'])"
    )
    assert "sin" in repr(SplitFunc(("sin", torch.cos)))


def test_batch_dims_that_name_no_argument_are_refused_with_the_names() -> None:
    with pytest.raises(ValueError, match=r"batch_dims names \['y'\].*'x'"):
        compiled(Chain(), batch_dims={"y": 0})(rows(4))


def test_facts_and_requests_reach_the_split() -> None:
    seen: list[tuple[list[int], dict[str, int]]] = []

    class Curious(Halves):
        def split(self, batch: dynaflow.Batch) -> dynaflow.Split:
            seen.append((batch.requests, batch.facts))
            return batch.at_requests(2)

    model = Chain()
    fast = compiled(model, Curious())
    with dynaflow.batch(requests=[1, 5], decoding=1):
        assert difference([fast(rows(6))], [model(rows(6))]) <= 1e-5
    assert ([1, 5], {"decoding": 1}) in seen
    assert "layers.0" in fast.plan()
    with pytest.raises(dynaflow.Error), dynaflow.batch(requests=[1, 2]):
        fast(rows(6))
