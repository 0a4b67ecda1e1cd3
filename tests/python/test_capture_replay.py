"""A Capture says all that is needed to run the model: replayed, it gives the model's numbers."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from dynaflow._capture import capture
from dynaflow._capture.capture import positional_names
from dynaflow._capture.marks import named_tensors
from replay import largest_difference, replay
from zoo import ZOO, Entry


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def entry(name: str) -> Entry:
    return next(entry for entry in ZOO if entry.name == name)


def replayed(entry: Entry, batch: int, seq: int) -> Tensor:
    """The last output of the model's Capture, made with batch 1 and run with another."""
    model = entry.make()
    args, kwargs = entry.example(1, 7)
    result = capture(model, args, kwargs, entry.batch_dims)
    args, kwargs = entry.example(batch, seq)
    tensors = {t.name: t.tensor for t in named_tensors(args, kwargs, positional_names(model))}
    tensors |= dict(model.named_parameters(remove_duplicate=False))
    tensors |= dict(model.named_buffers(remove_duplicate=False))
    with torch.no_grad():
        output: Tensor = replay(result.document, tensors, result.constants)[-1]
    return output


def eager(entry: Entry, batch: int, seq: int) -> Tensor:
    """The model's own result: its logits, or its only tensor."""
    args, kwargs = entry.example(batch, seq)
    with torch.no_grad():
        result = entry.make()(*args, **kwargs)
    if isinstance(result, tuple):
        result = result[0]
    output: Tensor = result["logits"] if isinstance(result, dict) else result
    return output


@pytest.mark.parametrize("name", ["llama_decode", "mixtral", "dit", "sequence_first"])
def test_a_replayed_capture_is_the_model_at_another_batch_and_sequence(name: str) -> None:
    expected = eager(entry(name), 3, 9)
    assert largest_difference(replayed(entry(name), 3, 9), expected) <= 1e-5
