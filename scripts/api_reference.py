#!/usr/bin/env python3
"""Writes docs/api.md from the package's docstrings: api_reference.py [--check].

Reads the sources and the stub of the C++ module, so that neither torch nor a build is needed.
With --check nothing is written; the exit status is 1 if docs/api.md is not what would be written.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/dynaflow"
PAGE = ROOT / "docs/api.md"

SECTIONS = {
    "Running a model": ["compile", "CompiledModule", "batch", "microbatch"],
    "Where a model is cut": ["SplitModule", "SplitFunc", "mark"],
    "Strategies": ["OpScheduler", "Sequential", "Leapfrog", "Branches", "CommOverlap"],
    "What a model costs": ["calibrate", "MeasuredCosts", "CostPoint"],
    "What `split` sees": ["Batch", "Split"],
    "What `schedule` sees": ["ScheduleContext", "ReadyOp", "Microbatch", "Lane", "IssuedStep"],
    "What comes back": ["Error", "Finding"],
    "Where the time went": [
        "Timeline",
        "Explanation",
        "LaneTimes",
        "PathStep",
        "explain_ranks",
        "RanksExplanation",
        "RankTimes",
        "save_html",
    ],
}
HEAD = """# API reference

Everything that `import dynaflow` gives, from the docstrings; `scripts/api_reference.py` writes this
page. [writing-a-scheduler.md](writing-a-scheduler.md) shows how the parts work together,
[rules.md](rules.md) explains every refusal.
"""

Definition = ast.ClassDef | ast.FunctionDef


def parse(module: str) -> ast.Module:
    """A module of the package; of the one in C++, the stub."""
    suffix = ".pyi" if module == "_C" else ".py"
    return ast.parse((PACKAGE / (module + suffix)).read_text())


def public_names() -> dict[str, str]:
    """Name → the module that defines it, of everything that the package exports."""
    body = parse("__init__").body
    exported = next(
        ast.literal_eval(item.value)
        for item in body
        if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "__all__"
    )
    origin = {
        alias.name: item.module.removeprefix("dynaflow.")
        for item in body
        if isinstance(item, ast.ImportFrom) and item.module
        for alias in item.names
    }
    return {name: origin[name] for name in exported}


def find(name: str, module: str) -> Definition:
    return next(
        item for item in parse(module).body if isinstance(item, Definition) and item.name == name
    )


def signature(function: ast.FunctionDef) -> str:
    """As it is called: without self, without types; those are in the package's stubs."""
    arguments = function.args
    names = [argument.arg for argument in arguments.args]
    defaults = [None] * (len(names) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [_parameter(*pair) for pair in zip(names, defaults, strict=True) if pair[0] != "self"]
    if arguments.vararg:
        parts.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        parts.append("*")
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    parts += [_parameter(keyword.arg, default) for keyword, default in keywords]
    if arguments.kwarg:
        parts.append(f"**{arguments.kwarg.arg}")
    return f"({', '.join(parts)})"


def _parameter(name: str, default: ast.expr | None) -> str:
    if default is None:
        return name
    text = ast.unparse(default).replace("'", '"')
    return f"{name}={'…' if text == '...' else text}"


def prose(item: Definition) -> list[str]:
    """The docstring, with its examples as blocks."""
    lines: list[str] = []
    fenced = False
    for line in (ast.get_docstring(item) or "").splitlines():
        example = line.startswith((">>>", "..."))
        if example != fenced:
            lines.append("```pycon" if example else "```")
            fenced = example
        lines.append(line.replace("``", "`") if not example else line)
    return [*lines, "```"] if fenced else lines


def is_property(item: ast.FunctionDef) -> bool:
    return "property" in map(ast.unparse, item.decorator_list)


def members(item: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Public methods and properties, those that the C++ class gives included."""
    own = [part for part in item.body if isinstance(part, ast.FunctionDef)]
    for base in map(ast.unparse, item.bases):
        if base.startswith("_C."):
            inherited = find(base.removeprefix("_C."), "_C")
            assert isinstance(inherited, ast.ClassDef)
            own += [part for part in members(inherited) if part.name not in {o.name for o in own}]
    yield from (part for part in own if not part.name.startswith("_"))


def constructor(item: ast.ClassDef) -> str:
    made = [part for part in item.body if getattr(part, "name", "") == "__init__"]
    if not made or item.name == "CompiledModule":
        return ""
    assert isinstance(made[0], ast.FunctionDef)
    return signature(made[0])


def member_lines(item: ast.FunctionDef) -> list[str]:
    call = "" if is_property(item) else signature(item)
    text = [line for line in prose(item) if line]
    return [
        f"- `{item.name}{call}`" + (f": {text[0]}" if text else ""),
        *(f"  {t}" for t in text[1:]),
    ]


def entry(name: str, module: str) -> list[str]:
    item = find(name, module)
    call = constructor(item) if isinstance(item, ast.ClassDef) else signature(item)
    lines = ["", f"### {name}", "", f"`dynaflow.{name}{call}`", "", *prose(item)]
    listed = list(members(item)) if isinstance(item, ast.ClassDef) else []
    if listed:
        lines.append("")
    for member in listed:
        lines += member_lines(member)
    return lines


def page() -> str:
    names = public_names()
    listed = [name for section in SECTIONS.values() for name in section]
    if sorted(listed) != sorted(names):
        sys.exit(f"SECTIONS and __all__ differ in {sorted(set(listed) ^ set(names))}")
    lines = HEAD.splitlines()
    for title, section in SECTIONS.items():
        lines += ["", f"## {title}"]
        for name in section:
            lines += entry(name, names[name])
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    if not parser.parse_args().check:
        PAGE.write_text(page())
        return 0
    current = PAGE.exists() and PAGE.read_text() == page()
    if not current:
        print("docs/api.md is not what the docstrings say; run scripts/api_reference.py")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
