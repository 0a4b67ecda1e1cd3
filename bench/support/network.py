"""Two ranks on a link of known speed: each in a network namespace of its own, joined by veth.

A namespace has no name: a process holds it, and ends when its input does. So however this process
ends, killed included, the kernel takes namespaces and link away, and the ranks die with it.

Ranks are started with what torchrun sets, but without it: its agents would poll on the cores that
are measured, and outlive a killed launcher.
"""

import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import IO, TypeAlias

RANKS = 2
Command: TypeAlias = Sequence[str]

_INTERFACE = "wire"  # at both ends: names are local to a namespace
_ADDRESSES = ("10.0.0.1", "10.0.0.2")
_PORT = 29500
_BURST = "128kb"  # two segments; more would give small messages the link for nothing
_LATENCY = "2s"  # nothing is ever dropped
_SHAPED = "DYNAFLOW_BENCH_SHAPED"


class Rights(Enum):
    """By what right namespaces are made."""

    ROOT = "root"
    USER = "a user namespace"
    NONE = "none"


def find_rights() -> Rights:
    """What this process may do."""
    if os.geteuid() == 0:
        return Rights.ROOT
    tried = shutil.which("unshare") and subprocess.run(
        ["unshare", "--map-root-user", "--net", "true"], capture_output=True, check=False
    )
    return Rights.USER if tried and tried.returncode == 0 else Rights.NONE


class RanksFailed(Exception):  # noqa: N818
    """A rank ended badly, or all of them took too long; none is left."""


@dataclass(frozen=True)
class Place:
    """Where a rank runs."""

    enter: Command
    """Goes before a command to run it there."""
    interface: str
    address: str


class Link:
    """Places for two ranks, joined by a link whose speed can change while they run.

    >>> with Link(gigabits=1) as link:
    ...     run_ranks([sys.executable, "rank.py"], link, timeout=60)
    """

    def __init__(self, gigabits: float, rights: Rights | None = None) -> None:
        """The rate is per direction. Without rights, the ranks meet on loopback, unshaped."""
        self.unshaped_because: str | None = None
        """In one line, if so."""
        self.places: list[Place] = []
        self._gigabits = gigabits
        self._rights = rights or find_rights()
        self._holders = ExitStack()

    def __enter__(self) -> "Link":
        try:
            self._join()
        except (_NoNamespaceError, FileNotFoundError, subprocess.CalledProcessError) as error:
            self._holders.close()
            self.unshaped_because = _one_line(error)
            self.places = [Place((), "lo", "127.0.0.1")] * RANKS
            print(f"no shaped link, loopback instead: {self.unshaped_because}", flush=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._holders.close()

    def set_rate(self, gigabits: float) -> None:
        """From now on, both ways. Ranks can do it too: `set_own_rate`."""
        self._gigabits = gigabits
        if self.unshaped_because is None:
            for place in self.places:
                _run([*place.enter, *_shape(gigabits)])

    def read_rates(self) -> list[str]:
        """What the kernel says of each end."""
        show = ("tc", "qdisc", "show", "dev", _INTERFACE)
        return [_run([*place.enter, *show]) for place in self.places]

    def _join(self) -> None:
        if self._rights is Rights.NONE:
            raise _NoNamespaceError("neither root nor unshare --map-root-user --net")
        own = ("--user", "--preserve-credentials") if self._rights is Rights.USER else ()
        unshare = ("unshare", "--map-root-user") if own else ("unshare",)
        first = self._hold(unshare)
        second = self._hold(
            ("nsenter", f"--target={first}", *own, "--", "unshare") if own else unshare
        )
        self.places = [
            Place(("nsenter", f"--target={holder}", "--net", *own, "--"), _INTERFACE, address)
            for holder, address in zip((first, second), _ADDRESSES, strict=True)
        ]
        peer = ("peer", "name", _INTERFACE, "netns", str(second))
        _run([*self.places[0].enter, *_ip("link add name", _INTERFACE), "type", "veth", *peer])
        for place in self.places:
            address = f"{place.address}/24"
            _run([*place.enter, *_ip("address add", address), "dev", _INTERFACE])
            _run([*place.enter, *_ip("link set lo up")])
            _run([*place.enter, *_ip("link set", _INTERFACE), "mtu", "65535", "up"])
        self.set_rate(self._gigabits)

    def _hold(self, unshare: Command) -> int:
        return self._holders.enter_context(_namespace(unshare))


def set_own_rate(gigabits: float) -> None:
    """What the calling rank sends from now on; without effect where the link is unshaped."""
    if os.environ.get(_SHAPED) == "1":
        _run(_shape(gigabits))


def is_shaped() -> bool:
    """Whether the calling rank is at the end of a link of known speed."""
    return os.environ.get(_SHAPED) == "1"


def run_ranks(program: Command, link: Link, *, timeout: float, env: Mapping[str, str] = {}) -> None:
    """Runs the program once per rank, each on a core of its own; their lines are labelled.

    Returns when all have ended well. The first that does not ends the others.
    """
    ranks = _Ranks(time.monotonic() + timeout)
    port = _PORT if link.unshaped_because is None else _free_port()
    cores = sorted(os.sched_getaffinity(0))
    try:
        for index, place in enumerate(link.places):
            core = ("taskset", "--cpu-list", str(cores[index % len(cores)]))
            die = ("setpriv", "--pdeathsig", "KILL")
            own = _environment(index, place, link.places[0].address, port)
            own[_SHAPED] = str(int(link.unshaped_because is None))
            ranks.start([*place.enter, *die, *core, *program], {**os.environ, **own, **env})
        ranks.wait()
    finally:
        ranks.kill()


def is_rank() -> bool:
    """Whether this process was started as one."""
    return "RANK" in os.environ


def become_ranks(*, timeout: float, gigabits: float = 1) -> None:
    """Runs this very program once per rank; ends it with a sentence if they fail."""
    with Link(gigabits) as link:
        try:
            run_ranks([sys.executable, *sys.argv], link, timeout=timeout)
        except RanksFailed as failure:
            sys.exit(f"{Path(sys.argv[0]).stem}: {failure}")


def _environment(rank: int, place: Place, master: str, port: int) -> dict[str, str]:
    """As `torchrun --nnodes 2 --node-rank rank --nproc-per-node 1` sets it."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(RANKS),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": str(rank),
        "GROUP_WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": master,
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": place.interface,
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "TORCH_CPP_LOG_LEVEL": "ERROR",  # no warnings about addresses without names
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # it has one core, and no processes of its own
    }


@dataclass
class _Rank:
    name: str
    process: "subprocess.Popen[bytes]"
    rest: bytes = b""

    def print(self, data: bytes) -> None:
        """Whole lines; what is left of one waits for its end."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            print(f"[{self.name}] {line.decode(errors='replace')}", flush=True)

    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout


@dataclass
class _Ranks:
    """The processes that were started, each with a session of its own."""

    deadline: float
    _all: list[_Rank] = field(default_factory=list)

    def start(self, command: Command, env: Mapping[str, str]) -> None:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.set_blocking(_Rank("", process).output().fileno(), False)
        self._all.append(_Rank(f"rank {len(self._all)}", process))

    def wait(self) -> None:
        """Until all have ended well."""
        while not self._have_ended():
            if time.monotonic() > self.deadline:
                raise RanksFailed("out of time")
            self._pass_on(0.2)

    def kill(self) -> None:
        """With everything they started, and passes on what they still said."""
        for rank in self._all:
            with suppress(ProcessLookupError):  # it has ended, and left nobody
                os.killpg(rank.process.pid, signal.SIGKILL)
            rank.process.wait()
        self._pass_on(0)
        for rank in self._all:
            rank.print(b"\n" if rank.rest else b"")
            rank.output().close()

    def _have_ended(self) -> bool:
        codes = [(rank.name, rank.process.poll()) for rank in self._all]
        for name, code in codes:
            if code is not None and code != 0:
                how = f"code {code}" if code > 0 else signal.Signals(-code).name
                raise RanksFailed(f"{name} ended with {how}")
        return all(code == 0 for _, code in codes)

    def _pass_on(self, timeout: float) -> None:
        with selectors.DefaultSelector() as selector:
            for rank in self._all:
                selector.register(rank.output(), selectors.EVENT_READ, rank)
            for key, _ in selector.select(timeout):
                data = key.fileobj.read() or b""  # type: ignore[union-attr]
                key.data.print(data)
                if not data:  # it has closed its output: do not spin
                    time.sleep(min(timeout, 0.02))


class _NoNamespaceError(Exception):
    pass


@contextmanager
def _namespace(unshare: Command) -> Iterator[int]:
    """The id of a process that holds a new network namespace, which ends with it."""
    hold = ("--net", "sh", "-c", "echo && exec cat >/dev/null")
    with subprocess.Popen(
        [*unshare, *hold],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stderr is not None
            if not holder.stdout.readline():
                raise _NoNamespaceError(holder.stderr.read())
            yield holder.pid
        finally:
            holder.kill()


def _ip(words: str, *more: str) -> Command:
    return ("ip", *words.split(), *more)


def _shape(gigabits: float) -> Command:
    rate = f"{round(gigabits * 1e9)}bit"
    tbf = ("root", "tbf", "rate", rate, "burst", _BURST, "latency", _LATENCY)
    return ("tc", "qdisc", "replace", "dev", _INTERFACE, *tbf)


def _run(command: Command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _one_line(error: Exception) -> str:
    text = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    return " ".join(text.split())


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
