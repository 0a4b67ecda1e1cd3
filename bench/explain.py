"""Whether explain finds what a network costs: what it calls lost, beside the run without one.

The decoder of bench/overlap.py over two ranks of one core each, with so few tokens that hundreds of
runs pass in a minute: a core's speed varies by more than the network costs, so only means of many
pairs tell.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from statistics import mean

import torch
import torch.distributed as dist
from support.explained import Explained, explain_pair
from support.network import Link, RanksFailed, run_ranks, set_own_rate
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


def run_rank(options: argparse.Namespace) -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    x = Decoder.example(BATCH)
    run, identity = (
        dynaflow.compile(model.eval(), dynaflow.CommOverlap(PARTS))
        for model in (Decoder(dist.get_rank()), Decoder(dist.get_rank(), alone()))
    )
    pairs: dict[float, list[Explained]] = {rate: [] for rate in LINKS}
    with torch.inference_mode():
        explain_pair(run, identity, x)  # compiles
        for rate, taken in pairs.items():
            set_own_rate(rate)
            end = time.monotonic() + options.seconds
            while agree(len(taken) < BLOCKS or time.monotonic() < end):
                taken.append(explain_pair(run, identity, x))
    if dist.get_rank() == 0:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(list(pairs.items())))
    dist.barrier()
    dist.destroy_process_group()


def found(pairs: Sequence[Explained]) -> float:
    """Of what the network costs, the share that explain finds.

    By means, since the parts of a run's time add up.
    """
    cost = mean(pair.total - pair.identity for pair in pairs)
    return mean(pair.lost + pair.interrupts for pair in pairs) / cost


def report_link(report: Report, rate: float, pairs: Sequence[Explained]) -> None:
    blocks = spread_of([found(pairs[block::BLOCKS]) for block in range(BLOCKS)])
    value = Spread(blocks.low, found(pairs), blocks.high)
    budget = Budget("0.9 to 1.1", 0.9 <= value.median <= 1.1)
    name = f"{rate:g} Gb/s: lost by explain, with interrupts, over T - T(identity)"
    report.add(Row(name, value, "x", budget=budget))
    total, lost, interrupts, identity = (mean(values) for values in zip(*pairs, strict=True))
    report.note(
        f"{rate:g} Gb/s: {len(pairs)} pairs; T {total:.1f} ms, without a network {identity:.1f}; "
        f"explain finds {lost:.1f} ms lost, interrupts took {interrupts:.1f}"
    )


def print_report() -> None:
    report = Report(
        "explain", f"batch {BATCH} in {PARTS} parts; quartiles of {BLOCKS} parts of all pairs"
    )
    for rate, pairs in json.loads(RESULTS.read_text()):
        report_link(report, rate, [Explained(*pair) for pair in pairs])
    report.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each link")
    options = parser.parse_args()
    if "RANK" in os.environ:
        run_rank(options)
        return
    with Link(gigabits=1) as link:
        try:
            run_ranks([sys.executable, *sys.argv], link, timeout=TIMEOUT)
        except RanksFailed as failure:
            sys.exit(f"explain: {failure}")
    print_report()


if __name__ == "__main__":
    main()
