"""What the benchmark of overlap compares is the same computation, and its bound is one."""

import sys
from pathlib import Path

import pytest
from support.bound import bound
from support.lockstep import JointRounds, join
from support.network import Link, Rights, run_ranks
from support.rounds import Time
from support.samples import Sample, calmest

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

COLLECT = """
from contextlib import closing
import torch.distributed as dist
from support.samples import Sampler
dist.init_process_group("gloo")
with closing(Sampler()) as sampler:
    kinds = {"a": dist.get_rank, "b": lambda: 10 + dist.get_rank()}
    taken = sampler.collect(kinds, enough=2, seconds=0)
print({name: [sample.everywhere for sample in samples] for name, samples in taken.items()})
dist.barrier()
dist.destroy_process_group()
"""


def run_two(program: str) -> None:
    with Link(gigabits=1, rights=Rights.NONE) as link:
        env = {"PYTHONPATH": str(ROOT / "bench")}
        run_ranks([sys.executable, "-c", program], link, timeout=120, env=env)


def test_by_hand_equals_the_model_and_no_part_of_it_does(capfd: pytest.CaptureFixture[str]) -> None:
    run_two(COMPARE)
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


def test_ranks_take_samples_together(capfd: pytest.CaptureFixture[str]) -> None:
    run_two(COLLECT)
    said = capfd.readouterr().out
    assert said.count("{'a': [[0, 1], [0, 1]], 'b': [[10, 11], [10, 11]]}") == 2


def sample(wall: float, *, others: float = 0, slowed: float = 0) -> Sample[Time]:
    return Sample([Time(wall, 0)], others, slowed)


def test_disturbed_samples_do_not_count() -> None:
    calm = [sample(wall) for wall in range(5)]
    disturbed = [sample(9, others=0.5), sample(9, slowed=0.5)]
    assert calmest([*disturbed, *calm]) == calm


def test_where_few_are_calm_the_least_disturbed_count() -> None:
    samples = [sample(wall, slowed=wall / 10) for wall in range(8)]
    assert calmest(samples[::-1]) == samples[:5]


def test_a_round_is_a_sample_of_each_arm() -> None:
    taken = {
        "a": [sample(9, slowed=1), *(sample(wall) for wall in range(6))],
        "b": [sample(wall + 10) for wall in range(5)],
    }
    rounds = join(taken)
    assert rounds.wall("a").median == 2
    assert rounds.wall("b").median == 12
    assert (len(rounds.kept), rounds.dropped) == (5, 2)
