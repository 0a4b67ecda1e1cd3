"""What the benchmark of overlap compares is the same computation, and its bound is one."""

import os
import sys
import time
from pathlib import Path

import pytest
from support.awake import AwakeCore
from support.balance import Balance
from support.bound import THREADS, bound, bound_of
from support.lockstep import JointRounds, JointSample, RankTime
from support.network import Link, Rights, run_ranks
from support.proc_stat import parse_core_times, read_core_times, read_own_core_times

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

MEASURE = """
import torch.distributed as dist
from support.awake import AwakeCore
from support.lockstep import JointRounds, measure_together
dist.init_process_group("gloo")
arms = {"a": dist.barrier, "b": dist.barrier}
with AwakeCore() as core:
    rounds = measure_together(arms, core, rounds=2, seconds=0)
print("arms", [list(each) for each in rounds.taken])
print("ranks", {len(sample.times) for each in rounds.taken for sample in each.values()})
print("as saved", JointRounds.from_json(rounds.to_json()).wall("a") == rounds.wall("a"))
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


def test_interrupts_are_no_time_to_compute() -> None:
    joint = {"compute": [RankTime(100, 100, 100, 0)], "network": [RankTime(20, 5, 10, 0)]}
    with_interrupts, without = (
        bound_of(joint, "compute", "network", 1, *host) for host in ((), (THREADS,))
    )
    assert with_interrupts == pytest.approx(without + 5 * (1 - 1 / 16))


def test_the_kernel_tells_what_each_core_did() -> None:
    stat = "cpu  3 3 3 3 3 3 3 3 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 2 2 2 2 2 2 2 2 0 0\nintr 7\n"
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert parse_core_times(stat, [1]) == pytest.approx([tick * n for n in (2, 2, 2, 4, 2)])
    assert parse_core_times(stat, [0, 1]) == pytest.approx(parse_core_times(stat, None))
    assert 0 < read_own_core_times().busy <= read_core_times().busy


def test_a_core_that_is_kept_awake_tells_how_long_nobody_needed_it() -> None:
    with AwakeCore() as core:
        end = time.monotonic() + 60
        while core.idle_ns() == 0 and time.monotonic() < end:
            time.sleep(0.01)
        begin, first = time.perf_counter_ns(), core.idle_ns()
        time.sleep(0.01)
        assert 0 < first <= core.idle_ns()
        assert core.idle_ns() - first <= time.perf_counter_ns() - begin
        keeper = core.process_id
    assert not Path(f"/proc/{keeper}").exists()


def test_a_balanced_link_follows_the_speed_of_the_cores() -> None:
    balance = Balance(1.0, "network", "compute")
    for _ in range(3):  # cores take twice as long as the link was set for
        network = 100 / balance.rates[-1]
        balance.after_round(
            {"network": [RankTime(network, 0, 0, 0)], "compute": [RankTime(200, 0, 0, 0)]}
        )
    assert balance.rates == [1.0, 0.5, 0.5, 0.5]


def sample(wall: float, *, others: float = 0) -> JointSample:
    return JointSample([RankTime(wall, 0, 0, 0)], others)


def test_a_sure_ratio_is_below_the_median_by_its_sign_test() -> None:
    joint = JointRounds([{"slow": sample(ratio), "fast": sample(1)} for ratio in range(1, 16)])
    assert joint.ratio("slow", "fast").median == 8
    assert joint.sure_ratio("slow", "fast") == 4


def test_ranks_measure_together_and_keep_what_they_measured(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run_two(MEASURE)
    said = capfd.readouterr().out
    assert said.count("arms [['a', 'b'], ['a', 'b']]") == 2
    assert said.count("ranks {2}") == 2
    assert said.count("as saved True") == 2


def test_rounds_that_other_processes_disturbed_do_not_count() -> None:
    calm = [{"arm": sample(wall)} for wall in range(5)]
    joint = JointRounds([{"arm": sample(9, others=0.5)}, *calm])
    assert joint.wall("arm").median == 2
    assert "5 rounds kept, 1 disturbed" in str(joint)


def test_where_few_are_calm_the_least_disturbed_count() -> None:
    joint = JointRounds([{"arm": sample(wall, others=1 + wall)} for wall in range(8)])
    assert [each["arm"][0].wall for each in joint.kept] == [0, 1, 2, 3, 4]
