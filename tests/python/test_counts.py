"""What a steady run does not do: copy, plan, call Python."""

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
import torch

import dynaflow
from small import Chain, Halves, compiled, rows
from strategies import Under, Weave, orders
from sweep import Trial
from zoo import ZOO


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def calls_below_run(model: dynaflow.CompiledModule, x: torch.Tensor) -> list[str]:
    """Python frames that begin inside of Model.run, or on another thread than the caller's."""
    inside, seen = [False], []
    caller = threading.get_ident()

    def watch(frame: FrameType, event: str, arg: Any) -> None:  # noqa: ANN401
        if threading.get_ident() != caller:
            seen.append(f"{event} {frame.f_code.co_qualname} on another thread")
        elif event in ("c_call", "c_return") and getattr(arg, "__name__", "") == "run":
            inside[0] = event == "c_call"
        elif event == "call" and inside[0]:
            seen.append(frame.f_code.co_qualname)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        model(x)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def test_a_steady_run_calls_no_python() -> None:
    fast = compiled(Chain(4), Under(Weave()))
    fast(rows(6))
    assert calls_below_run(fast, rows(6)) == []
    assert fast.stats["python_calls"] == 0


def test_the_first_run_of_a_plan_does_call_python() -> None:
    """So that the test above sees what there is to see."""
    fast = compiled(Chain(4), Under(Weave()))
    fast(rows(6))
    with dynaflow.batch(parts=3):
        assert any("schedule" in name for name in calls_below_run(fast, rows(6)))


def test_a_replacement_in_python_is_counted() -> None:
    def schedule(ctx: dynaflow.ScheduleContext) -> None:
        while ctx.unfinished():
            for op in ctx.get_ready_ops():
                ctx.execute(op, replace_func=lambda *a: next(t for t in a if len(t) == 3) * 1)

    fast = compiled(Chain(4), Halves(schedule))
    for _ in range(2):
        fast(rows(6))
        assert fast.stats["python_calls"] == 8


def test_a_steady_run_neither_splits_nor_records_nor_binds() -> None:
    fast = compiled(Chain(4), Under(Weave()))
    for batch in (6, 7, 6):
        fast(rows(batch))
    assert fast._graphs[0].model is not None
    before = fast._graphs[0].model.compile_stats
    for _ in range(5):
        for batch in (6, 7):
            fast(rows(batch))
    assert fast._graphs[0].model.compile_stats == before


def test_a_new_size_is_split_and_bound_but_not_recorded() -> None:
    fast = compiled(Chain(4), Under(Weave()))
    fast(rows(6))
    assert fast._graphs[0].model is not None
    before = fast._graphs[0].model.compile_stats
    fast(rows(8))
    after = fast._graphs[0].model.compile_stats
    assert after["recordings"] == before["recordings"]
    assert after["splits"] > before["splits"]
    assert after["bindings"] > before["bindings"]


def test_sizes_far_apart_and_many_of_them_stay_right() -> None:
    model = Chain(2)
    fast = compiled(model, Under(Weave()))
    for batch in [*range(1, 80), 1000, 2, 5000, 1]:
        x = rows(batch)
        assert torch.allclose(fast(x), model(x), atol=1e-5)
    assert len(fast._graphs) == 1


BATCH_OUTERMOST = ["two_towers", "vit", "llama_decode", "cnn_batchnorm_train"]


@pytest.mark.parametrize("name", BATCH_OUTERMOST)
def test_no_bytes_are_copied_with_the_batch_outermost(name: str) -> None:
    trial = Trial(next(entry for entry in ZOO if entry.name == name))
    fast = compiled(trial.model, Under(orders()["Weave"]), batch_dims=trial.batch_dims)
    for parts in (1, 2, 4):
        with dynaflow.batch(parts=parts):
            trial.call(fast, 7, 5)
        assert fast.stats["copied_bytes"] == 0


def test_bytes_copied_with_the_batch_inside_are_counted() -> None:
    trial = Trial(next(entry for entry in ZOO if entry.name == "sequence_first"))
    fast = compiled(trial.model, Under(orders()["Weave"]), batch_dims=trial.batch_dims)
    with dynaflow.batch(parts=2):
        trial.call(fast, 6, 5)
    whole = 5 * 6 * 64 * 4
    assert 0 < fast.stats["copied_bytes"] <= 4 * whole
