"""Small models of the families that DynaFlow is developed on, made offline with random weights."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from torch import Tensor, nn

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

    def make(self) -> nn.Module:
        """The model in eval mode, with the same weights every time."""
        torch.manual_seed(0)
        return self.model().eval()


DECODER: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def decoder(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    ids = torch.randint(0, 128, (batch, seq))
    positions = torch.arange(seq).expand(batch, seq).contiguous()
    mask = torch.ones_like(ids)
    return (ids,), {"attention_mask": mask, "position_ids": positions, "use_cache": False}


def llama() -> nn.Module:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))


def mixtral() -> nn.Module:
    config = transformers.MixtralConfig(**DECODER, num_local_experts=4)
    return transformers.MixtralForCausalLM(config)


def bert() -> nn.Module:
    sizes = {key: value for key, value in DECODER.items() if key != "num_key_value_heads"}
    return transformers.BertModel(transformers.BertConfig(**sizes))


def bert_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    ids = torch.randint(0, 128, (batch, seq))
    return (ids,), {
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
        "position_ids": torch.arange(seq).expand(batch, seq).contiguous(),
    }


def vit() -> nn.Module:
    sizes = {key: DECODER[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers")}
    config = transformers.ViTConfig(**sizes, num_attention_heads=4, image_size=32, patch_size=8)
    return transformers.ViTModel(config)


def image(batch: int, seq: int) -> Example:
    del seq
    torch.manual_seed(1)
    return (torch.randn(batch, 3, 32, 32),), {}


ZOO = [
    Entry("llama", llama, decoder),
    Entry("mixtral", mixtral, decoder),
    Entry("bert", bert, bert_example),
    Entry("vit", vit, image),
]
