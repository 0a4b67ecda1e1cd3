"""The torch.compile backend: Dynamo's graph in, a callable out. Translation only."""

import copy
import itertools
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from operator import itemgetter
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend
from torch._dynamo.eval_frame import innermost_fn
from torch._dynamo.exc import TensorifyScalarRestartAnalysis

from dynaflow import _C
from dynaflow._capture.capture import BatchLostError, batch_symbols, check_linear
from dynaflow._capture.inputs import aot_inputs, dynamo_inputs
from dynaflow._capture.marks import Batch
from dynaflow._capture.translate import InputName, translate
from dynaflow._capture.untranslatable import UntranslatableError
from dynaflow.annotations import SplitFunc, SplitModule, rules
from dynaflow.request import current
from dynaflow.whole import Compiled, Whole, placeholder_values

log = logging.getLogger("dynaflow")

_RUNS = itertools.count(1)


@dataclass
class Settings:
    """What a model was compiled with."""

    scheduler: _C.OpScheduler = field(default_factory=_C.Sequential)
    cut: Sequence[SplitModule | SplitFunc] | None = None
    """Where to cut; None: where the scheduler's own `cut` says."""
    engine: str = "inductor"
    """What runs a whole batch: "inductor", or "aten" where there is no compiler."""
    batch_dims: Mapping[str, int | None] | None = None
    """By argument name; None: dimension 0 of every tensor argument."""
    row_wise: Sequence[str] = ()
    """Custom operators ("library::op") whose results' row i needs row i of the arguments only."""

    warned: set[str] = field(default_factory=set)
    """Rules that match nothing: several graphs of one model say it once."""

    def __post_init__(self) -> None:
        if self.engine not in ("inductor", "aten"):
            raise ValueError(f'engine is "inductor" or "aten", not {self.engine!r}')
        if not isinstance(self.scheduler, _C.OpScheduler):
            raise TypeError(f"scheduler is an OpScheduler, not a {type(self.scheduler).__name__}")
        self.rules()

    def rules(self) -> list[_C.Rule]:
        """The annotations, from here or from the scheduler."""
        return rules(self.cut if self.cut is not None else getattr(self.scheduler, "cut", ()))


class ScheduledGraph:
    """One graph of Dynamo's: run as one compiled whole, or as a schedule says."""

    def __init__(
        self,
        gm: fx.GraphModule,
        examples: list[Any],
        settings: Settings,
        *,
        name: str = "model",
        positional: Sequence[str] = (),
        batch: Batch = "dynamic",
        batch_dims: Mapping[str, int] | None = None,
    ) -> None:
        self.settings = settings
        self.name = name
        self.model: _C.Model | None = None
        self.unscheduled_because: str | None = None
        self.trace = False
        self.last_run = 0
        """Larger than that of every graph that ran before; 0: has not run yet."""
        self._batch = batch
        self._dims = batch_dims
        self._names = dynamo_inputs(gm, positional)
        self._sizes = _symbol_positions(gm)
        self._sizes_of = itemgetter(*self._sizes) if self._sizes else _no_sizes
        self._paths: dict[Any, Compiled] = {}
        self._whole = Whole(gm, settings.engine, name)
        self._scheduled = self._make_scheduled(gm, examples)

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401
        """What Dynamo calls, with the graph's inputs."""
        key = (self._sizes_of(args), current())
        run = self._paths.get(key)
        return run(*args) if run is not None else self._decide(key, args)(*args)

    def _make_scheduled(self, gm: fx.GraphModule, examples: list[Any]) -> Compiled | None:
        if torch.is_grad_enabled() and any(_needs_grad(example) for example in examples):
            self._leave_unscheduled("gradients are wanted, and training is not scheduled yet")
            return None
        try:
            return aot_autograd(
                fw_compiler=self._compile,
                bw_compiler=self._compile,
                inference_compiler=self._compile,
                keep_inference_input_mutations=True,
            )(copy.deepcopy(gm), examples)
        except BatchLostError as error:
            if self._batch != "static":
                raise
            self._leave_unscheduled(str(error))
        except (UntranslatableError, _C.Error) as error:
            self._leave_unscheduled(str(error))
        return None

    def _leave_unscheduled(self, reason: str) -> None:
        self.unscheduled_because = reason
        log.warning("%s runs unsplit and unscheduled: %s", self.name, reason)

    def _compile(self, gm: fx.GraphModule, _: list[Any]) -> Compiled:
        inputs = aot_inputs(gm, self._names)
        batch = batch_symbols(gm, inputs, self._batch_dims(gm, inputs))
        check_linear(gm, batch)
        document, constants = translate(gm, name=self.name, batch=batch, inputs=inputs)
        self.model = model = _C.Model(
            json.dumps(document),
            self.settings.rules(),
            self.settings.scheduler,
            constants,
            list(self.settings.row_wise),
        )
        for warning in model.warnings:
            rule = warning.partition(";")[0]
            if rule not in self.settings.warned:
                log.warning("%s: %s", self.name, warning)
                self.settings.warned.add(rule)
        log.debug("%s\n%s", self.name, model.cut)

        context = getattr(self.settings.scheduler, "context", None)

        def run(args: list[Any]) -> list[Any]:
            self.last_run = next(_RUNS)
            return model.run(args, current(), self.trace, context)

        run._boxed_call = True  # type: ignore[attr-defined]  # AOTAutograd passes one list
        return run

    def _batch_dims(self, gm: fx.GraphModule, inputs: Sequence[InputName]) -> Mapping[str, int]:
        if self._dims is not None:
            return self._dims
        nodes = gm.graph.find_nodes(op="placeholder")
        said = self.settings.batch_dims or {}
        return {
            name: dim
            for node, (name, role) in zip(nodes, inputs, strict=True)
            if role == "argument" and isinstance(node.meta["val"], torch.Tensor)
            if (dim := said.get(name, 0)) is not None and node.meta["val"].dim() > dim
            if isinstance(node.meta["val"].size(dim), torch.SymInt)
        }

    def _decide(self, key: tuple[Any, ...], args: Sequence[Any]) -> Compiled:
        """What runs a batch of these sizes; remembered, since strategies are pure."""
        scheduled = self._scheduled if self._is_scheduled(args) else None
        # Without the wrapper that keeps Dynamo out: it puts the same one around this graph.
        run = innermost_fn(scheduled or self._whole.for_arguments(args))
        if len(self._paths) >= _MOST_PATHS:
            self._paths.clear()
        self._paths[key] = run
        return run

    def _is_scheduled(self, args: Sequence[Any]) -> bool:
        if self.model is None:
            return False
        sizes = {name: args[i] for i, name in self._sizes.items()}
        values = [sizes.get(symbol, 0) for symbol in self.model.symbols]
        split = self.model.split(values, current())
        return split.scheduled or self.settings.engine == "aten"


_MOST_PATHS = 4096


def dynaflow_backend(
    gm: fx.GraphModule, examples: list[Any], options: Mapping[str, Any] | None = None
) -> Compiled:
    """The backend that ``torch.compile(model, backend="dynaflow")`` finds by its entry point.

    Dynamo calls it after tracing, with a fixed batch unless the caller marked it. So it marks
    the batch and has Dynamo trace once more. A batch of 1 stays fixed until another one comes:
    `dynaflow.compile` marks before tracing, and has no such limit.
    """
    return scheduled_piece(gm, examples, Settings(**(options or {})))


def scheduled_piece(
    gm: fx.GraphModule, examples: list[Any], settings: Settings, name: str = "model"
) -> ScheduledGraph:
    """A graph whose batch was not marked when it was traced: it is marked, and traced again."""
    if _mark_batch(gm, settings.batch_dims or {}):
        raise TensorifyScalarRestartAnalysis(restart_reason="dynaflow marked the batch")
    return ScheduledGraph(gm, examples, settings, name=name, batch="static")


def _mark_batch(gm: fx.GraphModule, batch_dims: Mapping[str, int | None]) -> bool:
    """Marks the batch of the arguments that have none yet; whether there were any."""
    marked = False
    nodes = gm.graph.find_nodes(op="placeholder")
    for node, (name, role) in zip(nodes, dynamo_inputs(gm), strict=True):
        value, dim = node.meta.get("example_value"), batch_dims.get(name, 0)
        if role != "argument" or not isinstance(value, torch.Tensor) or dim is None:
            continue
        real = node.meta["grapharg"].example
        if value.dim() <= dim or real.size(dim) < 2 or isinstance(value.size(dim), torch.SymInt):
            continue
        if dim not in getattr(real, "_dynamo_weak_dynamic_indices", ()):
            torch._dynamo.maybe_mark_dynamic(real, dim)
            marked = True
    return marked


def _symbol_positions(gm: fx.GraphModule) -> dict[int, str]:
    """Where among a graph's inputs its sizes are, by the names of their symbols."""
    values = placeholder_values(gm)
    return {
        i: str(value.node.expr) for i, value in enumerate(values) if isinstance(value, torch.SymInt)
    }


def _no_sizes(_: Sequence[Any]) -> None:
    """All sizes are fixed."""


def _needs_grad(example: object) -> bool:
    return isinstance(example, torch.Tensor) and example.requires_grad


def register_where_not_installed() -> None:
    """A package that is only on the path has no entry point by which torch finds the backend."""
    if not entry_points(group="torch_dynamo_backends", name="dynaflow"):
        register_backend(dynaflow_backend, name="dynaflow")
