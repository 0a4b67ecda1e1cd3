"""Small models of the families that DynaFlow is developed on, made offline with random weights."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import diffusers
import torch
import transformers
from torch import nn

from networks import BatchNormNet, GroupNormNet, SequenceFirst, TwoTowers

hf: Any = transformers  # neither library types its constructors
df: Any = diffusers
Model: TypeAlias = Any  # so a model is an nn.Module that mypy knows nothing of
Example = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """A model of the zoo: how to make it and what to call it with."""

    name: str
    model: Callable[[], nn.Module]
    example: Callable[[int, int], Example]
    """(batch, sequence) → (args, kwargs); models without a sequence ignore the second."""
    batch_dims: Mapping[str, int | None] = field(default_factory=dict)
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    mode: Literal["eval", "train"] = "eval"

    def make(self) -> nn.Module:
        """The model, with the same weights every time."""
        torch.manual_seed(0)
        return self.model().train(self.mode == "train")


# Language models.

ENCODER: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
DECODER = ENCODER | {"num_key_value_heads": 2}
EXPERTS: dict[str, Any] = {"moe_intermediate_size": 32, "num_experts_per_tok": 2}
CACHE_LENGTH = 16


def decoder_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    ids = torch.randint(0, 128, (batch, seq))
    positions = torch.arange(seq).expand(batch, seq).contiguous()
    mask = torch.ones_like(ids)
    return (ids,), {"attention_mask": mask, "position_ids": positions, "use_cache": False}


def llama() -> Model:
    return hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER))


def decode_step_example(batch: int, seq: int) -> Example:
    """One more token for each row, with `seq` tokens of each in a cache of fixed length."""
    torch.manual_seed(1)
    config = hf.LlamaConfig(**DECODER)
    cache = hf.StaticCache(config, max_cache_len=CACHE_LENGTH)
    cache.early_initialization(batch, 2, 16, torch.float32, torch.device("cpu"))
    for layer in cache.layers:
        layer.cumulative_length.fill_(seq)
        layer.keys[:, :, :seq].normal_()
        layer.values[:, :, :seq].normal_()
    mask = (torch.arange(CACHE_LENGTH) <= seq).expand(batch, CACHE_LENGTH).contiguous()
    return (torch.randint(0, 128, (batch, 1)),), {
        "attention_mask": mask,
        "position_ids": torch.full((batch, 1), seq),
        "past_key_values": cache,
        "use_cache": True,
    }


def qwen3() -> Model:
    return hf.Qwen3ForCausalLM(hf.Qwen3Config(**DECODER, head_dim=16))


def mixtral() -> Model:
    config = hf.MixtralConfig(**DECODER, num_local_experts=4)
    return hf.MixtralForCausalLM(config)


def qwen3_moe() -> Model:
    config = hf.Qwen3MoeConfig(**DECODER, **EXPERTS, num_experts=4, head_dim=16)
    return hf.Qwen3MoeForCausalLM(config)


def deepseek_v2() -> Model:
    latent = {"kv_lora_rank": 16, "q_lora_rank": 24, "v_head_dim": 16}
    heads = {"qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "num_key_value_heads": 4}
    routing = {"n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1}
    sizes = DECODER | EXPERTS | latent | heads | routing
    return hf.DeepseekV2ForCausalLM(hf.DeepseekV2Config(**sizes))


def batched(make: Callable[[], Model]) -> Callable[[], nn.Module]:
    """The same model with experts as one batched matrix product, which can be trained too."""

    def made() -> Model:
        model = make()
        model.set_experts_implementation("batched_mm")
        return model

    return made


def bert() -> Model:
    return hf.BertModel(hf.BertConfig(**ENCODER))


def bert_example(batch: int, seq: int) -> Example:
    args, kwargs = decoder_example(batch, seq)
    del kwargs["use_cache"]
    return args, kwargs | {"token_type_ids": torch.zeros_like(args[0])}


def autocast() -> AbstractContextManager[object]:
    return torch.autocast("cpu", dtype=torch.bfloat16)


# Vision models and networks of our own.


def vit() -> Model:
    sizes = {key: size for key, size in ENCODER.items() if key != "vocab_size"}
    return hf.ViTModel(hf.ViTConfig(**sizes, image_size=32, patch_size=8))


def image_example(batch: int, seq: int) -> Example:
    del seq
    torch.manual_seed(1)
    return (torch.randn(batch, 3, 32, 32),), {}


def sequence_first_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (torch.randn(seq, batch, 64),), {}


def two_towers_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return ({"ids": torch.randint(0, 128, (batch, seq)), "features": torch.randn(batch, 24)},), {}


# Diffusion transformers.


def dit() -> Model:
    return df.DiTTransformer2DModel(
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        num_layers=2,
        sample_size=8,
        num_embeds_ada_norm=10,
    )


def dit_example(batch: int, seq: int) -> Example:
    del seq
    torch.manual_seed(1)
    return (torch.randn(batch, 4, 8, 8),), {
        "timestep": torch.randint(0, 10, (batch,)),
        "class_labels": torch.randint(0, 10, (batch,)),
        "return_dict": False,
    }


def flux() -> Model:
    return df.FluxTransformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 6, 6),
    )


def flux_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (), {
        "hidden_states": torch.randn(batch, 16, 16),
        "encoder_hidden_states": torch.randn(batch, seq, 32),
        "pooled_projections": torch.randn(batch, 32),
        "timestep": torch.rand(batch),
        "img_ids": torch.randn(16, 3),
        "txt_ids": torch.zeros(seq, 3),
        "return_dict": False,
    }


def sd3() -> Model:
    return df.SD3Transformer2DModel(
        sample_size=8,
        in_channels=4,
        num_layers=2,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=64,
        pooled_projection_dim=32,
        out_channels=4,
        pos_embed_max_size=8,
    )


def sd3_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (), {
        "hidden_states": torch.randn(batch, 4, 8, 8),
        "encoder_hidden_states": torch.randn(batch, seq, 32),
        "pooled_projections": torch.randn(batch, 32),
        "timestep": torch.rand(batch),
        "return_dict": False,
    }


def wan() -> Model:
    return df.WanTransformer3DModel(
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        text_dim=32,
        freq_dim=32,
        ffn_dim=128,
        num_layers=2,
        rope_max_seq_len=32,
    )


def wan_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (), {
        "hidden_states": torch.randn(batch, 4, 2, 8, 8),
        "timestep": torch.randint(0, 1000, (batch,)),
        "encoder_hidden_states": torch.randn(batch, seq, 32),
        "return_dict": False,
    }


ZOO = [
    Entry("llama", llama, decoder_example),
    Entry("llama_autocast", llama, decoder_example, context=autocast),
    Entry("llama_decode", llama, decode_step_example),
    Entry("qwen3", qwen3, decoder_example),
    Entry("mixtral", mixtral, decoder_example),
    Entry("mixtral_batched", batched(mixtral), decoder_example),
    Entry("qwen3_moe", qwen3_moe, decoder_example),
    Entry("qwen3_moe_batched", batched(qwen3_moe), decoder_example),
    Entry("deepseek_v2", deepseek_v2, decoder_example),
    Entry("deepseek_v2_batched", batched(deepseek_v2), decoder_example),
    Entry("bert", bert, bert_example),
    Entry("vit", vit, image_example),
    Entry("dit", dit, dit_example),
    Entry("flux", flux, flux_example, {"img_ids": None, "txt_ids": None}),
    Entry("sd3", sd3, sd3_example),
    Entry("wan", wan, wan_example),
    Entry("cnn_groupnorm", GroupNormNet, image_example),
    Entry("cnn_batchnorm", BatchNormNet, image_example),
    Entry("cnn_batchnorm_train", BatchNormNet, image_example, mode="train"),
    Entry("sequence_first", SequenceFirst, sequence_first_example, {"tokens": 1}),
    Entry("two_towers", TwoTowers, two_towers_example),
]
