"""A graph unsplit and unscheduled, as the engine runs it. Translation only.

The schedule's capture leaves the batch without any value, so that one capture serves all sizes.
Inductor needs sizes that have values: given none, it mistakes the strides of convolutions, and
computes wrong numbers where the batch is not the outermost dimension (torch 2.13). So it gets the
graph with the sizes of a call as examples. What it then assumes about sizes is kept beside the
result, and sizes that break an assumption are compiled for anew.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import sympy  # type: ignore[import-untyped]
import torch
from torch import Tensor, fx
from torch._dynamo.source import ConstantSource
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode
from torch.fx.experimental import _config as shape_config
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._python_dispatch import is_traceable_wrapper_subclass, transform_subclass
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from dynaflow._capture.sizes import expression

log = logging.getLogger("dynaflow")

Compiled: TypeAlias = Callable[..., Any]
Sizes: TypeAlias = Mapping[sympy.Symbol, int]

MOST_VARIANTS = 8
"""A graph that assumes something about most sizes runs uncompiled for further ones."""


def placeholder_values(gm: fx.GraphModule) -> list[Any]:
    """What a graph's placeholders were in the trace: fake tensors, symbols, constants."""
    nodes = gm.graph.find_nodes(op="placeholder")
    return [node.meta.get("example_value", node.meta.get("val")) for node in nodes]


class Whole:
    """One graph of Dynamo's, compiled when a call first needs it."""

    def __init__(self, gm: fx.GraphModule, engine: str, name: str) -> None:
        """`engine` is "inductor", or "aten" for the graph as it is."""
        self._gm = gm
        self._engine = engine
        self._name = name
        self._examples = placeholder_values(gm)
        self._positions = {
            expression(value): i
            for i, value in enumerate(self._examples)
            if isinstance(value, torch.SymInt)
        }
        self._variants: list[_Variant] = []
        self._lock = threading.Lock()

    def for_arguments(self, args: Sequence[Any]) -> Compiled:
        """What to call with these arguments, and with all others of these sizes."""
        if self._engine == "aten":
            return self._gm
        sizes = {symbol: int(args[i]) for symbol, i in self._positions.items()}
        with self._lock:
            for variant in self._variants:
                if variant.holds_for(sizes):
                    return variant.compiled
            if len(self._variants) >= MOST_VARIANTS:
                log.warning("%s runs uncompiled for further sizes than %s", self._name, sizes)
                return self._gm
            self._variants.append(_compile(self._gm, self._examples, sizes))
            return self._variants[-1].compiled


class _Variant(NamedTuple):
    compiled: Compiled
    assumed: list[sympy.Basic]

    def holds_for(self, sizes: Sizes) -> bool:
        numbers = {symbol: sympy.Integer(size) for symbol, size in sizes.items()}
        return all(bool(assumption.xreplace(numbers)) for assumption in self.assumed)


def _compile(gm: fx.GraphModule, examples: Sequence[Any], sizes: Sizes) -> _Variant:
    from torch._inductor.compile_fx import compile_fx

    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    theirs = {symbol: _symbol(env, str(symbol), size) for symbol, size in sizes.items()}
    symbols = {
        symbol: env.create_symintnode(theirs[symbol], hint=size) for symbol, size in sizes.items()
    }
    with shape_config.patch(backed_size_oblivious=True):  # type: ignore[attr-defined]
        with mode:
            inputs = [_like(example, symbols) for example in examples]
        with tracing(TracingContext(mode)):
            compiled = cast(Compiled, compile_fx(gm, inputs))
    ours = {their: symbol for symbol, their in theirs.items()}
    return _Variant(compiled, [guard.expr.xreplace(ours) for guard in env.guards])


def _symbol(env: ShapeEnv, name: str, size: int) -> sympy.Expr:
    return env.create_symbol(
        size,
        ConstantSource(name),
        DimDynamic.DYNAMIC,
        positive=None,
        do_not_specialize_zero_one=True,
    )


def _like(example: Any, symbols: dict[sympy.Symbol, Any]) -> Any:  # noqa: ANN401
    """`example` over symbols that have values."""

    def translated(value: int | torch.SymInt) -> Any:  # noqa: ANN401
        return sympy_interp(PythonReferenceAnalysis, symbols, expression(value))

    if isinstance(example, torch.SymInt):
        return translated(example)
    if not isinstance(example, Tensor):
        return example
    if is_traceable_wrapper_subclass(example):
        return transform_subclass(example, lambda _, inner: _like(inner, symbols))
    sizes, strides = (
        [translated(value) for value in values] for values in (example.size(), example.stride())
    )
    offset = translated(example.storage_offset())
    made = torch.empty_strided(sizes, strides, dtype=example.dtype, device=example.device)
    if offset != 0:
        made = torch.empty(offset + made.untyped_storage().nbytes(), dtype=example.dtype)
        made = made.as_strided(sizes, strides, offset)
    return made.requires_grad_(example.requires_grad)
