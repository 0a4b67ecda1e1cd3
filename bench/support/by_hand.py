"""Overlap as one writes it by hand: parts of the batch in turn, their all-reduces beside them.

Every intermediate has its place beforehand, all-reduces run in place, and each is waited for only
where its sum is needed. What it does without its computation is the network-only arm: the same
sizes in the same order, with the same waits.
"""

import torch
import torch.distributed as dist
from support.tensor_parallel import (
    HEAD,
    HIDDEN,
    OWN_HEADS,
    OWN_INNER,
    Attention,
    Decoder,
    Mlp,
    attend,
)
from torch import Tensor, nn
from torch._C._distributed_c10d import Work


class ByHand:
    """A model in `parts` parts, for one batch."""

    def __init__(self, model: Decoder, x: Tensor, parts: int, *, computes: bool = True) -> None:
        """Parts differ by a row at most."""
        self._x, self._y = x, torch.zeros_like(x)
        self._parts = [_Part(y, computes=computes) for y in self._y.tensor_split(parts)]
        self._blocks = model.blocks()

    def __call__(self) -> Tensor:
        """The same memory every time."""
        self._y.copy_(self._x)
        for block in self._blocks:
            for part in self._parts:
                part.step(block)
        for part in self._parts:
            part.take_sum()
        return self._y


class _Part:
    """Some rows: their activations so far, and the summand that is on its way."""

    def __init__(self, y: Tensor, *, computes: bool) -> None:
        self._computes = computes
        self._work: Work | None = None
        self._has_summand = False
        self._y = y.view(-1, HIDDEN)
        tokens = len(self._y)
        self._summand, self._normed = torch.zeros_like(self._y), torch.zeros_like(self._y)
        self._moments = torch.zeros(tokens, 1), torch.zeros(tokens, 1)
        self._qkv = torch.zeros(*y.shape[:2], 3 * OWN_HEADS * HEAD)
        self._inner = torch.zeros(tokens, OWN_INNER)

    def step(self, block: Attention | Mlp) -> None:
        """Takes the sum before, computes the next summand and sends it."""
        self.take_sum()
        if self._computes:
            self._normalise(block.norm)
            if isinstance(block, Attention):
                self._attend(block)
            else:
                self._transform(block)
            self._has_summand = True
        self._work = dist.all_reduce(self._summand, async_op=True)

    def take_sum(self) -> None:
        """When it is there."""
        if self._work is not None:
            self._work.wait()
            self._work = None
        if self._has_summand:
            self._y += self._summand
            self._has_summand = False

    def _normalise(self, norm: nn.LayerNorm) -> None:
        out = dict(zip(("out0", "out1", "out2"), (self._normed, *self._moments), strict=True))
        torch.ops.aten.native_layer_norm.out(
            self._y, [HIDDEN], norm.weight, norm.bias, norm.eps, **out
        )

    def _attend(self, block: Attention) -> None:
        qkv = self._qkv.view(len(self._y), -1)
        torch.mm(self._normed, block.qkv.weight.t(), out=qkv)
        mixed = attend(self._qkv).view(len(self._y), -1)
        torch.mm(mixed, block.out.weight.t(), out=self._summand)

    def _transform(self, block: Mlp) -> None:
        torch.mm(self._normed, block.up.weight.t(), out=self._inner)
        torch.ops.aten.gelu_(self._inner)
        torch.mm(self._inner, block.down.weight.t(), out=self._summand)
