"""Every program in README.md and docs/writing-a-scheduler.md runs, and prints what is shown."""

import contextlib
import io
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/writing-a-scheduler.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(#[^)]*)?\)")


@dataclass
class Program:
    """A block of Python and the block of text right after it, if there is one."""

    text: str
    shown: str | None


def blocks(path: Path) -> list[tuple[str, str]]:
    """Language and text of every code block, in order."""
    return [(match[1], match[2]) for match in BLOCK.finditer(path.read_text())]


def programs(path: Path) -> list[Program]:
    """What to run, in order; a block in another language than text shows nothing to compare."""
    found = [*blocks(path), ("", "")]
    return [
        Program(text, following if kind == "text" else None)
        for (language, text), (kind, following) in pairwise(found)
        if language == "python"
    ]


def printed_by(text: str, names: dict[str, Any]) -> str:
    """What a block prints. Errors name its lines as those of strategy.py."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "strategy.py", "exec"), names)
    return out.getvalue()


def test_the_readme_program_comes_first() -> None:
    assert programs(ROOT / "README.md")[0].text == (ROOT / "examples/python/readme.py").read_text()
    assert blocks(ROOT / "README.md")[0][0] == "python"


def test_the_readme_shows_what_its_programs_print(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # what they keep in files is gone afterwards
    first, *others = programs(ROOT / "README.md")
    names = runpy.run_path(str(ROOT / "examples/python/readme.py"), run_name="__main__")
    assert capsys.readouterr().out == first.shown
    for program in others:
        assert printed_by(program.text, names) == (program.shown or "")


def test_the_guide_shows_what_its_programs_print() -> None:
    names: dict[str, Any] = {"__name__": "strategy"}
    for program in programs(GUIDE):
        printed = printed_by(program.text, names)
        assert program.shown is None or printed == program.shown, f"after:\n{program.text}"


def test_the_guide_shows_results() -> None:
    assert sum(program.shown is not None for program in programs(GUIDE)) >= 8


def test_the_api_reference_is_current() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts/api_reference.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    "path",
    ["README.md", "CONTRIBUTING.md", *(f"docs/{file.name}" for file in ROOT.glob("docs/*.md"))],
)
def test_links_lead_somewhere(path: str) -> None:
    here = (ROOT / path).parent
    prose = BLOCK.sub("", (ROOT / path).read_text())
    targets = [match[1] for match in LINK.finditer(prose)]
    assert [target for target in targets if not (here / target).exists()] == []
