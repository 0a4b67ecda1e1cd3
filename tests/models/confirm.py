"""Confirms what find_rows says of the zoo: ``python tests/models/confirm.py [name…]``.

Every model is captured and run call by call on a whole batch. Each call that is said to be
row-wise runs again on two parts of its arguments' rows, and the parts must be parts of the whole
result; calls that share local tensors do so as a group. So if all calls pass, any split does.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dump import BATCH, SEQUENCE, captured
from interpret import Document, Symbols, find_inputs, run, size
from zoo import ZOO, Entry

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("DYNAFLOW_ROWS", ROOT / "build/dev/dynaflow-rows"))
PARTS = [(0, 2), (2, BATCH)]
TOLERANCE = {torch.bfloat16: 2e-2, torch.float16: 2e-3}
UNDEFINED = ("aten::empty", "aten::new_empty")


@dataclass
class Finding:
    """What confirming one model showed."""

    name: str
    runs: Counter[str] = field(default_factory=Counter)
    checked: int = 0
    bitwise: int = 0
    error: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ["row-wise", "once", "merged", "drawn", "unknown"]
        counts = " ".join(f"{self.runs[kind]:8}" for kind in kinds)
        return (
            f"{self.name:22}{self.runs.total():6} {counts} {self.checked:8} {self.bitwise:8} "
            f"{self.error:10.1e}  {'ok' if not self.wrong else 'WRONG'}"
        )


HEADER = (
    f"{'model':22}{'calls':>6} {'row-wise':>8} {'once':>8} {'merged':>8} {'drawn':>8} "
    f"{'unknown':>8} {'checked':>8} {'bitwise':>8} {'max error':>10}"
)


def rows_of(document: Document) -> Document:
    """What find_rows says of a Capture."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        done = subprocess.run([TOOL, file.name], capture_output=True, text=True, check=True)
    answer: Document = json.loads(done.stdout)
    return answer


def shake(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` with rows that differ, in place: equal rows would hide a mixed-up one."""
    if tensor.dim() < 2 or tensor.is_floating_point() or tensor.is_complex():
        return tensor
    low, high = int(tensor.min()), int(tensor.max())
    if high <= 1:  # a mask, which keeps its first column
        tensor[:, 1:] &= torch.randint(0, 2, tensor[:, 1:].shape).to(tensor.dtype)
        return tensor
    return tensor.copy_(torch.randint(low, high + 1, tensor.shape))


class Confirmation:
    """One model, its rows, and the values of its tensors for a whole batch."""

    def __init__(
        self, rows: Document, tensors: dict[int, torch.Tensor], symbols: dict[str, int]
    ) -> None:
        """`rows` is find_rows' answer; `tensors` and `symbols` are of its Capture's inputs."""
        self.rows = rows
        self.document: Document = rows["capture"]
        self.tensors, self.symbols = tensors, symbols
        self.batch: str = next(s["name"] for s in self.document["symbols"] if s["role"] == "batch")
        self.finding = Finding(self.document["name"])
        self.groups: dict[int, list[int]] = {}
        for number, call in enumerate(rows["calls"]):
            if "group" in call:
                self.groups.setdefault(call["group"], []).append(number)

    @classmethod
    def of(cls, entry: Entry) -> "Confirmation":
        """Of a model of the zoo, with arguments whose rows differ."""
        result = captured(entry)
        args, kwargs = entry.example(BATCH, SEQUENCE)
        inputs = find_inputs(result.document, entry.make(), args, kwargs, result.constants)
        tensors, symbols = inputs
        for given in result.document["inputs"]:
            if given["role"] == "argument":
                shake(tensors[given["tensor"]])
        return cls(rows_of(result.document), tensors, symbols)

    def confirm(self) -> Finding:
        """Runs the model once, confirming each call as it goes."""
        for number, (call, how) in enumerate(
            zip(self.document["calls"], self.rows["calls"], strict=True)
        ):
            self.finding.runs[how["runs"]] += 1
            before = {i: self.tensors[i].clone() for i in written(call)}
            self.tensors |= run(call, self.tensors, self.symbols)
            if "group" not in how and how["runs"] == "row-wise":
                self.check([number], before)
            elif "group" in how and self.groups[how["group"]][-1] == number:
                self.check(self.groups[how["group"]], before)
        return self.finding

    def check(self, numbers: Sequence[int], before: dict[int, torch.Tensor]) -> None:
        """Runs the calls on parts of their rows and compares."""
        calls = [self.document["calls"][number] for number in numbers]
        made = {output for call in calls for output in call["outputs"] if output is not None}
        given = self.tensors | before
        parts = [self.run_part(calls, made, given, part) for part in PARTS]
        self.finding.checked += len(calls)
        same = True
        for call in calls:
            if call["op"].startswith(UNDEFINED):
                continue
            for output in (output for output in call["outputs"] if output is not None):
                if self.rows["tensors"][output]["kind"] != "local":
                    same &= self.compare(call, output, [part[output] for part in parts])
        self.finding.bitwise += len(calls) if same else 0

    def run_part(
        self,
        calls: Sequence[Document],
        made: set[int],
        given: dict[int, torch.Tensor],
        part: tuple[int, int],
    ) -> dict[int, torch.Tensor]:
        """What the calls make of some rows of what they are given."""
        symbols: Symbols = {**self.symbols, self.batch: part[1] - part[0]}
        values: dict[int, torch.Tensor] = {}
        for call in calls:
            for tensor in read(call):
                if tensor not in values and tensor not in made:
                    values[tensor] = self.part_of(tensor, given[tensor], part)
            values |= run(call, values, symbols)
        return values

    def part_of(self, tensor: int, value: torch.Tensor, part: tuple[int, int]) -> torch.Tensor:
        """The rows of a split tensor; others are the same for all."""
        carry = self.rows["tensors"][tensor]
        if carry["kind"] != "split":
            assert carry["kind"] in ("whole", "partial"), carry
            return value
        dim, outer = carry["dim"], self.outer(carry)
        shape = value.shape
        inner = shape[dim] // (outer * BATCH)
        apart = value.reshape(*shape[:dim], outer, BATCH, inner, *shape[dim + 1 :])
        rows = apart.narrow(dim + 1, part[0], part[1] - part[0])
        return rows.reshape(*shape[:dim], -1, *shape[dim + 1 :]).clone()

    def outer(self, carry: Document) -> int:
        """How often a tensor holds the batch."""
        terms = carry["outer"].split("+")
        return sum(size(["mul", *factors(term)], self.symbols) for term in terms)

    def compare(self, call: Document, output: int, parts: list[torch.Tensor]) -> bool:
        """Whether the parts are the whole's, bit for bit; what is worse than rounding is wrong."""
        whole = self.tensors[output]
        if self.rows["tensors"][output]["kind"] == "partial":
            pairs = [(whole, sum(parts[1:], parts[0]))]
        else:
            expected = [self.part_of(output, whole, part) for part in PARTS]
            pairs = list(zip(expected, parts, strict=True))
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
            self.finding.wrong.append(f"{call['op']} {whole.shape}: parts have other shapes")
            return False
        error = max(relative_error(a, b) for a, b in pairs)
        self.finding.error = max(self.finding.error, error)
        if error > TOLERANCE.get(whole.dtype, 1e-5):
            name = self.document["tensors"][output]["name"]
            self.finding.wrong.append(f"{name} = {call['op']}: parts differ by {error:.1e}")
        return all(torch.equal(a, b) for a, b in pairs)


def relative_error(a: torch.Tensor, b: torch.Tensor) -> float:
    """max|a−b| / max|a|; infinities and NaNs must be the same."""
    if a.numel() == 0 or torch.equal(a, b):
        return 0.0
    wide = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    finite = a.isfinite() & b.isfinite()
    rest_a, rest_b = a[~finite], b[~finite]
    if not torch.allclose(rest_a, rest_b, equal_nan=True):
        return float("inf")
    largest = float(a[finite].abs().max()) if finite.any() else 1.0
    return float((a - b)[finite].abs().max()) / (largest or 1.0) if finite.any() else 0.0


def factors(term: str) -> list[Any]:
    """The factors of a printed product."""
    return [int(factor) if factor.isdigit() else factor for factor in term.split("*")]


def read(call: Document) -> Iterator[int]:
    """The tensors among a call's arguments."""

    def walk(value: object) -> Iterator[int]:
        if isinstance(value, dict) and "t" in value:
            yield value["t"]
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)

    return walk(call["arguments"])


def written(call: Document) -> list[int]:
    """The tensors that a call writes to."""
    return list(read({"arguments": [call["arguments"][index] for index in call["writes"]]}))


def main(names: Sequence[str]) -> int:
    """Confirms the named models, or all; the number of models that something is wrong with."""
    torch.manual_seed(0)
    print(HEADER, flush=True)
    wrong = 0
    for entry in ZOO:
        if names and entry.name not in names:
            continue
        with torch.no_grad():
            finding = Confirmation.of(entry).confirm()
        print(finding, flush=True)
        for complaint in finding.wrong:
            print(f"    {complaint}")
        wrong += bool(finding.wrong)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
