"""Models of other families, held back from the development of the op table.

Only that they capture is checked during development: what their graphs hold must stay unseen,
or they no longer tell how the table fares on a model that nobody has looked at.
``python tests/models/held_back.py [name…]`` says whether each captures.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch

from dump import captured
from zoo import (
    DECODER,
    ENCODER,
    Entry,
    Example,
    Model,
    bert_example,
    decoder_example,
    df,
    hf,
    image_example,
)

VISION: dict[str, Any] = {"image_size": 32, "patch_size": 8}
LAYERS: dict[str, Any] = {key: size for key, size in ENCODER.items() if key != "vocab_size"}


def gpt2() -> Model:
    return hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=128, n_embd=64, n_layer=2, n_head=4))


def opt() -> Model:
    sizes = {"vocab_size": 128, "hidden_size": 64, "ffn_dim": 128, "word_embed_proj_dim": 64}
    return hf.OPTForCausalLM(
        hf.OPTConfig(**sizes, num_hidden_layers=2, num_attention_heads=4, dropout=0.0)
    )


def gemma() -> Model:
    return hf.GemmaForCausalLM(hf.GemmaConfig(**DECODER, head_dim=16))


def gemma2() -> Model:
    return hf.Gemma2ForCausalLM(hf.Gemma2Config(**DECODER, head_dim=16, sliding_window=4))


def phi() -> Model:
    return hf.PhiForCausalLM(hf.PhiConfig(**DECODER | {"num_key_value_heads": 4}))


def falcon() -> Model:
    return hf.FalconForCausalLM(
        hf.FalconConfig(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
    )


def gpt_neox() -> Model:
    return hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**ENCODER))


def roberta() -> Model:
    return hf.RobertaModel(hf.RobertaConfig(**ENCODER))


def distilbert() -> Model:
    return hf.DistilBertModel(
        hf.DistilBertConfig(vocab_size=128, dim=64, hidden_dim=128, n_layers=2, n_heads=4)
    )


def t5_encoder() -> Model:
    return hf.T5EncoderModel(
        hf.T5Config(vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
    )


def clip_vision() -> Model:
    return hf.CLIPVisionModel(hf.CLIPVisionConfig(**LAYERS, **VISION))


def clip_text() -> Model:
    return hf.CLIPTextModel(hf.CLIPTextConfig(**ENCODER, eos_token_id=127))


def siglip_vision() -> Model:
    return hf.SiglipVisionModel(hf.SiglipVisionConfig(**LAYERS, **VISION))


def whisper_encoder() -> Model:
    config = hf.WhisperConfig(
        vocab_size=128,
        d_model=64,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_layers=1,
        decoder_attention_heads=4,
        decoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=32,
        pad_token_id=0,
    )
    return hf.WhisperModel(config).encoder


def convnext() -> Model:
    return hf.ConvNextModel(hf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2))


def resnet() -> Model:
    return hf.ResNetModel(
        hf.ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic")
    )


def swin() -> Model:
    sizes = {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}
    return hf.SwinModel(hf.SwinConfig(**sizes, image_size=32, patch_size=2))


def dinov2() -> Model:
    return hf.Dinov2Model(
        hf.Dinov2Config(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, **VISION)
    )


def pixart() -> Model:
    return df.PixArtTransformer2DModel(
        num_attention_heads=4,
        attention_head_dim=16,
        num_layers=2,
        cross_attention_dim=64,
        caption_channels=32,
        sample_size=8,
        use_additional_conditions=False,
    )


def hunyuan_video() -> Model:
    return df.HunyuanVideoTransformer3DModel(
        in_channels=4,
        out_channels=4,
        num_attention_heads=4,
        attention_head_dim=16,
        num_layers=1,
        num_single_layers=1,
        num_refiner_layers=1,
        text_embed_dim=32,
        pooled_projection_dim=32,
        guidance_embeds=False,
        rope_axes_dim=(4, 6, 6),
    )


def unet() -> Model:
    return df.UNet2DConditionModel(
        sample_size=8,
        in_channels=4,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        cross_attention_dim=32,
        attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )


def text_example(batch: int, seq: int) -> Example:
    args, kwargs = decoder_example(batch, seq)
    return args, {"attention_mask": kwargs["attention_mask"]}


def text_with_positions(batch: int, seq: int) -> Example:
    args, kwargs = bert_example(batch, seq)
    return args, {key: kwargs[key] for key in ("attention_mask", "position_ids")}


def speech_example(batch: int, seq: int) -> Example:
    del seq
    torch.manual_seed(1)
    return (torch.randn(batch, 16, 64),), {}


def large_image_example(batch: int, seq: int) -> Example:
    del seq
    torch.manual_seed(1)
    return (torch.randn(batch, 3, 64, 64),), {}


def pixart_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (torch.randn(batch, 4, 8, 8),), {
        "encoder_hidden_states": torch.randn(batch, seq, 32),
        "timestep": torch.randint(0, 1000, (batch,)),
        "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
        "encoder_attention_mask": torch.ones(batch, seq),
        "return_dict": False,
    }


def hunyuan_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (), {
        "hidden_states": torch.randn(batch, 4, 2, 8, 8),
        "timestep": torch.randint(0, 1000, (batch,)),
        "encoder_hidden_states": torch.randn(batch, seq, 32),
        "encoder_attention_mask": torch.ones(batch, seq, dtype=torch.int64),
        "pooled_projections": torch.randn(batch, 32),
        "return_dict": False,
    }


def unet_example(batch: int, seq: int) -> Example:
    torch.manual_seed(1)
    return (torch.randn(batch, 4, 8, 8),), {
        "timestep": torch.randint(0, 1000, (batch,)),
        "encoder_hidden_states": torch.randn(batch, seq, 32),
        "return_dict": False,
    }


def _entry(make: Callable[[], Model], example: Callable[[int, int], Example]) -> Entry:
    return Entry(make.__name__, make, example)


HELD_BACK = [
    *(_entry(make, decoder_example) for make in (gpt2, opt, gemma, gemma2, phi, falcon, gpt_neox)),
    *(_entry(make, text_with_positions) for make in (roberta, clip_text)),
    *(_entry(make, text_example) for make in (distilbert, t5_encoder)),
    *(_entry(make, image_example) for make in (clip_vision, siglip_vision, swin, dinov2)),
    *(_entry(make, large_image_example) for make in (convnext, resnet)),
    _entry(whisper_encoder, speech_example),
    _entry(pixart, pixart_example),
    _entry(hunyuan_video, hunyuan_example),
    _entry(unet, unet_example),
]


def main(names: list[str]) -> None:
    """Says of each named model, or of all, whether and how it captures; nothing of its graph."""
    for entry in HELD_BACK:
        if names and entry.name not in names:
            continue
        try:
            print(f"{entry.name:20} {captured(entry).rung}")
        except Exception as error:
            print(f"{entry.name:20} {type(error).__name__}: {str(error)[:200]}")


if __name__ == "__main__":
    main(sys.argv[1:])
