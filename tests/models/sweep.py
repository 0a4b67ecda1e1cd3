"""A model under every strategy, split and cut, held against the unsplit model."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import dynaflow
from dynaflow import _C
from dynaflow._capture.marks import named_tensors
from dynaflow.annotations import rules
from strategies import Under, orders
from zoo import Entry

BATCHES = (1, 2, 3, 7, 8, 16)
SEQUENCES = (5, 7, 6, 9, 4, 8)  # one per batch: a sequence length free to vary
SPLITS = [(1, 0), (2, 0), (3, 0), (4, 0), (2, 1), (3, 1), (4, 1)]
FP32 = 1e-5
BF16 = 2.0**-6
"""Four units in the last place of a bf16 number of the largest magnitude: a matrix product of fewer
rows adds up in another order, so a result may round to the neighbouring number, in each of two
layers and the head. Held against the unsplit model under the same autocast."""

_Model = _C.Model  # itself, while a Switch stands for it

CUT = ("Attention", "MLP", "FeedForward", "SparseMoeBlock", "Moe", "MoE")


@dataclass
class Outcome:
    """What a sweep found."""

    counts: Mapping[str, int] = field(default_factory=dict)
    runs: int = 0
    captures: int = 0
    error: float = 0.0
    copied: int = 0
    python_calls: int = 0
    warnings: list[str] = field(default_factory=list)


class Routed(nn.Module):
    """A model with experts that returns what its routers decided as well."""

    def __init__(self, model: nn.Module) -> None:
        """Watches every module named gate or router."""
        super().__init__()
        self.model = model
        self.seen: list[Any] = []
        for name, module in model.named_modules():
            if name.endswith((".gate", ".router")):
                module.register_forward_hook(lambda _m, _a, out: self.seen.append(out))

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The model's result, and what each router returned: logits, weights, chosen experts."""
        self.seen = []
        result = self.model(*args, **kwargs)
        return result, list(self.seen)


class Switch:
    """Stands for _C.Model: one capture that can be cut and scheduled again and again."""

    def __init__(self, document: str, rules: Any, scheduler: Any, *rest: Any) -> None:  # noqa: ANN401
        """As _C.Model, which it makes and stands for."""
        self._document, self._rest = document, rest
        self.current = _Model(document, rules, scheduler, *rest)

    def use(self, rules: list[_C.Rule], scheduler: _C.OpScheduler) -> _C.Model:
        """From now on the model is cut and scheduled like this."""
        self.current = _Model(self._document, rules, scheduler, *self._rest)
        return self.current

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.current, name)


@contextlib.contextmanager
def switchable() -> Iterator[None]:
    """Models captured inside are Switches."""
    with mock.patch.object(_C, "Model", Switch):
        yield


def difference(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """The largest max|a−b| / max|b| over all leaves; inf where they are not of one kind."""
    if len(ours) != len(theirs):
        return float("inf")
    return max((_leaf_difference(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def _leaf_difference(a: Any, b: Any) -> float:  # noqa: ANN401
    if not isinstance(b, Tensor):
        return 0.0 if type(a) is type(b) and a == b else float("inf")
    if not isinstance(a, Tensor) or a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if not (b.is_floating_point() or b.is_complex()):
        return 0.0 if torch.equal(a, b) else float("inf")
    if b.numel() == 0 or torch.equal(a, b):
        return 0.0
    wide = torch.complex128 if b.is_complex() else torch.float64
    error = (a.to(wide) - b.to(wide)).abs().max() / b.to(wide).abs().max()
    return float(error) if torch.isfinite(error) else float("inf")


class Trial:
    """One model of the zoo, called plainly or scheduled from the same state."""

    def __init__(self, entry: Entry) -> None:
        """Makes the model; one with experts shows its routing."""
        self.entry = entry
        model = entry.make()
        names = [name for name, _ in model.named_modules()]
        routed = any(name.endswith((".gate", ".router")) for name in names)
        self.model: nn.Module = Routed(model) if routed else model
        self.batch_dims = entry.batch_dims
        self.state = {name: b.clone() for name, b in self.model.named_buffers()}

    def call(self, function: Callable[..., Any], batch: int, seq: int) -> list[Any]:
        """All that a call returns, and all of its arguments and the model's buffers afterwards."""
        buffers = dict(self.model.named_buffers())
        for name, value in self.state.items():
            buffers[name].copy_(value)
        args, kwargs = self.entry.example(batch, seq)
        with torch.no_grad(), self.entry.context():
            result = function(*args, **kwargs)
        held = [t.tensor.clone() for t in named_tensors(args, kwargs)]
        leaves = [leaf for leaf in tree_leaves(result) if is_plain(leaf)]
        return [*leaves, *held, *(b.clone() for b in buffers.values())]

    def cuts(self) -> list[list[dynaflow.SplitModule]]:
        """The cuts to try: the default, and at attention and MLP where there are any."""
        types = {type(module).__name__ for module in self.model.modules()}
        at_modules = [dynaflow.SplitModule(t) for t in sorted(types) if t.endswith(CUT)]
        return [[], at_modules] if at_modules else [[]]


def is_plain(leaf: object) -> bool:
    """Whether a leaf can be compared; a cache object cannot, but its tensors are arguments."""
    return leaf is None or isinstance(leaf, Tensor | int | float | bool | str)


def sweep(
    entry: Entry,
    batches: Sequence[int] = BATCHES,
    splits: Sequence[tuple[int, int]] = SPLITS,
    names: Sequence[str] | None = None,
) -> Outcome:
    """`entry` under every strategy, split and cut."""
    trial = Trial(entry)
    sizes = list(zip(batches, SEQUENCES, strict=False))
    expected = {size: trial.call(trial.model, *size) for size in sizes}
    scheduler = Under(dynaflow.Sequential())
    compiled = dynaflow.compile(trial.model, scheduler, batch_dims=trial.batch_dims, engine="aten")
    with switchable():
        found = Outcome()
        check(found, trial, compiled, expected, [(1, 0)])
        switch: Any = compiled._graphs[-1].model
        for cut in trial.cuts():
            for name, order in orders().items():
                if names is not None and name not in names:
                    continue
                model = switch.use(rules(cut), Under(order))
                found.warnings += model.warnings
                check(found, trial, compiled, expected, splits)
                if not cut:
                    found.counts = model.counts
        found.captures = len(compiled._graphs)
    return found


def check(
    found: Outcome,
    trial: Trial,
    compiled: dynaflow.CompiledModule,
    expected: Mapping[tuple[int, int], list[Any]],
    splits: Sequence[tuple[int, int]],
) -> None:
    """Every size and split once, under the strategy that is in use."""
    for (batch, seq), theirs in expected.items():
        for parts, uneven in splits:
            with dynaflow.batch(parts=parts, uneven=uneven):
                ours = trial.call(compiled, batch, seq)
            found.runs += 1
            found.error = max(found.error, difference(ours, theirs))
            found.copied = max(found.copied, compiled.stats["copied_bytes"])
            found.python_calls = max(found.python_calls, compiled.stats["python_calls"])
