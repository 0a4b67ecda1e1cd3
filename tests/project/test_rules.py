"""Every rule has a section in docs/rules.md and a test that names it, and none is invented."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULE = re.compile(r'inline constexpr Rule (k\w+)\{\s*"([A-Z]\d+)",\s*"([a-z-]+)"\s*\};')
LETTER = re.compile(r"^\| ([A-Z]) \|", re.MULTILINE)
HEADING = re.compile(r"^### ([A-Z]\d+) ([a-z-]+)$", re.MULTILINE)


def rules() -> dict[str, tuple[str, str]]:
    """Constant name → (id, name) of every rule."""
    declared = RULE.findall((ROOT / "src/dynaflow/base/rule.h").read_text())
    return {constant: (rule_id, name) for constant, rule_id, name in declared}


def documented() -> list[tuple[str, str]]:
    return [
        (match[1], match[2]) for match in HEADING.finditer((ROOT / "docs/rules.md").read_text())
    ]


def test_there_are_rules() -> None:
    assert rules(), "no line of src/dynaflow/base/rule.h looks like a rule"


def test_rule_ids_are_unique() -> None:
    ids = [rule_id for rule_id, _ in rules().values()]
    assert len(ids) == len(set(ids))


def test_every_rule_has_exactly_one_section() -> None:
    assert sorted(documented()) == sorted(rules().values())


def test_every_letter_is_in_the_table_of_letters() -> None:
    table = LETTER.findall((ROOT / "docs/rules.md").read_text())
    assert sorted(table) == sorted({rule_id[0] for rule_id, _ in rules().values()})
    assert "C" in table


def test_every_rule_is_named_by_a_test_or_an_example() -> None:
    files = [*(ROOT / "tests").rglob("*"), *(ROOT / "examples").rglob("*")]
    texts = "\n".join(file.read_text() for file in files if file.suffix in {".h", ".cpp"})
    untested = [
        f"{rule_id} {name}"
        for constant, (rule_id, name) in rules().items()
        if not re.search(rf'\b{constant}\b|"{rule_id}"', texts)
    ]
    assert untested == []
