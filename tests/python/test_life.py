"""A compiled model lives among threads, processes, copies and changing weights."""

import copy
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynaflow
from dynaflow import Error
from small import Chain, Halves, compiled, rows
from strategies import Under, Weave
from sweep import difference


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def right(fast: nn.Module, model: nn.Module, x: Tensor) -> bool:
    return difference([fast(x)], [model(x)]) <= 1e-5


def test_plan_and_stats_are_those_of_the_graph_that_ran_last() -> None:
    fast = compiled(lambda x: x * 2 + 1)
    fast(rows(4))
    first = fast.stats["arena_bytes"], fast.plan()
    fast(rows(4).double())
    assert len(fast._graphs) == 2
    fast(rows(4))
    assert (fast.stats["arena_bytes"], fast.plan()) == first


def test_a_row_may_meet_a_batch() -> None:
    fast = compiled(lambda x, y: x * y)
    for one, many in ((1, 6), (6, 6), (1, 3), (1, 1)):
        assert torch.equal(fast(rows(one), rows(many)), rows(one) * rows(many))


def test_two_models_do_not_meet() -> None:
    models = [Chain(2), Chain(5)]
    fast = [compiled(model) for model in models]
    for batch in (4, 1, 6):
        assert all(right(f, m, rows(batch)) for f, m in zip(fast, models, strict=True))
    assert all(len(f._graphs) == 1 for f in fast)


def test_a_model_that_loses_its_batch_runs_unsplit_at_any_size() -> None:
    fast = compiled(lambda x: (x + 1)[1:])
    assert all(torch.equal(fast(rows(n)), (rows(n) + 1)[1:]) for n in range(2, 14))
    assert len(fast._graphs) == 2, "one for the first size, one for all others"
    assert "unscheduled" in fast.explain()


def test_a_dozen_models_of_one_class_are_all_captured() -> None:
    models = [Chain() for _ in range(12)]
    fast = [compiled(model) for model in models]
    assert all(right(f, m, rows(4)) for f, m in zip(fast, models, strict=True))
    assert [len(f._graphs) for f in fast] == [1] * 12


class Broken(nn.Module):
    """Two halves with a graph break in between."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Chain(2), Chain(3)

    def forward(self, x: Tensor) -> Tensor:
        """The break is where it says so."""
        x = self.first(x)
        torch._dynamo.graph_break()
        result: Tensor = self.second(x)
        return result


def test_a_graph_break_leaves_pieces_that_are_scheduled_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = Broken()
    with caplog.at_level(logging.WARNING, logger="dynaflow"):
        fast = compiled(model, cut=[dynaflow.SplitModule("Linear"), dynaflow.SplitModule("Tanhh")])
        assert all(right(fast, model, rows(batch)) for batch in (4, 6, 1, 5))
    ops = [graph.model.counts["ops"] for graph in fast._graphs if graph.model]
    assert sorted(set(ops)) == [2, 3]
    assert "Broken is scheduled in pieces" in caplog.text
    assert "graph_break" in caplog.text
    assert caplog.text.count("'Tanhh' matches nothing") == 1


def test_with_fullgraph_a_graph_break_is_an_error() -> None:
    fast = dynaflow.compile(Broken(), Halves(), engine="aten", fullgraph=True)
    for _ in range(2):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
            fast(rows(4))


def test_threads_may_make_the_first_call_together() -> None:
    model, results = Chain(), []
    fast = compiled(model)
    start = threading.Barrier(4)
    inputs = {n: rows(n) for n in range(1, 9)}

    def work(batch: int) -> None:
        start.wait()
        with torch.no_grad():
            for n in (batch, batch + 1, batch):
                results.append(right(fast, model, inputs[n]))

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 12


def test_two_models_run_in_two_threads_with_python_replacements() -> None:
    """Both want the GIL and the lanes."""

    def schedule(ctx: dynaflow.ScheduleContext) -> None:
        lanes = [ctx.lane("a"), ctx.lane("b")]
        while ctx.unfinished():
            for mb in ctx.microbatches:
                for op in ctx.get_ready_ops(mb):
                    ctx.execute(
                        op,
                        lane=lanes[mb.index],
                        replace_func=lambda *args: next(a for a in args if a.shape == (3, 8)) + 1,
                    )

    wrong: list[int] = []
    models, x = [compiled(Chain(2), Halves(schedule)) for _ in range(2)], rows(6)
    for model in models:
        model(x)

    def work(model: nn.Module) -> None:
        with torch.no_grad():
            for i in range(100):
                if not torch.equal(model(x), x + 1 + 1):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class Reentrant(nn.Module):
    """A model with an operator that calls a compiled model: another one, or this very one."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        """A layer, and what CALLED makes of it."""
        result: Tensor = torch.ops.dynaflow_test.call_back(self.first(x)) + 1
        return result


CALLED: list[nn.Module] = []


@torch.library.custom_op("dynaflow_test::call_back", mutates_args=())
def call_back(x: Tensor) -> Tensor:
    result: Tensor = CALLED[-1](x)
    return result.clone()


@call_back.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def test_an_operator_that_calls_the_model_it_is_in_is_refused() -> None:
    fast = compiled(Reentrant())
    CALLED.append(nn.Identity())
    fast(rows(4))
    CALLED.append(fast)
    with pytest.raises(Error, match="R4"):
        fast(rows(4))
    CALLED.append(nn.Identity())
    assert right(fast, fast.model, rows(4))


def test_an_operator_may_call_a_plain_model() -> None:
    CALLED.append(Chain(2))
    fast = compiled(Reentrant())
    assert right(fast, fast.model, rows(4))


def test_a_forked_child_runs_the_model() -> None:
    model = Chain()
    fast = compiled(model, Under(Weave()))
    fast(rows(6))
    expected = model(rows(6))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            torch.set_num_threads(1)
            status = 0 if difference([fast(rows(6))], [expected]) <= 1e-5 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert right(fast, model, rows(6))


def test_loaded_and_changed_weights_are_seen_at_once() -> None:
    model: Any = Chain()
    fast = compiled(model)
    fast(rows(4))
    other: Any = Chain()
    nn.init.normal_(other.layers[0].weight)
    model.load_state_dict(other.state_dict())
    assert right(fast, other, rows(4))
    model.layers[1].weight.mul_(3)
    assert right(fast, model, rows(4))
    model.layers[2].bias.data = torch.ones(8)
    assert right(fast, model, rows(4))
    model.layers[0].weight = nn.Parameter(torch.eye(8))
    assert right(fast, model, rows(4))
    assert len(fast._graphs) == 1


def test_the_state_dict_is_the_models() -> None:
    model = Chain()
    fast = compiled(model)
    assert {name.removeprefix("model.") for name in fast.state_dict()} == set(model.state_dict())
    assert sum(p.numel() for p in fast.parameters()) == sum(p.numel() for p in model.parameters())


def test_a_copy_has_weights_of_its_own() -> None:
    fast = compiled(Chain())
    before = fast(rows(4)).clone()
    twin: Any = copy.deepcopy(fast)
    twin.model.layers[0].weight.zero_()
    assert not torch.equal(twin(rows(4)), before)
    assert torch.equal(fast(rows(4)), before)
    assert right(twin, twin.model, rows(6))


class Gate(nn.Module):
    """Behaves differently in training, without any gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        """One more in training."""
        y: Tensor = self.layer(x)
        return y + 1 if self.training else y


def test_eval_and_train_reach_the_model() -> None:
    fast = compiled(Gate())
    for mode in (True, False, True):
        fast.train(mode)
        assert fast.model.training is mode
        assert right(fast, fast.model, rows(4))
    fast.eval()
    assert right(fast, fast.model, rows(6))


def test_inference_mode_and_no_grad_and_grad_without_parameters_are_all_right() -> None:
    model = Chain()
    fast = compiled(model)
    with torch.inference_mode():
        inside = rows(4)
        assert right(fast, model, inside)
        assert fast(inside).is_inference()
    assert right(fast, model, rows(4))
    with torch.enable_grad():
        plain = compiled(lambda x: x * 2)
        assert torch.equal(plain(rows(4)), rows(4) * 2)
        assert plain.stats["steps"] > 1


def test_training_runs_unsplit_with_right_gradients_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model, twin = Chain(), Chain()
    fast = compiled(model)
    with caplog.at_level(logging.INFO, "dynaflow"), torch.enable_grad():
        for batch in (4, 6, 4):
            for m in (model, twin):
                m.zero_grad()
            fast(rows(batch)).square().sum().backward()
            twin(rows(batch)).square().sum().backward()
            ours = [p.grad for p in model.parameters()]
            theirs = [p.grad for p in twin.parameters()]
            assert difference(ours, theirs) <= 1e-5
    said = [r.getMessage() for r in caplog.records if "training is not scheduled" in r.message]
    assert len(said) == 1
    assert "training is not scheduled" in fast.explain()
    assert right(fast, model, rows(4)), "without gradients it is scheduled"
    assert fast.stats["steps"] == 6


def test_the_profiler_shows_ops_with_their_micro_batches() -> None:
    fast = compiled(Chain(2))
    fast(rows(4))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        fast(rows(4))
    names = {event.name for event in profile.events()}
    assert {"layers.0.0", "layers.0.1", "layers.1.0", "layers.1.1"} <= names, sorted(names)
    assert any("addmm" in name for name in names)


def test_a_timeline_names_steps_and_lanes() -> None:
    fast = compiled(Chain(2))
    fast(rows(4))
    timeline = fast.timeline(rows(4))
    assert {label for label, *_ in timeline.spans} == {
        "layers.0.0",
        "layers.0.1",
        "layers.1.0",
        "layers.1.1",
    }
    assert {lane for _, lane, *_ in timeline.spans} == {"left", "right"}
    assert all(begin <= end for *_, begin, end in timeline.spans)
    assert "traceEvents" in timeline.chrome_trace()


def test_before_the_first_call_there_is_nothing_to_show() -> None:
    fast = compiled(Chain())
    for ask in (lambda: fast.stats, fast.plan):
        with pytest.raises(RuntimeError, match="call the model first"):
            ask()
    assert "0 graph(s)" in fast.explain()
