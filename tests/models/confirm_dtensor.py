"""Holds find_rows against torch.distributed.tensor.

>>> python tests/models/confirm_dtensor.py        # four models
>>> python tests/models/confirm_dtensor.py all    # the whole zoo

`make models` runs it and its neighbours with the package on the path.

An independent check of the op table: a batch that is split is a tensor sharded over two ranks. Each
call of a model gets its inputs placed as find_rows says (Shard(dim) for split, Replicate for whole,
Partial for sums), and the placement that torch's own sharding propagation gives its outputs must be
the one that find_rows says. No data moves and there is one process: the mesh is fake.

`agreed` counts calls of the same placement; `excepted` those in EXCEPTIONS, each reviewed;
`unsupported` those that DTensor has no rule or no words for. The rest are wrong. The
second count of `agreed` is of calls with rows, where there was something to disagree about.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._op_schema import OpSchema
from torch.distributed.tensor.placement_types import Placement
from torch.testing._internal.distributed.fake_pg import FakeStore

from confirm import factors, read, rows_of
from dump import captured
from interpret import _DTYPES, Document, _argument, find_inputs, size
from zoo import ZOO, Entry

aten = torch.ops.aten
RANKS = 2
BATCH, SEQUENCE = 6, 7
MODELS = ("llama", "vit", "cnn_groupnorm", "bert")

MOVES = "would move data"
KEEPS_WHOLE = "is whole"
EXCEPTIONS = {
    ("aten::expand", KEEPS_WHOLE): "one row repeated: each micro-batch repeats it for its own rows",
    (
        "aten::new_empty",
        KEEPS_WHOLE,
    ): "nothing in it yet: each micro-batch makes its own rows of it",
    ("aten::sort", MOVES): "each micro-batch sorts its own tokens, and puts them back in its group",
    ("aten::_native_batch_norm_legit_no_training", MOVES): (
        "with running statistics rows do not meet; DTensor has one rule for training as well"
    ),
}
"""What DTensor says of an operator's output or inputs instead: why ours is right too."""


@dataclass
class Finding:
    """What the check of one model showed."""

    name: str
    calls: int = 0
    agreed: int = 0
    with_rows: int = 0
    excepted: Counter[tuple[str, str]] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.name:20}{self.calls:6}{self.agreed:8}{self.with_rows:6}{self.excepted.total():10}"
            f"{self.unsupported.total():13}{len(self.wrong):7}"
        )


HEADER = (
    f"{'model':20}{'calls':>6}{'agreed':>8}{'rows':>6}"
    f"{'excepted':>10}{'unsupported':>13}{'wrong':>7}"
)


class UnsaidError(Exception):
    """DTensor has no word for this, or no rule."""


def as_on_a_gpu(values: list[Any]) -> tuple[Any, list[Any]]:
    """The CPU's attention as the GPU's that takes a mask: DTensor has a rule for that one."""
    query, key, value, dropout, causal, mask, scale = values
    op = aten._scaled_dot_product_efficient_attention.default
    return op, [query, key, value, mask, True, dropout, causal, scale]


def fake_mesh() -> DeviceMesh:
    """Two ranks that are not there."""
    dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    return init_device_mesh("cpu", (RANKS,))


class Check:
    """One model's calls."""

    def __init__(self, entry: Entry, mesh: DeviceMesh) -> None:
        """Captures the model and asks find_rows."""
        self.mesh = mesh
        result = captured(entry)
        self.rows = rows_of(result.document)
        self.document: Document = self.rows["capture"]
        given = entry.example(BATCH, SEQUENCE)
        _, self.symbols = find_inputs(result.document, entry.make(), *given, result.constants)
        self.finding = Finding(entry.name)

    def run(self) -> Finding:
        """Every call by itself."""
        for call, how in zip(self.document["calls"], self.rows["calls"], strict=True):
            self.finding.calls += 1
            try:
                complaint = self.compare(call, how["runs"])
            except UnsaidError as why:
                self.finding.unsupported[f"{call['op']}: {why}"] += 1
                continue
            exception = (call["op"], complaint or "")
            if complaint is None:
                self.finding.agreed += 1
                self.finding.with_rows += self.has_rows(call)
            elif exception in EXCEPTIONS:
                self.finding.excepted[exception] += 1
            else:
                self.finding.wrong.append(f"{call['op']}.{call['overload']} ({how}) {complaint}")
        return self.finding

    def has_rows(self, call: Document) -> bool:
        """Whether any input or output is split or a partial sum."""
        tensors = [*read(call), *(output for output in call["outputs"] if output is not None)]
        return any(self.rows["tensors"][tensor]["kind"] != "whole" for tensor in tensors)

    def compare(self, call: Document, runs: str) -> str | None:
        """Where the two differ; None where they agree."""
        placements = self.propagate(call)
        if placements is None:
            return None if runs in ("merged", "unknown") else MOVES
        for output, theirs in zip(call["outputs"], placements, strict=False):
            if output is None or theirs is None:
                continue
            ours = self.placement(output)
            if theirs == ours:
                continue
            rows = isinstance(ours, Shard) and isinstance(theirs, Replicate)
            return KEEPS_WHOLE if rows else f"{ours}, but {theirs}"
        return None

    def propagate(self, call: Document) -> list[Placement | None] | None:
        """DTensor's placement of each output; None where it would have to move data first."""
        namespace, name = call["op"].split("::")
        op = getattr(getattr(getattr(torch.ops, namespace), name), call["overload"] or "default")
        specs: Any = {tensor: self.spec(tensor) for tensor in read(call)}
        values = [_argument(written, specs, self.symbols) for written in call["arguments"]]
        if op is aten._scaled_dot_product_flash_attention_for_cpu.default:
            op, values = as_on_a_gpu(values)
        if not specs:
            raise UnsaidError("no tensor to place")
        arguments = op._schema.arguments
        args = tuple(v for v, a in zip(values, arguments, strict=True) if not a.kwarg_only)
        kwargs = {
            a.name: v
            for v, a in zip(values, arguments, strict=True)
            if a.kwarg_only and v is not None and v != a.default_value
        }
        schema = OpSchema(op, args, kwargs)
        try:
            found = DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding_non_cached(
                schema
            )
        except NotImplementedError as error:
            raise UnsaidError("no rule") from error
        except AssertionError as error:  # index with a list that begins with None
            raise UnsaidError("no rule for this form") from error
        if found.redistribute_schema is not None and moved(schema, found.redistribute_schema):
            return None
        spec: Any = found.output_spec
        outputs = list(spec) if isinstance(spec, list | tuple) else [spec]
        return [None if output is None else output.placements[0] for output in outputs]

    def spec(self, tensor: int) -> DTensorSpec:
        """A tensor as DTensor sees it: of the whole batch, placed as find_rows says."""
        said = self.document["tensors"][tensor]
        shape = torch.Size([size(s, self.symbols) for s in said["sizes"]])
        strides = tuple(size(s, self.symbols) for s in said["strides"])
        meta = TensorMeta(shape, strides, _DTYPES[said["dtype"]])
        return DTensorSpec(self.mesh, (self.placement(tensor),), meta)

    def placement(self, tensor: int) -> Placement:
        """Where find_rows says the batch is."""
        carry = self.rows["tensors"][tensor]
        if carry["kind"] == "split":
            if factors(carry["outer"]) != [1]:
                raise UnsaidError("the batch is inside another dimension")
            return Shard(carry["dim"])
        if carry["kind"] == "partial":
            return Partial()
        if carry["kind"] == "whole":
            return Replicate()
        raise UnsaidError(f"a {carry['kind']} tensor")


def moved(given: OpSchema, wanted: OpSchema) -> bool:
    """Whether an input is wanted in another placement."""
    pairs = zip(given.args_spec, wanted.args_spec, strict=True)
    return any(a.placements != b.placements for a, b in pairs)


def main(names: Sequence[str]) -> int:
    """Checks the named models, or MODELS; the number of calls that are wrong."""
    chosen = [entry.name for entry in ZOO] if "all" in names else names or MODELS
    mesh = fake_mesh()
    print(HEADER, flush=True)
    findings = []
    for entry in ZOO:
        if entry.name in chosen:
            findings.append(Check(entry, mesh).run())
            print(findings[-1], flush=True)
    for finding in findings:
        for line in sorted(set(finding.wrong)):
            print(f"  WRONG {finding.name}: {line}")
    excepted = sum((finding.excepted for finding in findings), Counter[tuple[str, str]]())
    for what, count in sorted(excepted.items()):
        print(f"  excepted {count} × {what[0]} {what[1]}: {EXCEPTIONS[what]}")
    unsupported = sum((finding.unsupported for finding in findings), Counter[str]())
    for why, count in sorted(unsupported.items()):
        print(f"  unsupported {count} × {why}")
    return sum(len(finding.wrong) for finding in findings)


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(min(main(sys.argv[1:]), 1))
