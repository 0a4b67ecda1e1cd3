#!/usr/bin/env python3
"""The main job: a Llama on two ranks, one transfer after the other and under CommOverlap.

Two ranks of one core each, joined by a link of known speed. Prints the plan, both timelines and
what is gained beside what could be; leaves a trace for Perfetto and a page to open in a browser.
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, distributed, nn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from support.bound import bound  # noqa: E402
from support.network import Link, RanksFailed, run_ranks  # noqa: E402

import dynaflow  # noqa: E402

ROWS, LENGTH, VOCABULARY, LAYERS, PARTS = 8, 32, 512, 4, 2
ROUNDS = 7
RESULTS = ROOT / "build/run"
REPORT = RESULTS / "report.txt"
PAGE = RESULTS / "timeline.html"


class Hidden(nn.Module):
    """What the layers make of token ids."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        """Without a cache: all tokens at once."""
        hidden: Tensor = self.model(ids, use_cache=False).last_hidden_state
        return hidden


def shared_llama() -> nn.Module:
    """Random weights, the same for all ranks, divided by transformers' own plan."""
    from transformers import LlamaConfig, LlamaModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    warnings.simplefilter("ignore", FutureWarning)  # tp_plan moves into a config in a later version
    folder = [tempfile.mkdtemp() if distributed.get_rank() == 0 else ""]
    distributed.broadcast_object_list(folder, src=0)
    if distributed.get_rank() == 0:
        torch.manual_seed(0)
        config = LlamaConfig(
            hidden_size=1024,
            intermediate_size=2816,
            num_hidden_layers=LAYERS,
            num_attention_heads=16,
            num_key_value_heads=16,
            vocab_size=VOCABULARY,
        )
        LlamaModel(config).save_pretrained(folder[0])
    distributed.barrier()
    return Hidden(LlamaModel.from_pretrained(folder[0], tp_plan="auto").eval())


class Time(NamedTuple):
    """Of a run, in seconds."""

    wall: float
    cpu: float


def trace_of(rank: int) -> Path:
    return RESULTS / ("trace.json" if rank == 0 else f"trace-rank{rank}.json")


def timed(call: Callable[[], Tensor]) -> Time:
    distributed.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Time(time.perf_counter() - wall, time.process_time() - cpu)


def run_rank() -> None:
    distributed.init_process_group("gloo")
    torch.set_num_threads(1)
    model = shared_llama()
    ids = torch.randint(0, VOCABULARY, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    arms = {
        "Sequential": dynaflow.compile(model, dynaflow.Sequential(), engine="aten"),
        "CommOverlap": dynaflow.compile(model, dynaflow.CommOverlap(PARTS), engine="aten"),
    }
    with torch.no_grad():
        expected = model(ids)
        errors = {
            name: float((arm(ids) - expected).abs().max() / expected.abs().max())
            for name, arm in arms.items()
        }
        times: dict[str, list[Time]] = {name: [] for name in arms}
        for _ in range(ROUNDS):
            for name, arm in arms.items():
                times[name].append(timed(lambda arm=arm: arm(ids)))  # type: ignore[misc]
        timelines = {name: arm.timeline(ids) for name, arm in arms.items()}
    assert max(errors.values()) <= 1e-5, errors
    RESULTS.mkdir(parents=True, exist_ok=True)
    timelines["CommOverlap"].save(trace_of(distributed.get_rank()))
    distributed.barrier()
    if distributed.get_rank() == 0:
        report(arms["CommOverlap"].plan(), errors, times, timelines)
    distributed.barrier()
    distributed.destroy_process_group()


def report(
    plan: str,
    errors: dict[str, float],
    times: dict[str, list[Time]],
    timelines: dict[str, dynaflow.Timeline],
) -> None:
    lines = [plan]
    took = {name: Time(*map(median, zip(*taken, strict=True))) for name, taken in times.items()}
    for name, timeline in timelines.items():
        wall = f"{1e3 * took[name].wall:.0f} ms"
        lines += [f"{name}: {wall}, differs by {errors[name]:.0e} from eager", str(timeline)]
    sequential, overlapped = took["Sequential"], took["CommOverlap"]
    network = [
        end - begin for label, _, begin, end in timelines["Sequential"].spans if "all_" in label
    ]
    on_wire = sum(network) / 1e9
    compute = timelines["Sequential"].total_ns / 1e9 - on_wire
    host = max(0.0, sequential.cpu - compute)
    at_best = bound(compute, on_wire, host, chunks=len(network) * PARTS)
    lines.append(
        f"speed-up {sequential.wall / overlapped.wall:.2f}x, "
        f"{sequential.wall / at_best:.2f}x at best: by turns, compute takes "
        f"{1e3 * compute:.0f} ms and the network {1e3 * on_wire:.0f} ms, "
        f"{1e3 * host:.0f} ms of it on the core\n"
    )
    lines.append(str(timelines["CommOverlap"].explain()))
    ranks = range(distributed.get_world_size())
    seen = {f"rank {rank}": dynaflow.Timeline.load(trace_of(rank)) for rank in ranks}
    lines.append(str(dynaflow.explain_ranks(seen)))
    dynaflow.save_html(PAGE, timelines)
    REPORT.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabits", type=float, default=0.5, help="of the link, each way")
    options = parser.parse_args()
    if "RANK" in os.environ:
        run_rank()
        return
    print(f"two ranks of one core each, {options.gigabits:g} Gb/s between them", flush=True)
    with Link(gigabits=options.gigabits) as link:
        try:
            run_ranks([sys.executable, *sys.argv], link, timeout=300)
        except RanksFailed as failure:
            sys.exit(f"run: {failure}")
    print(REPORT.read_text())
    print(f"wrote {trace_of(0)} for Perfetto, {trace_of(1)} of the other rank, and {PAGE} to open")


if __name__ == "__main__":
    main()
