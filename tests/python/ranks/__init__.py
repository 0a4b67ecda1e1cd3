"""Programs of several ranks on loopback, and how tests run them."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass
class Ended:
    """How one rank's process ended."""

    code: int
    output: str
    errors: str


def run(program: str, *arguments: str, ranks: int = 2, timeout: float = 240) -> list[Ended]:
    """Runs a program of this folder on every rank; none is left behind, whatever happens."""
    started = start(program, *arguments, ranks=ranks)
    return finish(started, timeout)


def start(program: str, *arguments: str, ranks: int = 2) -> "list[subprocess.Popen[str]]":
    """The same, for tests that do something to the ranks meanwhile."""
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(ranks),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return [
        subprocess.Popen(
            [sys.executable, str(FOLDER / f"{program}.py"), *arguments],
            env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def finish(started: "list[subprocess.Popen[str]]", timeout: float) -> list[Ended]:
    """Waits for all; a rank that hangs is ended, and its code says so."""
    ended = []
    try:
        for process in started:
            output, errors = process.communicate(timeout=timeout)
            ended.append(Ended(process.returncode, output, errors))
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
    return ended


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
