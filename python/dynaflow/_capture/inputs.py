"""What the user calls the inputs of a graph.

Dynamo knows each placeholder's source (``L['kwargs']['mask']``), AOTAutograd which placeholder
of Dynamo each of its own came from. Both together give names that hold inside a backend.
"""

import re
from collections.abc import Sequence

import torch
from torch import fx
from torch._functorch._aot_autograd.descriptors import PlainAOTInput, SubclassGetAttrAOTInput

from dynaflow._capture.provenance import path_steps
from dynaflow._capture.translate import InputName, Role

_SCOPE = re.compile(r"^[LG](?=\[)")


def dynamo_inputs(gm: fx.GraphModule, positional: Sequence[str] = ()) -> list[InputName]:
    """The names of a Dynamo graph's placeholders, in order.

    `positional` names the model's positional parameters, for a model whose `forward` is hidden
    behind a wrapper with ``*args``.
    """
    return [_dynamo_input(node, positional) for node in gm.graph.find_nodes(op="placeholder")]


def aot_inputs(gm: fx.GraphModule, dynamo: Sequence[InputName]) -> list[InputName]:
    """The names of an AOTAutograd graph's placeholders, found through those of Dynamo's graph.

    Placeholders that the user never passed (saved activations, tangents) keep their own names.
    """
    return [_aot_input(node, dynamo) for node in gm.graph.find_nodes(op="placeholder")]


def plain_name(source: str, positional: Sequence[str] = ()) -> str:
    """The user's name for one of Dynamo's sources.

    >>> plain_name("L['kwargs']['cache'].layers[0].keys")
    'cache.layers.0.keys'
    >>> plain_name("L['args'][0]", ["input_ids"])
    'input_ids'
    """
    steps = path_steps(_SCOPE.sub("", source))
    if steps[:1] in (["self"], ["kwargs"]) and len(steps) > 1:
        steps = steps[1:]
    elif steps[:1] == ["args"] and len(steps) > 1 and int(steps[1]) < len(positional):
        steps[:2] = [positional[int(steps[1])]]
    return ".".join(steps) or source


def _dynamo_input(node: fx.Node, positional: Sequence[str]) -> InputName:
    argument = node.meta.get("grapharg")
    if argument is None or argument.source is None:
        return InputName(node.name, "argument")
    source: str = argument.source.name
    return InputName(plain_name(source, positional), _role(source, node.meta.get("example_value")))


def _role(source: str, value: object) -> Role:
    """A tensor that hangs on a module but is registered nowhere is a buffer to us."""
    if isinstance(value, torch.nn.Parameter) or "._parameters[" in source:
        return "parameter"
    return "buffer" if source.startswith(("L['self']", "G[")) else "argument"


def _aot_input(node: fx.Node, dynamo: Sequence[InputName]) -> InputName:
    descriptor = node.meta.get("desc")
    while isinstance(descriptor, SubclassGetAttrAOTInput):  # a DTensor's own part goes by its name
        descriptor = descriptor.base
    if isinstance(descriptor, PlainAOTInput) and descriptor.idx < len(dynamo):
        return dynamo[descriptor.idx]
    return InputName(node.name, "argument")
