"""Functions in place of ops: traced where that says the same as a call, else called and counted."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import dynaflow
from dynaflow import Error, ScheduleContext
from small import Chain, Halves, Says, compiled, rows, two_lanes
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def all_replaced(function: Callable[..., Any], merged: bool = False, parts: int = 2) -> Halves:
    """Every op runs as `function`, per micro-batch or once for all of them."""

    def schedule(ctx: ScheduleContext) -> None:
        while ctx.unfinished():
            if merged:
                ops = [ctx.get_ready_ops(mb)[0] for mb in ctx.microbatches]
                ctx.execute(ops, replace_func=function)
            else:
                for op in ctx.get_ready_ops():
                    ctx.execute(op, replace_func=function)

    return Halves(schedule, parts)


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What a Linear does, with its tensors in the order in which explain shows them."""
    return functional.linear(x, weight, bias)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("batch", [2, 5, 8])
def test_a_traced_replacement_calls_no_python(batch: int, merged: bool) -> None:
    model = Chain(3)
    fast = compiled(model, all_replaced(linear, merged))
    assert difference([fast(rows(batch))], [model(rows(batch))]) <= 1e-6
    assert fast.stats["python_calls"] == 0
    assert "linear[layers.0]" in fast.plan()


def test_one_trace_serves_all_sizes_ops_and_micro_batches() -> None:
    model, traces = Chain(3), []

    def counted(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        traces.append(type(x).__name__)
        return functional.linear(x, weight, bias)

    fast = compiled(model, all_replaced(counted))
    for batch in (2, 3, 7, 8):
        assert difference([fast(rows(batch))], [model(rows(batch))]) <= 1e-6
    assert len(traces) == 1


def test_a_sequence_length_stays_free() -> None:
    model = Chain(2)
    fast = compiled(model, all_replaced(linear))
    for batch, length in ((2, 4), (3, 9), (5, 1)):
        x = torch.randn(batch, length, 8)
        assert difference([fast(x)], [model(x)]) <= 1e-6
        assert fast.stats["python_calls"] == 0


def test_a_closure_sees_its_weights_change() -> None:
    model, other = Chain(1), nn.Linear(8, 8)
    fast = compiled(model, all_replaced(lambda x, weight, bias: other(x)))
    assert difference([fast(rows(4))], [other(rows(4))]) <= 1e-6
    other.weight.mul_(3)
    assert difference([fast(rows(4))], [other(rows(4))]) <= 1e-6
    assert fast.stats["python_calls"] == 0


def test_a_closure_whose_weights_move_is_refused() -> None:
    own = nn.Linear(8, 8)
    fast = compiled(Chain(1), all_replaced(lambda x, weight, bias: own(x)))
    assert difference([fast(rows(4))], [own(rows(4))]) <= 1e-5
    own.weight.data = torch.eye(8)
    with pytest.raises(Error, match=r"closes over has other memory .* change it in place"):
        fast(rows(4))


def test_writes_in_place_stay_inside() -> None:
    def halved_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = functional.linear(x, weight, bias)
        y[:, :4].mul_(0.5)
        return y.relu_()

    model, x = Chain(1), rows(6)
    expected = halved_relu(x, *model.parameters())
    fast = compiled(model, all_replaced(halved_relu))
    assert difference([fast(x)], [expected]) <= 1e-6
    assert torch.equal(x, rows(6))
    assert fast.stats["python_calls"] == 0


def test_results_may_be_views_arguments_and_each_other() -> None:
    twice = Says(lambda x: (x * 2, x + 1))

    def same(x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x

    fast = dynaflow.compile(twice, all_replaced(same), engine="aten", cut=[])
    assert all(torch.equal(result, rows(6)) for result in fast(rows(6)))
    assert fast.stats["python_calls"] == 0


def test_an_operator_of_torch_can_replace() -> None:
    model = Says(lambda x: x * torch.sigmoid(x))
    for function in (torch.ops.aten.silu, functional.silu, nn.SiLU()):
        fast = dynaflow.compile(model, all_replaced(function), engine="aten", cut=[])
        assert difference([fast(rows(6))], [functional.silu(rows(6))]) <= 1e-6
        assert fast.stats["python_calls"] == 0


def test_a_custom_operator_can_replace_and_one_in_python_is_counted() -> None:
    @torch.library.custom_op("test_replacement::triple", mutates_args=())
    def triple(x: Tensor) -> Tensor:
        return x * 3

    @triple.register_fake
    def _(x: Tensor) -> Tensor:
        return torch.empty_like(x)

    fast = dynaflow.compile(Says(lambda x: x + 1), all_replaced(triple), engine="aten", cut=[])
    assert torch.equal(fast(rows(6)), rows(6) * 3)
    assert fast.stats["python_calls"] == 2


def test_what_depends_on_numbers_is_called_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def decides(x: Tensor) -> Tensor:
        return x * 2 if float(x.sum()) > 0 else x * 3

    fast = dynaflow.compile(Says(lambda x: x + 1), all_replaced(decides), engine="aten", cut=[])
    x = torch.cat([torch.ones(3, 8), -torch.ones(3, 8)])
    with caplog.at_level(logging.INFO, logger="dynaflow"):
        result = fast(x)
    assert torch.equal(result, torch.cat([x[:3] * 2, x[3:] * 3]))
    assert fast.stats["python_calls"] == 2
    assert "replacement decides is called, not traced" in caplog.text


def test_what_asks_for_its_micro_batch_is_called() -> None:
    def numbered(x: Tensor) -> Tensor:
        step = dynaflow.microbatch()
        return x * (step.rows.start if step else -1)

    fast = dynaflow.compile(Says(lambda x: x + 1), all_replaced(numbered), engine="aten", cut=[])
    x = torch.ones(6, 8)
    assert torch.equal(fast(x), torch.cat([x[:3] * 0, x[3:] * 3]))
    assert fast.stats["python_calls"] == 2


def test_a_replacement_that_mixes_rows_is_refused_unless_it_sees_all_of_them() -> None:
    def centred(x: Tensor) -> Tensor:
        return x - x.mean(0)

    model = Says(lambda x: x + 1)
    with pytest.raises(Error, match="S7") as refused:
        dynaflow.compile(model, all_replaced(centred), engine="aten", cut=[])(rows(6))
    assert "centred: it mixes rows of different micro-batches" in str(refused.value)
    assert "aten::mean" in str(refused.value)
    fast = dynaflow.compile(model, all_replaced(centred, merged=True), engine="aten", cut=[])
    assert difference([fast(rows(6))], [centred(rows(6))]) <= 1e-6
    fast = dynaflow.compile(model, all_replaced(centred, parts=1), engine="aten", cut=[])
    assert difference([fast(rows(6))], [centred(rows(6))]) <= 1e-6


def test_wrong_results_are_refused_before_anything_runs() -> None:
    ran = []

    def narrow(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ran.append(type(x))
        return x[:, :1]

    with pytest.raises(Error, match="S7") as refused:
        compiled(Chain(1), all_replaced(narrow))(rows(6))
    assert "result 0 is f32[batch, 1], not f32[batch, 8]" in str(refused.value)
    assert Tensor not in ran


def test_a_result_whose_size_only_a_call_knows_is_called() -> None:
    def picked(x: Tensor) -> Tensor:
        return x[(x > -100).all(1).nonzero()[:, 0]]

    fast = dynaflow.compile(Says(lambda x: x + 1), all_replaced(picked), engine="aten", cut=[])
    assert torch.equal(fast(rows(6)), rows(6))
    assert fast.stats["python_calls"] == 2


def test_a_chain_with_the_batch_inside_is_replaced() -> None:
    class SequenceFirst(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with dynaflow.mark("first"):
                y = torch.tanh(x)
            with dynaflow.mark("second"):
                return y * 2

    def schedule(ctx: ScheduleContext) -> None:
        for mb in ctx.microbatches:
            first = ctx.get_ready_ops(mb)
            chain = [*first, *ctx.get_ready_after(first)]
            ctx.execute(chain, replace_func=lambda x: torch.tanh(x) * 2)
        two_lanes(ctx)

    model, x = SequenceFirst(), torch.randn(5, 6, 8)
    fast = dynaflow.compile(model, Halves(schedule), engine="aten", cut=[], batch_dims={"x": 1})
    assert difference([fast(x)], [model(x)]) <= 1e-6
    assert fast.stats["python_calls"] == 0
