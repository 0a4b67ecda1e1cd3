"""Every lesson in examples/python runs; the lessons themselves check what they say."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "examples/python").glob("lesson_*.py"))
MOST_LINES = 80


def test_lessons_are_numbered_without_gaps() -> None:
    numbers = [int(lesson.name.split("_")[1]) for lesson in LESSONS]
    assert numbers == list(range(1, len(LESSONS) + 1))
    assert len(LESSONS) >= 8


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_what_a_lesson_says_is_true(lesson: Path) -> None:
    runpy.run_path(str(lesson), run_name="__main__")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_is_short_and_checks_itself(lesson: Path) -> None:
    lines = lesson.read_text().splitlines()
    assert len(lines) < MOST_LINES
    assert any(re.match(r"\s*assert ", line) for line in lines)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_needs_no_compiler(lesson: Path) -> None:
    text = lesson.read_text()
    compiled = re.findall(r"dynaflow\.compile\(.*?\)\n", text, re.DOTALL)
    assert compiled
    assert all('engine="aten"' in call for call in compiled)


def test_the_readme_lists_every_lesson() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [
        lesson.name for lesson in LESSONS if f"examples/python/{lesson.name}" not in readme
    ] == []
