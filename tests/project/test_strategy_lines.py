"""How many lines a strategy takes, as the README says it."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = {"split", "schedule"}
ROW = re.compile(r"^\| of scheduling \| (\d+) \| (\d+) \|", re.MULTILINE)


def cpp_lines(text: str) -> int:
    """Of the functions' definitions, without comments."""
    bodies = re.findall(r"^\w+ CommOverlap::\w+\(.*?^}$", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for body in bodies for line in body.splitlines()]
    return sum(not line.startswith("//") for line in lines)


def python_lines(text: str) -> int:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    own = [node for node in functions if node.name in FUNCTIONS]
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in own)


def test_the_readme_counts_the_lines_of_a_strategy() -> None:
    counted = ROW.search((ROOT / "README.md").read_text())
    assert counted is not None
    cpp = cpp_lines((ROOT / "src/dynaflow/strategies/comm_overlap.cpp").read_text())
    python = python_lines((ROOT / "examples/python/comm_overlap.py").read_text())
    assert (int(counted[1]), int(counted[2])) == (cpp, python)
    assert cpp < 60
