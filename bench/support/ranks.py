"""What ranks tell each other beside what is measured."""

from typing import TypeVar

import torch.distributed as dist

T = TypeVar("T")


def agree(value: T) -> T:
    """What rank 0 says."""
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


def gather(value: T) -> list[T]:
    """What each rank says."""
    everywhere: list[T] = [value] * dist.get_world_size()
    dist.all_gather_object(everywhere, value)
    return everywhere
