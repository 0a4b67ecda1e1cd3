"""Confirms the op table call by call, with every dimension as the batch in turn.

``python tests/models/confirm_ops.py [name…]``: each sample is a function of tensors whose
dimensions have letters. One letter after the other is the batch; what find_rows then says of the
traced calls must hold on two parts of the rows, as in confirm.py.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from confirm import Confirmation, Finding, rows_of
from dump import BATCH
from dynaflow._capture.sizes import expression
from dynaflow._capture.translate import InputName, translate
from op_samples import SAMPLES, Sample

SIZES = [4, 6, 8, 12, 16]


def tensors_of(sample: Sample, batch: str) -> list[torch.Tensor]:
    """Random tensors for a sample, the batch's letter having BATCH indices."""
    letters = sorted({letter for shape in sample.shapes for letter in shape if letter.isalpha()})
    others = iter(SIZES)
    sizes = {letter: BATCH if letter == batch else next(others) for letter in letters}
    shapes = [[sizes.get(x) or int(x) for x in shape] for shape in sample.shapes]
    return [make(shape) for make, shape in zip(sample.makers(), shapes, strict=True)]


def confirm(name: str, function: Callable[..., Any], tensors: list[torch.Tensor]) -> Finding:
    """Traces a function with symbolic sizes and confirms its rows."""

    def flat(*args: torch.Tensor) -> list[Any]:
        return tree_leaves(function(*args))

    gm = make_fx(flat, tracing_mode="symbolic")(*tensors)
    nodes = gm.graph.find_nodes(op="placeholder")
    given = [(node.meta["val"], tensor) for node, tensor in zip(nodes, tensors, strict=True)]
    symbols = {
        str(expression(size)): number
        for value, tensor in given
        for size, number in zip(value.size(), tensor.size(), strict=True)
        if isinstance(size, torch.SymInt)
    }
    batch = next(symbol for symbol, number in symbols.items() if number == BATCH)
    inputs = [InputName(node.name, "argument") for node in nodes]
    translation = translate(gm, name=name, batch=[batch], inputs=inputs)
    document = translation.document
    pairs = [entry for entry in document["inputs"] if "tensor" in entry]
    values = [*tensors, *translation.constants]
    found = {e["tensor"]: v for e, v in zip(pairs, values, strict=True)}
    return Confirmation(rows_of(document), found, symbols).confirm()


def main(names: Sequence[str]) -> int:
    """Confirms the named samples, or all; the number of samples that something is wrong with."""
    torch.manual_seed(0)
    wrong = 0
    for sample in SAMPLES:
        if names and sample.name not in names:
            continue
        said = []
        for letter in sorted({x for shape in sample.shapes for x in shape if x.isalpha()}):
            with torch.no_grad():
                finding = confirm(sample.name, sample.function, tensors_of(sample, letter))
            rest = {k: n for k, n in finding.runs.items() if k not in ("row-wise", "once")}
            said.append(f"{letter}: {rest or 'row-wise'}")
            said += finding.wrong
            wrong += bool(finding.wrong)
        print(f"{sample.name:24} {'  '.join(said)}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
