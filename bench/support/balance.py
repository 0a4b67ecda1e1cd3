"""A link on which compute and network take equally long, however fast cores are just now."""

from statistics import median

from support.lockstep import JointRound, slowest
from support.network import set_own_rate

_RECENT = 3  # rounds: a core's speed changes within minutes, and one round may be off


class Balance:
    """Sets the link anew after each round, by what the arms took in the last few."""

    def __init__(self, gigabits: float, network: str, compute: str) -> None:
        """Begins with this rate; `network` and `compute` are arms that do nothing else."""
        self._arms = network, compute
        self._fitting: list[float] = []
        self.rates = [gigabits]
        """Of the rounds so far and of the next one; the same on all ranks."""

    def after_round(self, values: JointRound) -> None:
        """What the network takes is inverse to its rate."""
        network, compute = (slowest(values, arm) for arm in self._arms)
        self._fitting.append(self.rates[-1] * network / compute)
        self.rates.append(median(self._fitting[-_RECENT:]))
        set_own_rate(self.rates[-1])
