"""torch.compile(model, backend="dynaflow"): the same through torch's own front door."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynaflow
from dynaflow import backend
from small import AT_LINEAR, Chain, Halves, Says, rows
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[backend.ScheduledGraph]:
    """Every graph that is captured."""
    made: list[backend.ScheduledGraph] = []
    original = backend.ScheduledGraph.__init__

    def spy(self: backend.ScheduledGraph, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        original(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(backend.ScheduledGraph, "__init__", spy)
    return made


def fast(model: nn.Module, **options: Any) -> Any:  # noqa: ANN401
    settings: dict[str, Any] = {"scheduler": Halves(), "engine": "aten"} | options
    return torch.compile(model, backend="dynaflow", options=settings)


def test_every_batch_is_right_and_the_second_is_not_captured_again(
    graphs: list[backend.ScheduledGraph],
) -> None:
    model = Chain()
    compiled = fast(model)
    for batch in (4, 6, 3, 2, 7, 16):
        assert difference([compiled(rows(batch))], [model(rows(batch))]) <= 1e-5
    assert len(graphs) == 1
    assert graphs[0].model is not None
    assert graphs[0].model.stats["steps"] == 6


def test_a_batch_of_one_first_is_right(graphs: list[backend.ScheduledGraph]) -> None:
    model = Chain()
    compiled = fast(model)
    for batch in (1, 4, 1, 6):
        assert difference([compiled(rows(batch))], [model(rows(batch))]) <= 1e-5
    assert graphs[-1].model is not None


def test_a_graph_break_leaves_two_scheduled_graphs(graphs: list[backend.ScheduledGraph]) -> None:
    first, second = Chain(2), Chain(3)

    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first, second

        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x)
            torch._dynamo.graph_break()
            result: Tensor = self.second(x)
            return result

    model = Broken()
    compiled = fast(model)
    for batch in (4, 6, 5):
        assert difference([compiled(rows(batch))], [model(rows(batch))]) <= 1e-5
    scheduled = [graph for graph in graphs if graph.model is not None]
    assert {graph.model.counts["ops"] for graph in scheduled if graph.model} == {2, 3}


def test_a_print_in_the_middle_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        print("half way", tuple(y.shape))
        return y + 1

    compiled = fast(Says(forward))
    assert torch.equal(compiled(rows(4)), rows(4) * 2 + 1)
    assert "half way (4, 8)" in capsys.readouterr().out


def test_options_are_those_of_dynaflow_compile(graphs: list[backend.ScheduledGraph]) -> None:
    compiled = fast(Chain(), scheduler=dynaflow.Leapfrog(3), cut=AT_LINEAR)
    compiled(rows(6))
    assert graphs[-1].model is not None
    assert graphs[-1].model.stats["steps"] == 9


def test_a_batch_on_another_dimension_is_found_by_name(
    graphs: list[backend.ScheduledGraph],
) -> None:
    class Transposed(nn.Module):
        def forward(self, tokens: Tensor) -> Tensor:
            return tokens.softmax(0)

    compiled = fast(Transposed(), batch_dims={"tokens": 1})
    x = torch.randn(5, 6)
    assert difference([compiled(x)], [x.softmax(0)]) <= 1e-5
    assert graphs[-1].model is not None
    assert graphs[-1].model.counts["split"] > 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"scheduler": "Leapfrog"}, "scheduler is an OpScheduler"),
        ({"engine": "tensorrt"}, "engine is"),
        ({"schedular": Halves()}, "schedular"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, Any], error: str) -> None:
    with pytest.raises(Exception, match=error):
        torch.compile(Chain(), backend="dynaflow", options=options)(rows(4))


def test_training_through_torch_compile_has_right_gradients(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model, twin = Chain(), Chain()
    compiled = fast(model)
    with torch.enable_grad(), caplog.at_level(logging.INFO, "dynaflow"):
        compiled(rows(4)).sum().backward()
        twin(rows(4)).sum().backward()
    ours, theirs = [p.grad for p in model.parameters()], [p.grad for p in twin.parameters()]
    assert difference(ours, theirs) <= 1e-5
    assert "training is not scheduled" in caplog.text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Inductor's, of torch's own
def test_no_options_at_all_is_the_unsplit_model() -> None:
    model = Chain()
    compiled = torch.compile(model, backend="dynaflow")
    assert difference([compiled(rows(4))], [model(rows(4))]) <= 1e-5
