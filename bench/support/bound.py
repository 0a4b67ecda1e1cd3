"""How fast overlap could be at best, by what its parts take alone."""

from support.lockstep import JointRound, slowest
from support.tensor_parallel import COLLECTIVES


def bound(compute: float, network: float, host: float, chunks: int) -> float:
    """No run on this rank is faster.

    `compute` and `network` are what a run takes without the other, `host` is the CPU time of the
    network alone, which the core cannot spend on computing. Only the first of `chunks` pieces of
    computation and the last piece of waiting for the network have nothing beside them.
    """
    core_busy = compute + host + max(network - host, 0.0) / chunks
    wire_busy = network + compute / chunks
    return max(core_busy, wire_busy)


def bound_of(values: JointRound, compute: str, network: str, parts: int) -> float:
    """By the arms of these names; of the rank that is slowest at best."""

    def on_rank(rank: int) -> float:
        on_wire = values[network][rank]
        return bound(values[compute][rank].wall, on_wire.wall, on_wire.cpu, COLLECTIVES * parts)

    return max(on_rank(rank) for rank in range(len(values[compute])))


def share(values: JointRound, arm: str, compute: str, network: str, parts: int) -> float:
    """Of the bound over what the arm took: 1 is perfect."""
    return bound_of(values, compute, network, parts) / slowest(values, arm)
