"""A rank that ends or stalls in the middle: the others get an error that names op and rank."""

# mypy: disable-error-code="arg-type, no-any-return"

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed._functional_collectives as functional
from torch import distributed, nn

import dynaflow

TIMEOUT = timedelta(seconds=4)


@torch.library.custom_op("lost::trouble", mutates_args=())
def trouble(x: torch.Tensor) -> torch.Tensor:
    """Where the rank that is told to has its trouble."""
    if armed:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "stall":
            os.kill(os.getpid(), signal.SIGSTOP)
        raise RuntimeError("bad weights")
    return x.clone()


@trouble.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Layer(nn.Module):
    def __init__(self, *, troubled: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.troubled = troubled

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if self.troubled:
            y = torch.ops.lost.trouble(y)
        return functional.all_reduce(y, "sum", distributed.group.WORLD)


def error_of(compiled: nn.Module) -> dynaflow.Error | None:
    try:
        compiled(torch.ones(6, 8))
    except dynaflow.Error as error:
        return error
    return None


how = sys.argv[1]
troubled = int(sys.argv[2])
runs_before = int(sys.argv[3]) if len(sys.argv) > 3 else 0
armed = False

if __name__ == "__main__":
    distributed.init_process_group("gloo", timeout=TIMEOUT)
    with torch.no_grad():
        model = nn.Sequential(*[Layer(troubled=i == troubled) for i in range(3)])
        compiled = dynaflow.compile(model, dynaflow.CommOverlap(2), row_wise=["lost::trouble"])
        for _run in range(runs_before + 1):
            assert error_of(compiled) is None
        armed = distributed.get_rank() == 1
        begin = time.monotonic()
        first = error_of(compiled)
        assert first is not None
        print(f"after {time.monotonic() - begin:.1f} s")
        print(first)
        print("AGAIN")
        begin = time.monotonic()
        print(error_of(compiled))
        assert time.monotonic() - begin < 1, "a broken group fails at once"
    sys.stdout.flush()
    os._exit(0)  # a broken group cannot be destroyed in order
