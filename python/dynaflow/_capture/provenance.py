"""Where a call comes from: modules, functions, the user's marks and the line of source."""

import re
from pathlib import PurePath
from typing import NamedTuple

from torch import fx

_ROOT = re.compile(r"^[LG]\['\w+'\]\.?")
_REPEATED = re.compile(r"@\d+")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_STEP = re.compile(r"\[['\"]?([^\]'\"]+)['\"]?\]|\.?(\w+)")
_REGISTRIES = {"__dict__", "_modules", "_parameters", "_buffers"}


class Provenance(NamedTuple):
    """What a Capture says about the origin of one call."""

    modules: list[list[str]]
    user_calls: list[list[str]]
    marks: list[dict[str, object]]
    line: str


def provenance(node: fx.Node) -> Provenance:
    """The origin of `node`, from the metadata that Dynamo and AOTAutograd left on it."""
    return Provenance(_modules(node), _user_calls(node), _marks(node), _line(node))


def module_path(path: str) -> str:
    """A plain module path, without its root and without the number of a repeated call.

    >>> module_path("L['self'].layers.0.mlp@2")
    'layers.0.mlp'
    """
    return ".".join(path_steps(_REPEATED.sub("", _ROOT.sub("", path))))


def path_steps(path: str) -> list[str]:
    """The names on a path of attributes and items, without the registries of nn.Module.

    >>> path_steps("layers[0]._parameters['weight']")
    ['layers', '0', 'weight']
    """
    steps = (key or attribute for key, attribute in _STEP.findall(path))
    return [step for step in steps if step not in _REGISTRIES]


def _modules(node: fx.Node) -> list[list[str]]:
    """Modules around the call, outermost first; the root itself is left out."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    pairs = ((module_path(path), _name(kind)) for path, kind in stack.values())
    return [[path, kind] for path, kind in pairs if path]


def _user_calls(node: fx.Node) -> list[list[str]]:
    """The functions that the user's code called, each with a name of that very call."""
    stack = node.meta.get("source_fn_stack") or node.meta.get("fwd_source_fn_stack") or []
    return [[_name(function), call] for call, function in stack]


def _marks(node: fx.Node) -> list[dict[str, object]]:
    pairs = (node.meta.get("custom") or {}).get("dynaflow", ())
    return [{"name": name, "tags": list(tags)} for name, tags in pairs]


def _line(node: fx.Node) -> str:
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return f"{PurePath(frames[-1][0]).name}:{frames[-1][1]}" if frames else ""


def _name(thing: object) -> str:
    """The plain name of a class or function, which Dynamo sometimes gives as a string."""
    name = thing if isinstance(thing, str) else getattr(thing, "__name__", type(thing).__name__)
    return name.rpartition(".")[2]
