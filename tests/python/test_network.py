"""The link between two ranks of a benchmark: it is shaped as said, and nothing outlives it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network import Link, RanksFailed, Rights, run_ranks

ROOT = Path(__file__).resolve().parents[2]
FOREVER = "import time; time.sleep(1000)"


@pytest.fixture
def link() -> Iterator[Link]:
    with Link(gigabits=1) as link:
        if link.unshaped_because is not None:
            pytest.skip(link.unshaped_because)
        yield link


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def rates(link: Link) -> list[str]:
    return [re.findall(r"rate (\w+) burst (\w+)", text)[0][0] for text in link.read_rates()]


def processes_with(word: str) -> list[str]:
    """Of all processes, those with this in their environment."""
    found = []
    for pid in (entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        try:
            if word.encode() in Path("/proc", pid, "environ").read_bytes():
                found.append(pid)
        except OSError:  # it has ended meanwhile
            pass
    return found


def wait_until_gone(word: str) -> list[str]:
    """Those that are left after ten seconds, or none."""
    end = time.monotonic() + 10
    while (left := processes_with(word)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def test_both_ends_have_the_rate(link: Link) -> None:
    assert rates(link) == ["1Gbit", "1Gbit"]


def test_a_rate_changes_while_ranks_run(link: Link, capfd: pytest.CaptureFixture[str]) -> None:
    change = (
        "import subprocess; from support.network import set_own_rate; set_own_rate(0.25);"
        "print(subprocess.check_output(['tc', 'qdisc', 'show', 'dev', 'wire'], text=True))"
    )
    run_ranks(python(change), link, timeout=60, env={"PYTHONPATH": str(ROOT / "bench")})
    assert capfd.readouterr().out.count("rate 250Mbit") == 2
    link.set_rate(4)
    assert rates(link) == ["4Gbit", "4Gbit"]


def test_ranks_have_what_torchrun_sets_and_a_core_each(
    link: Link, capfd: pytest.CaptureFixture[str]
) -> None:
    told = (
        "import os; e = os.environ; print(e['RANK'], e['WORLD_SIZE'], e['MASTER_ADDR'],"
        "e['GLOO_SOCKET_IFNAME'], len(os.sched_getaffinity(0)))"
    )
    run_ranks(python(told), link, timeout=60)
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == ["[rank 0] 0 2 10.0.0.1 wire 1", "[rank 1] 1 2 10.0.0.1 wire 1"]


def test_ranks_talk_to_each_other(link: Link, capfd: pytest.CaptureFixture[str]) -> None:
    talk = (
        "import torch, torch.distributed as dist; dist.init_process_group('gloo');"
        "x = torch.full((1000,), 1.0 + dist.get_rank()); dist.all_reduce(x);"
        "print('sum', x.sum().item()); dist.barrier(); dist.destroy_process_group()"
    )
    run_ranks(python(talk), link, timeout=120)
    assert capfd.readouterr().out.count("sum 3000.0") == 2


def test_a_rank_that_dies_ends_the_other(link: Link) -> None:
    die = "import os; os.kill(os.getpid(), 9) if os.environ['RANK'] == '1' else None;" + FOREVER
    with pytest.raises(RanksFailed, match="rank 1 ended with SIGKILL"):
        run_ranks(python(die), link, timeout=60, env={"MARK": "of_a_rank_that_dies"})
    assert wait_until_gone("MARK=of_a_rank_that_dies") == []


def test_what_a_rank_started_ends_with_it(link: Link) -> None:
    start = "import subprocess, sys; subprocess.Popen(['sleep', '1000']); sys.exit(3)"
    with pytest.raises(RanksFailed, match="ended with code 3"):
        run_ranks(python(start), link, timeout=60, env={"MARK": "of_what_a_rank_started"})
    assert wait_until_gone("MARK=of_what_a_rank_started") == []


def test_time_is_limited(link: Link) -> None:
    with pytest.raises(RanksFailed, match="out of time"):
        run_ranks(python(FOREVER), link, timeout=0.3, env={"MARK": "of_limited_time"})
    assert wait_until_gone("MARK=of_limited_time") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_launcher(link: Link, number: signal.Signals) -> None:
    mark = f"of_a_launcher_ended_by_{number.name}"
    launch = (
        "import sys; from support.network import Link, run_ranks\n"
        "with Link(1) as link: run_ranks([sys.executable, '-c',"
        f"'print(1); {FOREVER}'], link, timeout=100)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "bench"), "MARK": mark}
    launcher = subprocess.Popen(
        python(launch), env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with launcher:
        assert launcher.stdout is not None
        assert {launcher.stdout.readline() for _ in range(2)} == {b"[rank 0] 1\n", b"[rank 1] 1\n"}
        assert len(processes_with(f"MARK={mark}")) == 5  # itself, two namespaces, two ranks
        launcher.send_signal(number)
    assert wait_until_gone(f"MARK={mark}") == []


def test_without_rights_it_says_so_and_uses_loopback(capfd: pytest.CaptureFixture[str]) -> None:
    run = (
        "import os; from support.network import is_shaped, set_own_rate; set_own_rate(1);"
        "print(os.environ['MASTER_ADDR'], os.environ['GLOO_SOCKET_IFNAME'], is_shaped())"
    )
    with Link(gigabits=1, rights=Rights.NONE) as link:
        run_ranks(python(run), link, timeout=60, env={"PYTHONPATH": str(ROOT / "bench")})
    first, *others = capfd.readouterr().out.splitlines()
    reason = "neither root nor unshare --map-root-user --net"
    assert first == f"no shaped link, loopback instead: {reason}"
    assert sorted(others) == [f"[rank {i}] 127.0.0.1 lo False" for i in range(2)]
