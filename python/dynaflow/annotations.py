"""Where a model is cut into the ops that a schedule orders."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import torch
from torch.fx import traceback

from dynaflow import _C

_F = TypeVar("_F", bound=Callable[..., Any])


class SplitModule:
    """Every module of this class, class name or path is one op.

    >>> SplitModule("LlamaAttention", tags={"attention"})
    >>> SplitModule("model.layers.*.mlp")
    >>> SplitModule(torch.nn.MultiheadAttention)
    """

    def __init__(self, module: type | str, tags: Iterable[str] = ()) -> None:
        self.pattern = module if isinstance(module, str) else module.__name__
        self.tags = sorted(tags)

    def _rule(self) -> _C.Rule:
        return _C.Rule("module", [self.pattern], self.tags)

    def __repr__(self) -> str:
        return f"SplitModule({self.pattern!r}, tags={self.tags})"


class SplitFunc:
    """Every call of this operator or function is one op; a tuple is a sequence of calls.

    >>> SplitFunc("all_reduce", tags={"network"})
    >>> SplitFunc(torch.nn.functional.scaled_dot_product_attention)
    >>> SplitFunc(("mm", "all_reduce"))
    """

    def __init__(
        self,
        function: str | Callable[..., object] | tuple[str | Callable[..., object], ...],
        tags: Iterable[str] = (),
    ) -> None:
        sequence = function if isinstance(function, tuple) else (function,)
        self.patterns = [_function_name(item) for item in sequence]
        self.tags = sorted(tags)

    def _rule(self) -> _C.Rule:
        return _C.Rule("function", self.patterns, self.tags)

    def __repr__(self) -> str:
        return f"SplitFunc({self.patterns}, tags={self.tags})"


def mark(name: str, tags: Iterable[str] = ()) -> Any:  # noqa: ANN401
    """What runs under this context, or in this function, is one op.

    >>> with dynaflow.mark("experts", tags={"memory"}):
    ...     y = self.experts(x)
    >>> @dynaflow.mark("norm")
    ... def norm(x): ...
    """
    annotation = {"dynaflow": ((name, tuple(sorted(tags))),)}
    if torch.compiler.is_compiling():
        return traceback.annotate(annotation)
    return _Mark(annotation)


class _Mark:
    """A mark outside of a trace: nothing as a context, and a decorator that a trace sees."""

    def __init__(self, annotation: dict[str, Any]) -> None:
        self._annotation = annotation

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, function: _F) -> _F:
        return traceback.annotate_fn(self._annotation)(function)  # type: ignore[return-value]


def rules(cut: Sequence[SplitModule | SplitFunc]) -> list[_C.Rule]:
    """The annotations as C++ takes them."""
    for annotation in cut:
        if not isinstance(annotation, SplitModule | SplitFunc):
            raise TypeError(f"cut lists SplitModule(...) and SplitFunc(...), not {annotation!r}")
    return [annotation._rule() for annotation in cut]


def _function_name(function: str | Callable[..., object]) -> str:
    return function if isinstance(function, str) else function.__name__
