"""FX graphs become Captures, node by node."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dynaflow._capture import CaptureResult, UntranslatableError, capture


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def of(function: Callable[..., object], *args: object, **kwargs: object) -> CaptureResult:
    return capture(function, args, kwargs)


def only_call(result: CaptureResult, op: str) -> dict[str, Any]:
    calls = [call for call in result.document["calls"] if call["op"] == op]
    assert len(calls) == 1
    found: dict[str, Any] = calls[0]
    return found


def arguments(result: CaptureResult, op: str) -> list[Any]:
    found: list[Any] = only_call(result, op)["arguments"]
    return found


def test_a_call_has_every_argument_of_its_schema() -> None:
    result = of(lambda x, y: torch.add(x, y), torch.randn(5, 4), torch.randn(5, 4))
    assert arguments(result, "aten::add") == [{"t": 0}, {"t": 1}, 1]


def test_keywords_stand_where_the_schema_has_them() -> None:
    result = of(lambda x: x.to(torch.float64), torch.randn(5, 4))
    assert arguments(result, "aten::_to_copy") == [
        {"t": 0},
        {"dtype": "f64"},
        None,
        None,
        None,
        False,
        None,
    ]


def test_factories_name_device_dtype_and_sizes() -> None:
    def ones(x: Tensor) -> Tensor:
        return torch.full((x.shape[0], 3), 2.0, dtype=torch.float16, device=x.device) + x

    result = of(ones, torch.randn(5, 3))
    sizes, value, dtype, layout, device, pinned = arguments(result, "aten::full")
    assert sizes == [{"e": "u0"}, 3]
    assert (value, dtype, layout, device, pinned) == (
        2.0,
        {"dtype": "f16"},
        None,
        {"device": "cpu"},
        False,
    )


def test_memory_formats_have_names() -> None:
    result = of(lambda x: x.clone(memory_format=torch.channels_last), torch.randn(5, 3, 4, 4))
    assert arguments(result, "aten::clone") == [{"t": 0}, {"memory_format": "channels_last"}]


def test_infinities_are_strings() -> None:
    result = of(lambda x: x.masked_fill(x > 0, float("-inf")), torch.randn(5, 4))
    assert {"float": "-inf"} in arguments(result, "aten::masked_fill")


def test_strings_stay_strings() -> None:
    result = of(lambda x: torch.nn.functional.gelu(x, approximate="tanh"), torch.randn(5, 4))
    assert arguments(result, "aten::gelu") == [{"t": 0}, "tanh"]


def test_complex_numbers_are_pairs() -> None:
    result = of(lambda x: x * (1 + 2j), torch.randn(5, 4, dtype=torch.complex64))
    assert arguments(result, "aten::mul")[1] == {"scalar_complex": [1.0, 2.0]}


def test_an_absent_index_is_null() -> None:
    result = of(lambda x, i: x[:, i], torch.randn(5, 4), torch.tensor([1, 0, 2]))
    assert arguments(result, "aten::index")[1] == [None, {"t": 1}]


def test_sizes_are_expressions_of_symbols() -> None:
    result = of(lambda x: x.view(x.shape[0] * x.shape[1], -1), torch.randn(5, 7, 4))
    size = result.document["symbols"][1]["name"]
    view = arguments(result, "aten::view")
    assert view[1] == [{"e": ["mul", size, "u0"]}, -1]


def test_lists_of_outputs_are_flat_and_alias_their_source() -> None:
    result = of(lambda x: torch.split(x, 2, dim=1)[1] + 1, torch.randn(5, 3, 4, 4))
    split = only_call(result, "aten::split")
    assert split["outputs"] == [1, 2]
    assert split["aliases"] == [[0, 0], [1, 0]]
    assert arguments(result, "aten::add")[0] == {"t": 2}


def test_several_outputs_are_in_the_schemas_order() -> None:
    result = of(lambda x: x.max(dim=1), torch.randn(5, 3, 4, 4))
    assert only_call(result, "aten::max")["outputs"] == [1, 2]
    assert result.document["tensors"][2]["dtype"] == "i64"


def test_a_view_aliases_its_base_and_keeps_its_strides() -> None:
    result = of(lambda x: x.transpose(1, 2) * 2, torch.randn(5, 3, 4, 4))
    assert only_call(result, "aten::transpose")["aliases"] == [[0, 0]]
    assert result.document["tensors"][1]["strides"] == [48, 4, 16, 1]


def test_a_copy_back_writes_its_input() -> None:
    def update(x: Tensor, state: Tensor) -> Tensor:
        state.add_(1)
        return x + state

    result = of(update, torch.randn(5, 4), torch.zeros(4))
    copy = only_call(result, "aten::copy_")
    assert (copy["writes"], copy["aliases"]) == ([0], [[0, 0]])


def test_random_calls_say_so() -> None:
    result = of(lambda x: torch.rand_like(x), torch.randn(5, 4))
    assert "nondeterministic_seeded" in only_call(result, "aten::rand_like")["tags"]


def test_constants_are_inputs_and_come_along() -> None:
    result = of(lambda x: x + torch.tensor([1.0, 2.0, 3.0]), torch.randn(5, 3))
    constant = result.document["inputs"][-1]
    assert constant["role"] == "constant"
    assert [tensor.tolist() for tensor in result.constants] == [[1.0, 2.0, 3.0]]


def test_checks_of_sizes_vanish() -> None:
    result = of(lambda x, y: x + y, torch.randn(5, 7), torch.randn(5, 7))
    assert [call["op"] for call in result.document["calls"]] == ["aten::add"]


class Inner(nn.Module):
    """One call."""

    def forward(self, x: Tensor) -> Tensor:
        """The positive part."""
        return torch.relu(x)


class Outer(nn.Module):
    """Two inner modules, the first of which is called twice, and a call of its own."""

    def __init__(self) -> None:
        """Two inner modules."""
        super().__init__()
        self.layers = nn.ModuleList(Inner() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """All of them in a row."""
        for layer in (*self.layers, self.layers[0]):
            x = layer(x)
        return x + 1


def test_calls_know_their_modules_functions_and_line() -> None:
    calls = of(Outer(), torch.randn(5, 4)).document["calls"]
    assert [call["modules"] for call in calls] == [
        [["layers.0", "Inner"]],
        [["layers.1", "Inner"]],
        [["layers.0", "Inner"]],
        [],
    ]
    assert calls[0]["user_calls"] == [["relu", "relu"]]
    assert calls[0]["line"].startswith("test_capture_translate.py:")


def test_calls_carry_the_users_marks() -> None:
    def marked(x: Tensor) -> Tensor:
        with torch.fx.traceback.annotate({"dynaflow": (("hot", ("compute",)),)}):
            y = x * 2
        return y + 1

    mul, add = of(marked, torch.randn(5, 4)).document["calls"]
    assert mul["marks"] == [{"name": "hot", "tags": ["compute"]}]
    assert add["marks"] == []


def test_a_data_dependent_size_is_a_symbol_of_its_own() -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        result = of(lambda x: x.nonzero() * 2, torch.randn(5, 4))
    roles = [symbol["role"] for symbol in result.document["symbols"]]
    assert roles == ["batch", "size", "data"]


@torch.library.custom_op("dynaflow_test::scale_", mutates_args={"x"})
def scale_(x: Tensor, by: float) -> Tensor:
    """Scales `x` in place; returns its sum."""
    x.mul_(by)
    return x.sum()


@scale_.register_fake
def _(x: Tensor, by: float) -> Tensor:
    return x.new_empty(())


def test_a_mutating_op_is_itself_and_updates_its_base() -> None:
    def mutate(x: Tensor) -> Tensor:
        y = x + 1
        total: Tensor = torch.ops.dynaflow_test.scale_(y, 2.0)
        return y + total

    result = of(mutate, torch.randn(5, 4))
    call = only_call(result, "dynaflow_test::scale_")
    assert call["writes"] == [0]
    assert call["arguments"] == [{"t": 1}, 2.0]
    assert call["outputs"] == [2, 3]
    assert call["updates"] == [[1, 1]]
    assert result.document["calls"][-1]["arguments"][:2] == [{"t": 3}, {"t": 2}]


def test_a_mutated_view_becomes_a_call_before_the_op() -> None:
    def mutate(x: Tensor) -> Tensor:
        y = x + 1
        torch.ops.dynaflow_test.scale_(y[:, 1:3], 2.0)
        return y

    result = of(mutate, torch.randn(5, 4))
    ops = [call["op"] for call in result.document["calls"]]
    at = ops.index("dynaflow_test::scale_")
    view, call = result.document["calls"][at - 1 : at + 1]
    assert view["op"] in ("aten::slice", "aten::as_strided")
    assert view["aliases"] == [[0, 0]]
    assert call["arguments"][0] == {"t": view["outputs"][0]}
    assert call["updates"] == [[view["arguments"][0]["t"], 1]]


def test_a_higher_order_op_is_a_typed_error() -> None:
    def branch(x: Tensor) -> Tensor:
        result: Tensor = torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))
        return result

    with pytest.raises(UntranslatableError, match=r"cond.*higher-order"):
        of(branch, torch.randn(5, 4))


def test_a_dtype_without_a_name_is_a_typed_error() -> None:
    with pytest.raises(UntranslatableError, match="float8_e4m3fn"):
        of(lambda x: x.to(torch.float8_e4m3fn), torch.randn(5, 4))


def test_a_number_known_only_later_is_a_typed_error() -> None:
    with (
        torch._dynamo.config.patch(capture_scalar_outputs=True),
        pytest.raises(UntranslatableError, match="known only once it ran"),
    ):
        of(lambda x, n: x * n.item(), torch.randn(5, 4), torch.tensor(3))
