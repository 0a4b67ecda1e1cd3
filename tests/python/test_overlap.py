"""What the benchmark of overlap compares is the same computation, and its bound is one."""

import sys
from pathlib import Path

import pytest
from support.bound import bound
from support.lockstep import JointRounds
from support.network import Link, Rights, run_ranks
from support.rounds import Time

ROOT = Path(__file__).resolve().parents[2]

COMPARE = """
import torch, torch.distributed as dist
from support.by_hand import ByHand
from support.tensor_parallel import Decoder, Shape, alone
dist.init_process_group("gloo")
model, x = Decoder(dist.get_rank()).eval(), Decoder.example(Shape(5, 3))
with torch.inference_mode():
    expected = model(x)
    def error(y):
        return float((y - expected).abs().max() / expected.abs().max())
    for parts in (1, 2, 3):
        by_hand = ByHand(model, x, parts)
        print("equal", all(error(by_hand()) <= 1e-5 for _ in range(2)))
    print("without the network", error(Decoder(dist.get_rank(), alone()).eval()(x)) <= 1e-5)
    print("without computation", error(ByHand(model, x, 2, computes=False)()) <= 1e-5)
dist.barrier()
dist.destroy_process_group()
"""


def test_by_hand_equals_the_model_and_no_part_of_it_does(capfd: pytest.CaptureFixture[str]) -> None:
    with Link(gigabits=1, rights=Rights.NONE) as link:
        program = [sys.executable, "-c", COMPARE]
        run_ranks(program, link, timeout=120, env={"PYTHONPATH": str(ROOT / "bench")})
    said = capfd.readouterr().out
    assert said.count("equal True") == 2 * 3
    assert said.count("without the network False") == 2
    assert said.count("without computation False") == 2


def test_the_bound_is_what_is_busy_longest_and_what_has_nothing_beside_it() -> None:
    assert bound(compute=100, network=20, host=10, chunks=10) == 100 + 10 + 1
    assert bound(compute=100, network=200, host=10, chunks=10) == 200 + 10


def test_a_sure_ratio_is_below_the_median_by_its_sign_test() -> None:
    rounds = [{"slow": [Time(float(ratio), 0)], "fast": [Time(1, 0)]} for ratio in range(1, 16)]
    joint = JointRounds([*rounds], dropped=0, others=0)
    assert joint.ratio("slow", "fast").median == 8
    assert joint.sure_ratio("slow", "fast") == 4


def test_rounds_survive_being_saved() -> None:
    joint = JointRounds([{"arm": [Time(1, 2), Time(3, 4)]}], dropped=1, others=0.5, slowed=0.1)
    assert JointRounds.from_json(joint.to_json()) == joint
