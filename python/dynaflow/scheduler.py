"""The base of strategies written in Python."""

from collections.abc import Sequence
from typing import ClassVar

from dynaflow import _C
from dynaflow.annotations import SplitFunc, SplitModule


class OpScheduler(_C.OpScheduler):
    """A strategy: how a batch is split, and in which order and on which lane each op runs.

    Both methods are pure: they are asked while a plan is recorded, never in a steady run.

    >>> class Halves(dynaflow.OpScheduler):
    ...     cut = [dynaflow.SplitModule("LlamaAttention")]
    ...
    ...     def split(self, batch):
    ...         return batch.even(2) if batch.rows >= 2 else batch.whole()
    ...
    ...     def schedule(self, ctx):
    ...         lanes = [ctx.lane("left"), ctx.lane("right")]
    ...         while ctx.unfinished():
    ...             for mb in ctx.microbatches:
    ...                 for op in ctx.get_ready_ops(mb):
    ...                     ctx.execute(op, lane=lanes[mb.index])
    """

    cut: ClassVar[Sequence[SplitModule | SplitFunc]] = ()
