"""Lanes keep their kernels on their own cores, and leave the caller's threads as they were."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

import dynaflow
from small import Halves, two_lanes

HERE = Path(__file__)


def threads_by_core() -> Counter[str]:
    """How many threads of this process may run where, as the kernel writes it ("0-1", "1")."""
    found: Counter[str] = Counter()
    for task in Path("/proc/self/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        found[next(line.split()[1] for line in lines if "Cpus_allowed_list" in line)] += 1
    return found


def teams() -> list[str]:
    lines = torch.__config__.parallel_info().splitlines()
    return [line.strip() for line in lines if "threads() :" in line]


def main() -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cores)
    torch.set_num_threads(2)
    model = nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512))
    x = torch.randn(256, 512)
    before = teams()
    with torch.no_grad():
        fast = dynaflow.compile(model, Halves(two_lanes), engine="aten")
        for _ in range(3):
            assert torch.allclose(fast(x), model(x), rtol=1e-5, atol=1e-5)
    assert teams() == before, (teams(), before)
    found = threads_by_core()
    assert found[str(cores[1])] == 1, (
        f"the second lane's kernels have threads of their own: {found}"
    )
    assert found[str(cores[0])] == 0, f"the caller was left on one core: {found}"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="lanes share the only core")
def test_a_lane_of_one_core_uses_one_thread() -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, HERE],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]


if __name__ == "__main__":
    main()
