"""_C.pyi says what _C has: the same names, and the same parameters."""

import ast
import inspect
import re
from pathlib import Path

from dynaflow import _C

STUB = Path(_C.__file__).with_name("_C.pyi")
SIGNATURE = re.compile(r"^(?:\d+\. )?\w+\((?:self: [\w.]+(?:, )?)?(.*)\) -> ", re.MULTILINE)
PARAMETER = re.compile(r"(?:^|, )(\w+): ")
# Given by the language or by pybind11, or added to an error when it is raised.
GIVEN = {"__doc__", "__module__", "__dict__", "__weakref__", "__repr__", "__str__"}
RAISED = {"Error": {"findings"}}


def stub() -> list[ast.stmt]:
    return ast.parse(STUB.read_text()).body


def defined(statements: list[ast.stmt]) -> set[str]:
    """The names that these statements give a meaning to."""
    found = {item.name for item in statements if isinstance(item, ast.FunctionDef | ast.ClassDef)}
    return found | {ast.unparse(i.target) for i in statements if isinstance(i, ast.AnnAssign)}


def stub_classes() -> dict[str, ast.ClassDef]:
    return {item.name: item for item in stub() if isinstance(item, ast.ClassDef)}


def doc(item: object) -> str:
    return inspect.getdoc(getattr(item, "__func__", item)) or ""  # of a static method, the function


def members(name: str) -> dict[str, object]:
    """What a class of _C has of its own; a class that nobody can make has no constructor."""
    found = {key: item for key, item in vars(getattr(_C, name)).items() if key not in GIVEN}
    if not doc(found.get("__init__")).startswith(("__init__(self: ", "__init__(*args")):
        found.pop("__init__", None)
    return {key: item for key, item in found.items() if not key.startswith("_pybind11")}


def stub_parameters(name: str) -> dict[str, set[tuple[str, ...]]]:
    """Method → the parameters of each of its overloads, as the stub has them."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for item in stub_classes()[name].body:
        if not isinstance(item, ast.FunctionDef) or _is_operator(item.name):
            continue
        if "property" not in map(ast.unparse, item.decorator_list):
            names = (argument.arg for argument in item.args.args + item.args.kwonlyargs)
            own = tuple(name for name in names if name != "self")
            found.setdefault(item.name, set()).add(own)
    return found


def parameters(name: str) -> dict[str, set[tuple[str, ...]]]:
    """The same, as pybind11 describes the methods."""
    return {
        key: {tuple(PARAMETER.findall(text)) for text in SIGNATURE.findall(doc(item))}
        for key, item in members(name).items()
        if callable(item) and not _is_operator(key)
    }


def _is_operator(name: str) -> bool:
    return name.startswith("__") and name != "__init__"


def test_the_module_has_the_names_of_the_stub() -> None:
    assert defined(stub()) == {name for name in dir(_C) if not name.startswith("__")}


def test_every_class_has_the_members_of_the_stub() -> None:
    stubs = {name: defined(item.body) for name, item in stub_classes().items()}
    assert stubs == {name: set(members(name)) | RAISED.get(name, set()) for name in stubs}


def test_every_method_has_the_parameters_of_the_stub() -> None:
    stubs = {name: stub_parameters(name) for name in stub_classes()}
    assert stubs == {name: parameters(name) for name in stubs}
