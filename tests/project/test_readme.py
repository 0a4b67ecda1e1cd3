"""The README's first program is examples/readme.cpp, and what it prints is what it prints."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """Language and text of every code block of the README, in order."""
    return [(match[1], match[2]) for match in BLOCK.finditer((ROOT / "README.md").read_text())]


def first_program() -> int:
    return [language for language, _ in blocks()].index("cpp")


def test_the_first_program_is_the_readme_example() -> None:
    assert blocks()[first_program()][1] == (ROOT / "examples/readme.cpp").read_text()


def test_the_output_shown_is_the_output_printed() -> None:
    shown = next(text for language, text in blocks()[first_program() :] if language == "text")
    program = ROOT / os.environ.get("DYNAFLOW_BUILD_DIR", "build/dev") / "examples/readme"
    assert program.exists(), f"{program} is not built; `make build-dev` builds it"
    printed = subprocess.run([program], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert shown == printed
