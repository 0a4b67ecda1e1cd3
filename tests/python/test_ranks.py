"""Two ranks: what is equal, what is refused, and what becomes of a rank whose peer is lost."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import ranks

ROOT = Path(__file__).resolve().parents[2]


def run_well(program: str, *arguments: str) -> str:
    """What rank 0 printed."""
    ended = ranks.run(program, *arguments)
    assert [one.code for one in ended] == [0, 0], "\n".join(one.errors for one in ended)
    return ended[0].output


def test_every_collective_equals_the_unsplit_model() -> None:
    assert "ways equal" in run_well("collectives")


def test_a_group_of_one_rank_is_a_group() -> None:
    (alone,) = ranks.run("collectives", ranks=1)
    assert alone.code == 0, alone.errors
    assert "ways equal" in alone.output


@pytest.mark.parametrize("model", ["llama", "qwen3_moe", "dit", "megatron"])
def test_tensor_parallel_models_equal_their_unsplit_ranks(model: str) -> None:
    assert model in run_well("models", model)


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("size", r'"network all_reduce.0 24 f32" here, "network all_reduce.0 32 f32" there'),
        ("strategy", r'"strategy CommOverlap, 2 microbatches.*" here, ".* 3 microbatches.*" there'),
        ("empty", r'"compute linear.3" here, "network2 all_reduce.3 0 f32" there'),
        ("empty part", r'"network all_reduce.0 24 f32" here, "network all_reduce.0 48 f32" there'),
    ],
)
def test_ranks_that_differ_say_where_and_go_on(how: str, line: str) -> None:
    message = run_well("disagree", how)
    assert "R9 ranks-disagree" in message
    assert re.search(line, message), message


@pytest.mark.parametrize(
    ("how", "layer"), [("kill", 0), ("kill", 2), ("stall", 1), ("raise", 0), ("raise", 1)]
)
def test_a_lost_rank_is_an_error_that_names_it(how: str, layer: int) -> None:
    started = ranks.start("lost", how, str(layer))
    output, errors = started[0].communicate(timeout=120)
    for process in started:
        process.kill()
    assert started[0].returncode == 0, errors
    first, again = output.split("AGAIN")
    assert "R10 transfer-failed" in first
    assert re.search(r"all_reduce on microbatch \d failed on lane network2?: .*rank 0 of 2", first)
    assert "R11 group-broken" in again
    started[1].communicate(timeout=60)


def test_measured_costs_are_one_answer_for_all_ranks(tmp_path: Path) -> None:
    run_well("calibrated", str(tmp_path))


def test_the_rank_that_was_late_is_found(tmp_path: Path) -> None:
    assert "rank 1 came last" in run_well("late", str(tmp_path))


def test_random_sizes_stay_right_and_memory_stays() -> None:
    assert "runs, memory" in run_well("soak", "120")


def test_the_strategy_to_copy_runs_under_torchrun() -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    example = str(ROOT / "examples/python/comm_overlap.py")
    done = subprocess.run(
        [*command, example],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert "network2 |" in done.stdout
