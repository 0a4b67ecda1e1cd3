"""A batch that is not split runs as Inductor compiles it, and is right at every size."""

import logging
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

import dynaflow
from dynaflow import whole
from small import Chain, rows
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def variants(fast: dynaflow.CompiledModule) -> int:
    (graph,) = fast._graphs
    return len(graph._whole._variants)


def test_nothing_is_compiled_before_a_whole_batch_comes() -> None:
    fast = dynaflow.compile(Chain(), dynaflow.Sequential(2))
    fast(rows(4))
    assert variants(fast) == 0


def test_convolutions_are_right_at_every_batch() -> None:
    """Their kernels change at a batch of 16; Inductor mistakes their strides without examples."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).eval()
    fast = dynaflow.compile(model, dynaflow.Sequential())
    for batch in (4, 1, 3, 16, 17, 4):
        x = torch.randn(batch, 3, 8, 8)
        assert difference([fast(x)], [model(x)]) <= 1e-5
    assert 2 <= variants(fast) <= 4


def test_a_batch_that_is_not_outermost_is_right() -> None:
    """Inductor computes wrong numbers here without examples."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=16, batch_first=False).eval()
    fast = dynaflow.compile(layer, dynaflow.Sequential(), batch_dims={"src": 1})
    for length, batch in ((5, 4), (5, 1), (7, 3)):
        x = torch.randn(length, batch, 16)
        assert difference([fast(x)], [layer(x)]) <= 1e-5
    assert variants(fast) <= 2


def test_too_many_assumptions_end_in_the_graph_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(whole, "MOST_VARIANTS", 1)
    model = Chain()
    fast = dynaflow.compile(model, dynaflow.Sequential())
    with caplog.at_level(logging.WARNING, logger="dynaflow"):
        for batch in (4, 1, 5, 1):
            assert difference([fast(rows(batch))], [model(rows(batch))]) <= 1e-5
    assert variants(fast) == 1
    assert caplog.text.count("runs uncompiled") <= 1


def test_gradients_come_through_the_whole_graph() -> None:
    model = Chain(2)
    fast = dynaflow.compile(model, dynaflow.Sequential(2))
    for batch in (4, 6):
        grads: list[list[Tensor]] = []
        for run in (model, fast):
            model.zero_grad()
            with torch.enable_grad():
                run(rows(batch)).square().sum().backward()
            grads.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        assert len(grads[0]) == 4
        assert difference(grads[1], grads[0]) <= 1e-5
