"""What every test of the Python face needs: a fresh Dynamo, and an end to every hang."""

import faulthandler
from collections.abc import Iterator

import pytest
import torch

_HANGS_AFTER = 240.0


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A hang ends the test run with the stacks of all threads."""
    faulthandler.dump_traceback_later(_HANGS_AFTER, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
