"""Times as they were at a core's average speed.

An arm's samples differ mostly by how fast the cores were meanwhile, which a probe beside them
tells. A line through them says what that is worth to the arm, and takes it out. Arms are measured
in turn, so on average they meet the same cores: this changes no arm's expected time, only how many
rounds it takes to know it.
"""

import statistics
from collections.abc import Sequence

from support.rounds import Time

_ENOUGH = 8  # samples: fewer do not make a line


def at_even_speed(
    samples: Sequence[Sequence[Time]], slowness: Sequence[float]
) -> list[Sequence[Time]]:
    """Samples of an arm, each with every rank's time, where `slowness` is 0 on average."""
    if len(samples) < _ENOUGH or len(set(slowness)) == 1:
        return list(samples)
    ranks = [
        [Time(*each) for each in zip(*(_level(values, slowness) for values in fields), strict=True)]
        for fields in (zip(*rank, strict=True) for rank in zip(*samples, strict=True))
    ]
    return list(zip(*ranks, strict=True))


def _level(values: Sequence[float], slowness: Sequence[float]) -> list[float]:
    slope = statistics.linear_regression(slowness, values).slope
    return [value - slope * slow for value, slow in zip(values, slowness, strict=True)]
