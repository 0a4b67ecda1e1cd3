#!/usr/bin/env python3
"""The main job: a Llama on two ranks, one transfer after the other and under CommOverlap.

Two ranks of one core each, joined by a link of known speed. Prints the plan, both timelines and
what is gained beside what could be; leaves a trace for Perfetto and a page to open in a browser.
"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, distributed, nn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from support.bound import bound  # noqa: E402
from support.network import become_ranks, is_rank  # noqa: E402

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


class Run(NamedTuple):
    """Of one arm; times in seconds."""

    wall: float
    cpu: float
    timeline: dynaflow.Timeline


def trace_of(rank: int) -> Path:
    return RESULTS / ("trace.json" if rank == 0 else f"trace-rank{rank}.json")


def traced(arm: dynaflow.CompiledModule, ids: Tensor) -> Run:
    distributed.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    timeline = arm.timeline(ids)
    return Run(time.perf_counter() - wall, time.process_time() - cpu, timeline)


def middle(runs: list[Run]) -> Run:
    """The same one on all ranks: rank 0's median."""
    order = sorted(range(len(runs)), key=lambda i: runs[i].wall)
    chosen = [order[len(order) // 2]]
    distributed.broadcast_object_list(chosen, src=0)
    return runs[chosen[0]]


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
        taken: dict[str, list[Run]] = {name: [] for name in arms}
        for _ in range(ROUNDS):
            for name, arm in arms.items():
                taken[name].append(traced(arm, ids))
    assert max(errors.values()) <= 1e-5, errors
    runs = {name: middle(each) for name, each in taken.items()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    runs["CommOverlap"].timeline.save(trace_of(distributed.get_rank()))
    distributed.barrier()
    if distributed.get_rank() == 0:
        report(arms["CommOverlap"].plan(), errors, runs)
    distributed.barrier()
    distributed.destroy_process_group()


def report(plan: str, errors: dict[str, float], runs: dict[str, Run]) -> None:
    lines = [plan]
    for name, run in runs.items():
        lines.append(f"{name}: {1e3 * run.wall:.0f} ms, differs by {errors[name]:.0e} from eager")
        lines.append(str(run.timeline))
    lines.append(gain(runs["Sequential"], runs["CommOverlap"]))
    lines.append(str(runs["CommOverlap"].timeline.explain()))
    ranks = range(distributed.get_world_size())
    seen = {f"rank {rank}": dynaflow.Timeline.load(trace_of(rank)) for rank in ranks}
    lines.append(str(dynaflow.explain_ranks(seen)))
    dynaflow.save_html(PAGE, {name: run.timeline for name, run in runs.items()})
    REPORT.write_text("\n".join(lines))


def gain(sequential: Run, overlapped: Run) -> str:
    """Beside what it could be, by what compute and network take by turns."""
    spans = sequential.timeline.spans
    network = [end - begin for label, _, begin, end in spans if "all_" in label]
    on_wire = sum(network) / 1e9
    compute = sequential.timeline.total_ns / 1e9 - on_wire
    host = max(0.0, sequential.cpu - compute)
    at_best = bound(compute, on_wire, host, chunks=len(network) * PARTS)
    return (
        f"speed-up {sequential.wall / overlapped.wall:.2f}x, "
        f"{sequential.wall / at_best:.2f}x at best: by turns, compute takes "
        f"{1e3 * compute:.0f} ms and the network {1e3 * on_wire:.0f} ms, "
        f"{1e3 * host:.0f} ms of it on the core\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabits", type=float, default=0.5, help="of the link, each way")
    options = parser.parse_args()
    if is_rank():
        run_rank()
        return
    print(f"two ranks of one core each, {options.gigabits:g} Gb/s between them", flush=True)
    become_ranks(timeout=300, gigabits=options.gigabits)
    print(REPORT.read_text())
    print(f"wrote {trace_of(0)} for Perfetto, {trace_of(1)} of the other rank, and {PAGE} to open")


if __name__ == "__main__":
    main()
