"""The torch.compile backend: Dynamo's graph in, a callable out. Translation only."""

import copy
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch._dynamo.backends.common import aot_autograd

import torch
from dynaflow import _C
from dynaflow._capture.capture import BatchLostError, batch_symbols, check_linear
from dynaflow._capture.inputs import aot_inputs, dynamo_inputs
from dynaflow._capture.translate import translate
from dynaflow._capture.untranslatable import UntranslatableError
from dynaflow.annotations import SplitFunc, SplitModule, rules
from torch import fx

log = logging.getLogger("dynaflow")

Compiled = Callable[..., Any]


@dataclass
class Settings:
    """What one compiled model was asked for, and what came of it."""

    scheduler: _C.OpScheduler = field(default_factory=lambda: _C.Sequential())
    cut: Sequence[SplitModule | SplitFunc] | None = None
    engine: str = "inductor"
    batch_dims: Mapping[str, int] | None = None
    """By argument name; None: dimension 0 of every argument that has a symbol there."""
    positional: Sequence[str] = ()
    name: str = "model"
    graphs: "list[ScheduledGraph]" = field(default_factory=list)

    def rules(self) -> list[_C.Rule]:
        """The annotations, from here or from the scheduler."""
        cut = self.cut if self.cut is not None else getattr(self.scheduler, "cut", ())
        return rules(cut)


def dynaflow_backend(
    gm: fx.GraphModule, examples: list[Any], options: Mapping[str, Any] | None = None
) -> Compiled:
    """The backend that ``torch.compile(model, backend="dynaflow")`` finds by its entry point."""
    return ScheduledGraph(gm, examples, Settings(**(options or {}))).call


class ScheduledGraph:
    """One graph of Dynamo's: run as one compiled whole, or as a schedule says."""

    def __init__(self, gm: fx.GraphModule, examples: list[Any], settings: Settings) -> None:
        self.settings = settings
        self.names = dynamo_inputs(gm, settings.positional)
        self.model: _C.Model | None = None
        self.unscheduled_because: str | None = None
        self._gm = gm
        self._examples = [_fake(node) for node in gm.graph.find_nodes(op="placeholder")]
        self._context = torch._guards.TracingContext.get()
        self._whole: Compiled | None = None
        self._scheduled: Compiled = aot_autograd(
            fw_compiler=self._keep,
            bw_compiler=self._keep,
            inference_compiler=self._schedule,
            keep_inference_input_mutations=True,
        )(copy.deepcopy(gm), examples)
        settings.graphs.append(self)

    def call(self, *args: Any) -> Any:  # noqa: ANN401
        """What Dynamo calls with the graph's inputs."""
        return self._scheduled(*args)

    def _keep(self, gm: fx.GraphModule, _: list[Any]) -> Compiled:
        return gm

    def _schedule(self, gm: fx.GraphModule, _: list[Any]) -> Compiled:
        inputs = aot_inputs(gm, self.names)
        batch = batch_symbols(gm, inputs, self._batch_dims(gm, inputs))
        check_linear(gm, batch)
        document, constants = translate(gm, name=self.settings.name, batch=batch, inputs=inputs)
        self.document = document
        self.model = _C.Model(
            json.dumps(document), self.settings.rules(), self.settings.scheduler, constants
        )
        for warning in self.model.warnings:
            log.warning("%s: %s", self.settings.name, warning)
        return _boxed(self.model.run)

    def _batch_dims(self, gm: fx.GraphModule, inputs: Sequence[Any]) -> Mapping[str, int]:
        if self.settings.batch_dims is not None:
            return self.settings.batch_dims
        nodes = gm.graph.find_nodes(op="placeholder")
        return {
            name: 0
            for node, (name, role) in zip(nodes, inputs, strict=True)
            if role == "argument" and isinstance(node.meta["val"], torch.Tensor)
            if node.meta["val"].dim() > 0 and isinstance(node.meta["val"].size(0), torch.SymInt)
        }


def _boxed(run: Callable[[list[Any]], list[Any]]) -> Compiled:
    """AOTAutograd hands the arguments over as one list."""

    def call(args: list[Any]) -> list[Any]:
        return run(args)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _fake(node: fx.Node) -> Any:  # noqa: ANN401
    return node.meta.get("example_value", node.meta.get("val"))


__all__ = [
    "BatchLostError",
    "ScheduledGraph",
    "Settings",
    "UntranslatableError",
    "dynaflow_backend",
]
