"""One table over the zoo: every model under every strategy, split and cut, against the unsplit one.

>>> python tests/models/table.py            # all of it, minutes
>>> python tests/models/table.py llama dit  # these models

`make models` runs it and its neighbours with the package on the path.

Each row is a model over batches 1, 2, 3, 7, 8, 16 (each with another sequence length), 1–4
micro-batches even and uneven, under Sequential, Leapfrog, Branches and a Python strategy of two
lanes with merges, cut by default and at attention and MLP. `error` is the largest max|a−b| / max|b|
over outputs, caches, buffers and what routers decided (experts chosen: equal or inf), `copied` the
most bytes that one run copied to split or merge.
"""

import math
import sys
import time

import torch

from decode import decode
from sweep import BF16, FP32, Outcome, sweep
from zoo import ZOO, Entry

COLUMNS = ("calls", "ops", "bodies", "split", "once", "merged", "unknown")
NOT_OUTERMOST = ("sequence_first",)
HEADER = ["model", *COLUMNS, "runs", "graphs", "copied", "error", "allowed", "seconds", ""]


def tolerance(entry: Entry) -> float:
    """Of the model's largest error; see BF16."""
    return BF16 if entry.name.endswith("_autocast") else FP32


def faults(entry: Entry, found: Outcome) -> list[str]:
    """What is wrong with a row; nothing, it is hoped."""
    wrong = []
    if not found.error <= tolerance(entry) or math.isnan(found.error):
        wrong.append("error")
    if found.copied and entry.name not in NOT_OUTERMOST:
        wrong.append("copies")
    if found.captures != 1:
        wrong.append("captured again")
    if found.counts.get("unknown", 0) or found.warnings:
        wrong.append("; ".join(["unknown calls or rules", *found.warnings]))
    return wrong


def row(entry: Entry) -> tuple[list[str], bool]:
    """The model's line, and whether all is well."""
    began = time.monotonic()
    found = sweep(entry)
    wrong = faults(entry, found)
    return [
        entry.name,
        *(str(found.counts.get(column, "")) for column in COLUMNS),
        str(found.runs),
        str(found.captures),
        str(found.copied),
        f"{found.error:.1e}",
        f"{tolerance(entry):.0e}",
        f"{time.monotonic() - began:.0f}",
        ", ".join(wrong) or "ok",
    ], not wrong


def decode_row() -> tuple[list[str], bool]:
    """Eight steps of decoding with a StaticCache."""
    began = time.monotonic()
    found = decode()
    well = found.error <= FP32 and not found.copied and found.captures == 1 and found.undone > 0
    cells = ["llama, 8 tokens", *([""] * len(COLUMNS)), str(found.runs), str(found.captures)]
    cells += [str(found.copied), f"{found.error:.1e}", f"{FP32:.0e}"]
    return [*cells, f"{time.monotonic() - began:.0f}", "ok" if well else "wrong"], well


def show(cells: list[str]) -> None:
    widths = [19, *([8] * len(COLUMNS)), 5, 7, 7, 8, 8, 8, 0]
    print(
        " ".join(
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ),
        flush=True,
    )


def main(names: list[str]) -> int:
    """Prints the table; 1 where a row is wrong."""
    show(HEADER)
    bad = 0
    for entry in ZOO:
        if names and entry.name not in names:
            continue
        try:
            cells, well = row(entry)
        except Exception as error:  # the other models are of interest too
            cells, well = [entry.name, *([""] * (len(HEADER) - 2)), repr(error)[:300]], False
        show(cells)
        bad += not well
        torch._dynamo.reset()
    if not names:
        cells, well = decode_row()
        show(cells)
        bad += not well
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
