"""What a benchmark found: printed as a table and written to build/bench/<name>.json."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.rounds import Rounds, Spread, exactly

FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench"


@dataclass(frozen=True)
class Budget:
    """What must hold of a row, in words, and whether it does."""

    text: str
    holds: bool


def at_most(value: Spread, limit: float, unit: str) -> Budget:
    """The median is no larger than `limit`."""
    return Budget(f"<= {limit:g} {unit}", value.median <= limit)


@dataclass(frozen=True)
class Row:
    """One line; a row without a budget only informs."""

    name: str
    value: Spread
    unit: str = "µs"
    cpu: Spread | None = None
    ratio: Spread | None = None
    budget: Budget | None = None


class Report:
    """Rows and notes, in the order they were added."""

    def __init__(self, name: str, title: str) -> None:
        """`name` is the file's, `title` says what is measured."""
        self._name = name
        self._title = title
        self._rows: list[Row] = []
        self._notes: list[str] = []

    def add(self, row: Row) -> None:
        """One more line."""
        self._rows.append(row)

    def add_exact(self, name: str, value: float, unit: str) -> None:
        """A line for a value that does not vary."""
        self.add(Row(name, exactly(value), unit))

    def note(self, text: str) -> None:
        """A line below the table."""
        self._notes.append(text)

    def add_rounds(self, of: str, rounds: Rounds) -> None:
        """Says below the table how these rounds went."""
        self.note(f"{of}: {rounds}")

    def finish(self) -> None:
        """Prints and writes."""
        print(f"{self._name}: {self._title}")
        head = ["what", "median", "unit", "quartiles", "CPU µs", "ratio", "quartiles", "budget", ""]
        _print_table(head, [_cells(row) for row in self._rows])
        for note in self._notes:
            print(f"  {note}")
        print(flush=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        text = json.dumps([_entry(row) for row in self._rows], indent=2, ensure_ascii=False)
        (FOLDER / f"{self._name}.json").write_text(text + "\n")


def _digits(value: float) -> str:
    """Four digits, never an exponent."""
    decimals = 4
    limit = 1.0
    while decimals > 0 and abs(value) >= limit:
        decimals, limit = decimals - 1, limit * 10
    return f"{value:.{decimals}f}"


def _quartiles(value: Spread | None) -> str:
    if value is None or value.low == value.high:
        return ""
    return f"{_digits(value.low)} to {_digits(value.high)}"


def _cells(row: Row) -> list[str]:
    verdict = "" if row.budget is None else "holds" if row.budget.holds else "DOES NOT HOLD"
    return [
        *(row.name, _digits(row.value.median), row.unit, _quartiles(row.value)),
        "" if row.cpu is None else _digits(row.cpu.median),
        "" if row.ratio is None else f"{row.ratio.median:.2f}x",
        _quartiles(row.ratio),
        *("" if row.budget is None else row.budget.text, verdict),
    ]


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns with nothing in them are left out."""
    used = [i for i in range(len(head)) if any(row[i] for row in rows)]
    widths = {i: max(len(line[i]) for line in [head, *rows]) for i in used}
    for line in [head, *rows]:
        print(("  " + "  ".join(line[i].ljust(widths[i]) for i in used)).rstrip())


def _entry(row: Row) -> dict[str, object]:
    return {
        "name": row.name,
        "value": row.value.median,
        "quartiles": [row.value.low, row.value.high],
        "unit": row.unit,
        "cpu": None if row.cpu is None else row.cpu.median,
        "ratio": None if row.ratio is None else row.ratio.median,
        "budget": None if row.budget is None else row.budget.text,
        "holds": None if row.budget is None else row.budget.holds,
    }
