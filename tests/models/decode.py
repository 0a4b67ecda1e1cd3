"""Eight tokens, one at a time, into a cache of fixed length: plainly and scheduled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import dynaflow
from dynaflow._capture.marks import named_tensors
from strategies import Under, orders
from sweep import difference, switchable
from zoo import CACHE_LENGTH, decode_step_example, llama

STEPS = 8


@dataclass
class Decoded:
    """What decoding found, over all steps, strategies and batches."""

    runs: int = 0
    captures: int = 0
    error: float = 0.0
    copied: int = 0
    undone: int = 0


class Decoding:
    """A batch of sequences that grow by a token in each step."""

    def __init__(self, batch: int) -> None:
        """With three tokens of each sequence in the cache."""
        self.seq = 3
        (self.ids,), self.kwargs = decode_step_example(batch, self.seq)

    def step(self, model: Callable[..., Any]) -> list[Tensor]:
        """One more token; the logits, and then all of the cache."""
        batch = self.ids.shape[0]
        mask = (torch.arange(CACHE_LENGTH) <= self.seq).expand(batch, CACHE_LENGTH)
        self.kwargs["attention_mask"] = mask.contiguous()
        self.kwargs["position_ids"] = torch.full((batch, 1), self.seq)
        with torch.no_grad():
            logits: Tensor = model(self.ids, **self.kwargs).logits
        self.ids = logits[:, -1:].argmax(-1)
        self.seq += 1
        cache = named_tensors((self.kwargs["past_key_values"],), {})
        return [logits, *(t.tensor.clone() for t in cache)]


def decode(batches: tuple[int, ...] = (1, 3, 8), parts: tuple[int, ...] = (1, 2, 3, 4)) -> Decoded:
    """Every strategy over eight steps."""
    torch.manual_seed(0)
    model: Any = llama().eval()
    compiled = dynaflow.compile(model, Under(dynaflow.Sequential()), engine="aten")
    found = Decoded()
    with switchable():
        Decoding(batches[0]).step(compiled)
        switch: Any = compiled._graphs[-1].model
        for order in orders().values():
            current = switch.use([], Under(order))
            found.undone = current.counts["copies_back_undone"]
            for batch in batches:
                for n in parts:
                    _decode(found, Decoding(batch), Decoding(batch), model, compiled, n)
        found.captures = len(compiled._graphs)
    return found


def _decode(
    found: Decoded,
    plain: Decoding,
    scheduled: Decoding,
    model: Callable[..., Any],
    compiled: dynaflow.CompiledModule,
    parts: int,
) -> None:
    for _ in range(STEPS):
        theirs = plain.step(model)
        with dynaflow.batch(parts=parts):
            ours = scheduled.step(compiled)
        found.runs += 1
        found.error = max(found.error, difference(ours, theirs))
        found.copied = max(found.copied, compiled.stats["copied_bytes"])
