"""How fast overlap could be at best, by what its parts take alone."""

from collections.abc import Callable
from operator import attrgetter
from typing import TypeAlias

from support.lockstep import JointRound, RankTime, slowest
from support.tensor_parallel import COLLECTIVES

Host: TypeAlias = Callable[[RankTime], float]
"""How the time that a network keeps a core busy is counted."""

CORE: Host = attrgetter("core")
"""With interrupts, which may take less beside computation: a run may then be ahead."""
THREADS: Host = attrgetter("threads")
"""Without them: what no run is spared."""


def bound(compute: float, network: float, host: float, chunks: int) -> float:
    """No run on this rank is faster.

    `compute` and `network` are what a run takes without the other, `host` is what the network alone
    keeps the core busy, in interrupts too: it cannot compute meanwhile. Only the first of `chunks`
    pieces of computation and the last piece of waiting for the network have nothing beside them.
    """
    core_busy = compute + host + max(network - host, 0.0) / chunks
    wire_busy = network + compute / chunks
    return max(core_busy, wire_busy)


def bound_of(
    values: JointRound, compute: str, network: str, parts: int, host: Host = CORE
) -> float:
    """By the arms of these names; of the rank that is slowest at best."""

    def on_rank(rank: int) -> float:
        on_wire = values[network][rank]
        return bound(values[compute][rank].wall, on_wire.wall, host(on_wire), COLLECTIVES * parts)

    return max(on_rank(rank) for rank in range(len(values[compute])))


def share(
    values: JointRound, arm: str, compute: str, network: str, parts: int, host: Host = CORE
) -> float:
    """Of the bound over what the arm took: 1 is perfect."""
    return bound_of(values, compute, network, parts, host) / slowest(values, arm)
