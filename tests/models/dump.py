"""Writes the Captures of the zoo into tests/data/captures: ``python tests/models/dump.py [name…]``.

They are test data for the parts that know no torch. Files are compact and deterministic, with
one tensor, input or call per line, so that a change of a model or of the translation is a
readable difference.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dynaflow._capture import CaptureResult, capture
from zoo import ZOO, Entry

FOLDER = Path(__file__).resolve().parents[1] / "data" / "captures"
BATCH, SEQUENCE = 5, 7


def text(document: dict[str, object]) -> str:
    """A Capture as text: top-level lists have one element per line."""
    fields = (f"{json.dumps(key)}:{_field(value)}" for key, value in document.items())
    return "{" + ",\n".join(fields) + "}\n"


def captured(entry: Entry, batch: int = BATCH, sequence: int = SEQUENCE) -> CaptureResult:
    """The Capture of one model of the zoo."""
    args, kwargs = entry.example(batch, sequence)
    with entry.context():
        return capture(entry.make(), args, kwargs, entry.batch_dims, name=entry.name)


def main(names: Sequence[str]) -> None:
    """Writes the Captures of the named models, or of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for entry in ZOO:
        if names and entry.name not in names:
            continue
        result = captured(entry)
        written = text(result.document)
        (FOLDER / f"{entry.name}.json").write_text(written)
        calls = len(result.document["calls"])
        print(f"{entry.name:24} {result.rung:10} {calls:5} calls {len(written) // 1000:4} kB")
        for reason in result.reasons:
            print(f"    not {reason}")


def _field(value: object) -> str:
    if not isinstance(value, list):
        return _compact(value)
    return "[\n" + ",\n".join(_compact(item) for item in value) + "]"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


if __name__ == "__main__":
    main(sys.argv[1:])
