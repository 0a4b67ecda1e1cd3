"""Tensor-parallel models of others, unchanged, under every split, against the unsplit ranks."""

import sys
import tempfile
from collections.abc import Callable

import torch
from diffusers import DiTTransformer2DModel
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

import dynaflow
from ranks.as_told import AsTold
from ranks.megatron import VOCABULARY, Megatron

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 128,
    "max_position_embeddings": 64,
}


def transformers_model(model: PreTrainedModel) -> PreTrainedModel:
    """The same weights, shared out to the ranks by the model's own plan."""
    folder = [tempfile.mkdtemp()]
    distributed.broadcast_object_list(folder, src=0)
    if distributed.get_rank() == 0:
        model.save_pretrained(folder[0])
    distributed.barrier()
    shared: PreTrainedModel = type(model).from_pretrained(folder[0], tp_plan="auto")
    return shared.eval()


class Logits(nn.Module):
    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(ids, use_cache=False).logits
        return logits


def llama() -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    model = Logits(transformers_model(LlamaForCausalLM(LlamaConfig(**SIZES))))
    return model, lambda rows: (torch.randint(0, 128, (rows, 6)),)


def qwen3_moe() -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    config = Qwen3MoeConfig(
        **SIZES, moe_intermediate_size=32, head_dim=16, num_experts=4, num_experts_per_tok=2
    )
    model = Logits(transformers_model(Qwen3MoeForCausalLM(config)))
    return model, lambda rows: (torch.randint(0, 128, (rows, 6)),)


def dit() -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    model = DiTTransformer2DModel(
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        num_layers=2,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=10,
    ).eval()
    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    for block in model.transformer_blocks:
        parallelize_module(
            block.ff, mesh, {"net.0.proj": ColwiseParallel(), "net.2": RowwiseParallel()}
        )

    class Denoised(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(
            self, x: torch.Tensor, timestep: torch.Tensor, labels: torch.Tensor
        ) -> torch.Tensor:
            sample: torch.Tensor = self.model(
                x, timestep=timestep, class_labels=labels, return_dict=False
            )[0]
            return sample

    def batch(rows: int) -> tuple[torch.Tensor, ...]:
        return (
            torch.randn(rows, 4, 8, 8),
            torch.randint(0, 1000, (rows,)),
            torch.randint(0, 10, (rows,)),
        )

    return Denoised(), batch


def megatron() -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    torch.manual_seed(distributed.get_rank())
    model = Megatron(layers=2).eval()
    return model, lambda rows: (torch.randint(0, VOCABULARY, (rows, 6)),)


MODELS = {"llama": llama, "qwen3_moe": qwen3_moe, "dit": dit, "megatron": megatron}


def check(name: str) -> None:
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    compiled = dynaflow.compile(model, AsTold())
    worst, steps = 0.0, 0
    for parts, rows in [(2, 4), (1, 2), (2, 5), (3, 7), (4, 7), (4, 3), (4, 8)]:
        torch.manual_seed(rows)
        arguments = batch(rows)
        expected = model(*arguments)
        with dynaflow.batch(parts=parts):
            error = (compiled(*arguments) - expected).abs().max() / expected.abs().max()
        worst, steps = max(worst, float(error)), int(compiled.stats["steps"])
        assert error <= 1e-5, f"{name}, {rows} rows in {parts} parts: {error}"
        assert f"all_reduce.{min(parts, rows) - 1}" in compiled.plan(), compiled.explain()
    if distributed.get_rank() == 0:
        print(f"{name}: largest error {worst:.1e}, {steps} steps in 4 parts")


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    with torch.no_grad():
        check(sys.argv[1])
    distributed.destroy_process_group()
