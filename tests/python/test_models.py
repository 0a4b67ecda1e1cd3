"""Real models under schedules: a selection of tests/models/table.py, which runs all of it."""

import pytest

from decode import decode
from sweep import BF16, FP32, sweep
from zoo import ZOO

SELECTED = {
    "llama": FP32,
    "llama_autocast": BF16,
    "mixtral": FP32,
    "bert": FP32,
    "dit": FP32,
    "cnn_groupnorm": FP32,
    "cnn_batchnorm_train": FP32,
    "sequence_first": FP32,
    "two_towers": FP32,
}
PYTHON_OPERATORS = ("mixtral",)  # transformers::grouped_mm_fallback


@pytest.mark.parametrize("name", SELECTED)
def test_a_scheduled_model_is_the_unsplit_one(name: str) -> None:
    entry = next(entry for entry in ZOO if entry.name == name)
    found = sweep(entry, batches=(1, 7, 8), splits=((1, 0), (3, 0), (4, 1)), names=("Weave",))
    assert found.error <= SELECTED[name]
    assert found.captures == 1, "another batch or sequence length is captured again"
    assert found.counts["unknown"] == 0
    assert found.warnings == []
    assert (found.python_calls > 0) == (name in PYTHON_OPERATORS)


def test_eight_tokens_into_a_static_cache_are_right_and_copy_none_of_it() -> None:
    found = decode(batches=(3,), parts=(1, 2, 4))
    assert found.error <= FP32
    assert found.copied == 0
    assert found.undone == 6
    assert found.captures == 1
