"""Whether explain finds what a network costs: what it calls lost, beside the run without one.

The decoder of bench/overlap.py over two ranks of one core each, with so few tokens that hundreds of
runs pass in a minute: a core's speed varies by more than the network costs, so only means of many
pairs tell. A run whose collectives do nothing hands over between its lanes all the same; what
explain finds lost in it is no cost of the network.
"""

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import NamedTuple

import torch
import torch.distributed as dist
from support.awake import AwakeCore
from support.explained import Explained, explain_run
from support.network import become_ranks, is_rank, set_own_rate
from support.ranks import agree
from support.report import FOLDER, Budget, Report, Row
from support.rounds import Spread, spread_of
from support.tensor_parallel import Decoder, Shape, alone

import dynaflow

LINKS = (4.0, 2.0, 1.0, 0.5, 0.25)  # Gb/s each way
BATCH, PARTS = Shape(64, 1), 2
BLOCKS = 10
TIMEOUT = 3600.0
RESULTS = FOLDER / "explain-pairs.json"


class Pair(NamedTuple):
    """A run over a network, and right after it the same with collectives that do nothing."""

    run: Explained
    identity: Explained

    @property
    def cost(self) -> float:
        """Of the network, by the clock."""
        return self.run.total - self.identity.total

    @property
    def found(self) -> float:
        """Of the network, by explain and the kernel's count of what interrupts took of steps."""
        return self.run.lost - self.identity.lost + self.run.interrupts - self.identity.interrupts


def run_rank(options: argparse.Namespace) -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    x = Decoder.example(BATCH)
    run, identity = (
        dynaflow.compile(model.eval(), dynaflow.CommOverlap(PARTS))
        for model in (Decoder(dist.get_rank()), Decoder(dist.get_rank(), alone()))
    )
    pairs: dict[float, list[Pair]] = {rate: [] for rate in LINKS}
    with torch.inference_mode(), AwakeCore():
        Pair(explain_run(run, x), explain_run(identity, x))  # compiles
        for rate, taken in pairs.items():
            set_own_rate(rate)
            end = time.monotonic() + options.seconds
            while agree(len(taken) < BLOCKS or time.monotonic() < end):
                taken.append(Pair(explain_run(run, x), explain_run(identity, x)))
    if dist.get_rank() == 0:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(list(pairs.items())))
    dist.barrier()
    dist.destroy_process_group()


def found(pairs: Sequence[Pair]) -> float:
    """Of what the network costs, the share that explain finds.

    By means, since the parts of a run's time add up.
    """
    return mean(pair.found for pair in pairs) / mean(pair.cost for pair in pairs)


def report_link(report: Report, rate: float, pairs: Sequence[Pair]) -> None:
    blocks = spread_of([found(pairs[block::BLOCKS]) for block in range(BLOCKS)])
    value = Spread(blocks.low, found(pairs), blocks.high)
    budget = Budget("0.9 to 1.1", 0.9 <= value.median <= 1.1)
    name = f"{rate:g} Gb/s: lost by explain, with interrupts, over T - T(identity)"
    report.add(Row(name, value, "x", budget=budget))
    report.note(
        f"{rate:g} Gb/s: {len(pairs)} pairs; T {told(pair.run for pair in pairs)}; "
        f"without a network {told(pair.identity for pair in pairs)}"
    )


def told(runs: Iterable[Explained]) -> str:
    total, lost, interrupts = (mean(values) for values in zip(*runs, strict=True))
    return f"{total:.1f} ms, {lost:.1f} lost by explain, {interrupts:.1f} by interrupts"


def print_report() -> None:
    report = Report(
        "explain", f"batch {BATCH} in {PARTS} parts; quartiles of {BLOCKS} parts of all pairs"
    )
    for rate, pairs in json.loads(RESULTS.read_text()):
        report_link(report, rate, [Pair(Explained(*a), Explained(*b)) for a, b in pairs])
    report.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each link")
    options = parser.parse_args()
    if is_rank():
        run_rank(options)
        return
    become_ranks(timeout=TIMEOUT)
    print_report()


if __name__ == "__main__":
    main()
