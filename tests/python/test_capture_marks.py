"""The batch is one symbol, at every size, wherever the user says it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn

from dynaflow._capture import BatchMarkError, Marks, capture, mark
from dynaflow._capture.capture import positional_names, recording_backend
from dynaflow._capture.inputs import plain_name
from zoo import ZOO, Entry


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def entry(name: str) -> Entry:
    return next(entry for entry in ZOO if entry.name == name)


def captures_for(entry: Entry, sizes: list[tuple[int, int]]) -> int:
    """How often the model is captured over calls with these batches and sequences."""
    graphs: list[fx.GraphModule] = []

    def receive(gm: fx.GraphModule, _: object) -> fx.GraphModule:
        graphs.append(gm)
        return gm

    model = entry.make()
    positional = positional_names(model)
    compiled = torch.compile(model, backend=recording_backend(receive, positional), fullgraph=True)
    for batch, seq in sizes:
        args, kwargs = entry.example(batch, seq)
        mark(args, kwargs, entry.batch_dims, positional=positional)
        with torch.no_grad():
            compiled(*args, **kwargs)
    return len(graphs)


@pytest.mark.parametrize("name", ["bert", "llama_decode", "sequence_first", "cnn_groupnorm"])
@pytest.mark.parametrize("batches", [(1, 3), (3, 1)])
def test_batch_1_is_no_special_case(name: str, batches: tuple[int, int]) -> None:
    assert captures_for(entry(name), [(batch, 7) for batch in batches]) == 1


def test_sequences_vary_without_another_capture() -> None:
    assert captures_for(entry("bert"), [(2, 7), (3, 9), (1, 4)]) == 1


def test_the_batch_is_the_first_symbol_and_the_only_one_of_its_role() -> None:
    args, kwargs = entry("bert").example(1, 7)
    result = capture(entry("bert").make(), args, kwargs)
    assert [symbol["role"] for symbol in result.document["symbols"]] == ["batch", "size"]
    assert (result.rung, result.reasons) == ("unbacked", [])


def test_inputs_have_the_users_names() -> None:
    args, kwargs = entry("bert").example(3, 7)
    inputs = capture(entry("bert").make(), args, kwargs).document["inputs"]
    names = {item["name"]: item["role"] for item in inputs}
    assert names["input_ids"] == names["attention_mask"] == "argument"
    assert names["embeddings.word_embeddings.weight"] == "parameter"


def test_tensors_of_a_cache_have_names_and_a_batch() -> None:
    args, kwargs = entry("llama_decode").example(3, 7)
    marks = mark(args, kwargs, positional=["input_ids"])
    assert marks.dims["past_key_values.layers.0.keys"] == 0
    assert "past_key_values.layers.0.cumulative_length" not in marks.dims


def test_the_batch_may_be_any_dimension() -> None:
    args, kwargs = entry("sequence_first").example(3, 7)
    result = capture(entry("sequence_first").make(), args, kwargs, {"tokens": 1})
    assert result.document["tensors"][0]["sizes"][1] == "u0"
    assert result.document["tensors"][0]["sizes"][0] != "u0"


class Summing(nn.Module):
    """Takes a dictionary with a tensor and a list of two."""

    def forward(self, batch: dict[str, Any], scale: Tensor) -> Tensor:
        """The scaled sum of the three."""
        x: Tensor = batch["x"]
        pair: list[Tensor] = batch["pair"]
        return (x + pair[0] + pair[1]) * scale


def test_nested_inputs_are_marked_and_named() -> None:
    pair = [torch.randn(3, 4), torch.randn(3, 4)]
    result = capture(Summing(), ({"x": torch.randn(3, 4), "pair": pair}, torch.randn(4)))
    names = {item["name"] for item in result.document["inputs"] if item["role"] == "argument"}
    assert names == {"batch.x", "batch.pair.0", "batch.pair.1", "scale"}


@dataclass
class Pair:
    """Two tensors."""

    left: Tensor
    right: Tensor


def test_dataclasses_are_looked_into() -> None:
    marks = mark((Pair(torch.randn(3, 2), torch.randn(3, 5)),), {}, positional=["pair"])
    assert marks == Marks(3, {"pair.left": 0, "pair.right": 0})


def test_none_means_no_batch() -> None:
    marks = mark((torch.randn(3, 2), torch.randn(3, 2)), {}, {"y": None}, positional=["x", "y"])
    assert marks == Marks(3, {"x": 0})


def test_a_name_stands_for_all_tensors_in_it() -> None:
    pair = Pair(torch.randn(2, 3), torch.randn(5, 3))
    marks = mark((torch.randn(3, 2), pair), {}, {"pair": 1}, positional=["x", "pair"])
    assert marks == Marks(3, {"x": 0, "pair.left": 1, "pair.right": 1})


def test_a_negative_dimension_counts_from_the_end() -> None:
    assert mark((torch.randn(2, 3),), {}, {"x": -1}, positional=["x"]) == Marks(3, {"x": 1})


@pytest.mark.parametrize(
    ("batch_dims", "message"),
    [
        ({"x": 0, "y": 1}, "disagree"),
        ({"x": 2}, "no dimension 2"),
        ({"z": 0}, r"names \['z'\]"),
    ],
)
def test_batch_dims_that_do_not_fit_are_refused(batch_dims: dict[str, int], message: str) -> None:
    with pytest.raises(BatchMarkError, match=message):
        mark((torch.randn(3, 2), torch.randn(3, 2)), {}, batch_dims, positional=["x", "y"])


def test_arguments_are_unmarked_after_a_capture() -> None:
    x = torch.randn(3, 4)
    capture(lambda x: x.sin(), (x,))
    assert not hasattr(x, "_has_dynamo_dim_marking")


def test_a_capture_runs_nothing() -> None:
    args, kwargs = entry("llama_decode").example(3, 7)
    before = kwargs["past_key_values"].layers[0].keys.clone()
    capture(entry("llama_decode").make(), args, kwargs)
    assert torch.equal(kwargs["past_key_values"].layers[0].keys, before)


def test_an_output_that_is_not_linear_in_the_batch_ends_on_the_static_rung() -> None:
    result = capture(lambda x: x.new_zeros(x.shape[0] + 1), (torch.randn(3, 4),))
    assert (result.rung, result.document["symbols"]) == ("static", [])
    assert "has size u0 + 1" in result.reasons[0]


def test_sizes_that_must_be_known_step_down_the_ladder() -> None:
    def branching(x: Tensor) -> Tensor:
        return x + 1 if x.shape[0] > 2 else x - 1

    result = capture(branching, (torch.randn(3, 4),))
    assert result.rung == "oblivious"
    assert "unbacked batch, other sizes free" in result.reasons[0]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("L['x']", "x"),
        ("L['kwargs']['mask']", "mask"),
        ("L['args'][0]", "input_ids"),
        ("L['args'][5]", "args.5"),
        ("L['kwargs']['cache'].layers[0].keys", "cache.layers.0.keys"),
        ("L['self']._modules['layers']._modules['0']._parameters['weight']", "layers.0.weight"),
        ("L['batch']['x']", "batch.x"),
    ],
)
def test_sources_become_plain_names(source: str, name: str) -> None:
    assert plain_name(source, ["input_ids"]) == name
