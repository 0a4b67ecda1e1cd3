"""Where a model is cut into the ops that a schedule orders."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

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


class mark(AbstractContextManager["mark"]):  # noqa: N801  (used like a function)
    """What runs under this context, or in this function, is one op.

    >>> with dynaflow.mark("experts", tags={"memory"}):
    ...     y = self.experts(x)
    >>> @dynaflow.mark("norm")
    ... def norm(x): ...
    """

    def __init__(self, name: str, tags: Iterable[str] = ()) -> None:
        self.name = name
        self.tags = tuple(sorted(tags))
        self._annotation = {"dynaflow": ((name, self.tags),)}
        self._entered: list[AbstractContextManager[object]] = []

    def __enter__(self) -> "mark":
        context = traceback.annotate(self._annotation)
        context.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered.pop().__exit__(None, None, None)

    def __call__(self, function: _F) -> _F:
        return traceback.annotate_fn(self._annotation)(function)


def rules(cut: Iterable[SplitModule | SplitFunc]) -> list[_C.Rule]:
    """The annotations as C++ takes them."""
    return [annotation._rule() for annotation in cut]


def _function_name(function: str | Callable[..., object]) -> str:
    return function if isinstance(function, str) else function.__name__
