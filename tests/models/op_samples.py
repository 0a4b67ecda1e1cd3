"""One small function per operator of the table, over tensors whose dimensions have letters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

Maker = Callable[[Sequence[int]], torch.Tensor]


@dataclass(frozen=True)
class Sample:
    """`function` of tensors with `shapes`: a letter is any size, a digit that size."""

    name: str
    shapes: list[str]
    function: Callable[..., Any]
    kinds: str = ""
    """Per tensor: f numbers (also when missing), i indices below 4, b truth values."""

    def makers(self) -> list[Maker]:
        """What makes each tensor of a shape."""
        return [MAKERS[kind] for kind in self.kinds.ljust(len(self.shapes), "f")]


MAKERS: dict[str, Maker] = {
    "f": torch.randn,
    "i": lambda shape: torch.randint(0, 4, tuple(shape)),
    "b": lambda shape: torch.randint(0, 2, tuple(shape)).bool(),
}

aten = torch.ops.aten


def moe(x: torch.Tensor, choice: torch.Tensor) -> torch.Tensor:
    order = choice.sort()[1]
    inverse = torch.empty_like(order)
    inverse = inverse.index_put([order], torch.arange(order.shape[0]))
    return (x[order] * 2)[inverse]


SAMPLES = [
    # views
    Sample("transpose", ["abc"], lambda x: x.transpose(0, 2)),
    Sample("permute", ["abc"], lambda x: x.permute(2, 0, 1)),
    Sample("flatten_first", ["abc"], lambda x: x.reshape(x.shape[0] * x.shape[1], x.shape[2])),
    Sample("flatten_last", ["abc"], lambda x: x.reshape(x.shape[0], x.shape[1] * x.shape[2])),
    Sample("flatten_all", ["abc"], lambda x: x.reshape(-1)),
    Sample("flatten_and_back", ["abc"], lambda x: (x.flatten(0, 1) + 1).unflatten(0, x.shape[:2])),
    Sample("flatten_swapped", ["abc"], lambda x: x.transpose(0, 1).reshape(-1, x.shape[2]) + 1),
    Sample("wrong_view", ["ab"], lambda x: x.t().reshape(x.shape) + 1),
    Sample("unsqueeze", ["ab"], lambda x: x.unsqueeze(1).squeeze(1)),
    Sample("expand", ["a1c"], lambda x: x.expand(x.shape[0], 7, x.shape[2])),
    Sample("repeat", ["abc"], lambda x: x.repeat(2, 3, 1)),
    Sample("repeat_new", ["ab"], lambda x: x.repeat(2, 1, 3)),
    Sample("repeat_interleave", ["ab"], lambda x: x.repeat_interleave(2, 0)),
    Sample("tile_twice", ["ab"], lambda x: x.repeat(2, 1).view(2, *x.shape).sum(0)),
    Sample("cat_self", ["abc"], lambda x: torch.cat([x, x + 1], 0)),
    Sample("cat_chunk", ["abc"], lambda x: torch.cat([x, x + 1], 0).chunk(2, 0)[1] * 2),
    Sample("stack", ["abc"], lambda x: torch.stack([x, x], 1)),
    Sample("slice", ["abc"], lambda x: x[:, 1:3]),
    Sample("select", ["abc"], lambda x: x[:, 1]),
    Sample("unbind", ["a3c"], lambda x: x.unbind(1)[1]),
    Sample("split", ["a6c"], lambda x: x.split(2, 1)[1]),
    Sample("pad", ["abc"], lambda x: functional.pad(x, (1, 2, 0, 1))),
    Sample("flip", ["abc"], lambda x: x.flip(1)),
    Sample("roll", ["abc"], lambda x: x.roll(1, 1)),
    Sample("roll_flat", ["ab"], lambda x: x.roll(1)),
    Sample("tril", ["abc"], lambda x: x.tril()),
    Sample("view_as_complex", ["ab2"], lambda x: torch.view_as_real(torch.view_as_complex(x) * 2)),
    # pointwise
    Sample("broadcast", ["abc", "1bc", "c"], lambda x, y, z: x * y + z),
    Sample("outer_difference", ["a", "a"], lambda x, y: x[:, None] - y[None]),
    Sample("where", ["abc", "abc", "c"], torch.where, "bff"),
    Sample("masked_fill", ["abc", "ab1"], lambda x, m: x.masked_fill(m, 0.5), "fb"),
    Sample("times_size", ["ab"], lambda x: x * x.shape[0]),
    Sample("polar", ["ab", "ab"], lambda x, y: torch.polar(x.abs(), y)),
    # reductions
    Sample("sum", ["abc"], lambda x: x.sum(1)),
    Sample("sum_all", ["ab"], lambda x: x.sum()),
    Sample("mean", ["abc"], lambda x: x.mean((0, -1), keepdim=True)),
    Sample("var", ["abc"], lambda x: x.var(1, keepdim=True)),
    Sample("var_mean", ["abc"], lambda x: torch.var_mean(x, 1)),
    Sample("std", ["abc"], lambda x: x.std(0)),
    Sample("amax", ["abc"], lambda x: x.amax(1, keepdim=True)),
    Sample("max_dim", ["abc"], lambda x: x.max(1)),
    Sample("argmax", ["abc"], lambda x: x.argmax(1)),
    Sample("argmax_all", ["ab"], lambda x: x.argmax()),
    Sample("any", ["abc"], lambda x: x.any(1), "b"),
    Sample("all", ["abc"], lambda x: x.all(), "b"),
    Sample("prod", ["abc"], lambda x: x.prod(1)),
    Sample("logsumexp", ["abc"], lambda x: x.logsumexp((0, 1))),
    Sample("norm", ["abc"], lambda x: torch.linalg.vector_norm(x, dim=1, keepdim=True)),
    Sample("median", ["abc"], lambda x: x.median(1)),
    Sample("centre", ["ab"], lambda x: x - x.mean(0, keepdim=True)),
    # along a dimension
    Sample("softmax", ["abc"], lambda x: x.softmax(1)),
    Sample("log_softmax", ["abc"], lambda x: x.log_softmax(-1)),
    Sample("cumsum", ["abc"], lambda x: x.cumsum(1)),
    Sample("cumprod", ["abc"], lambda x: x.cumprod(1)),
    Sample("cummax", ["abc"], lambda x: x.cummax(1)),
    Sample("logcumsumexp", ["abc"], lambda x: x.logcumsumexp(1)),
    Sample("topk", ["abc"], lambda x: x.topk(2, 1)),
    Sample("sort", ["abc"], lambda x: x.sort(1, descending=True)),
    Sample("sort_stable", ["abc"], lambda x: x.sort(dim=1, stable=True)),
    Sample("glu", ["abc"], lambda x: functional.glu(torch.cat([x, x], 1), 1)),
    Sample("fft", ["ab8"], lambda x: torch.fft.rfft(x)),
    Sample("fft2", ["a68"], lambda x: torch.fft.fftn(x, dim=(1, 2))),
    # norms
    Sample("layer_norm", ["abc", "c"], lambda x, w: functional.layer_norm(x, w.shape, w)),
    Sample("rms_norm", ["abc", "c"], lambda x, w: functional.rms_norm(x, w.shape, w)),
    Sample("group_norm", ["a4cd"], lambda x: functional.group_norm(x, 2)),
    Sample("instance_norm", ["a4cd"], functional.instance_norm),
    Sample(
        "batch_norm", ["a4c", "4", "4"], lambda x, m, v: functional.batch_norm(x, m, v.abs() + 1)
    ),
    Sample(
        "batch_norm_train", ["a4c"], lambda x: functional.batch_norm(x, None, None, training=True)
    ),
    # products
    Sample("mm", ["ab", "bc"], torch.mm),
    Sample("bmm", ["abc", "acd"], torch.bmm),
    Sample("addmm", ["c", "ab", "bc"], torch.addmm),
    Sample("addmm_full", ["ac", "ab", "bc"], torch.addmm),
    Sample("baddbmm", ["abd", "abc", "acd"], torch.baddbmm),
    Sample("mv", ["ab", "b"], torch.mv),
    Sample("dot", ["a", "a"], torch.dot),
    Sample("outer", ["a", "b"], torch.outer),
    Sample("matmul", ["abcd", "de"], torch.matmul),
    Sample("linear", ["abc", "dc", "d"], functional.linear),
    Sample("einsum", ["abcd", "aecd"], lambda x, y: torch.einsum("abcd,aecd->abce", x, y)),
    Sample("conv1d", ["a4c", "643"], functional.conv1d),
    Sample("conv2d", ["a4cd", "6433"], functional.conv2d),
    Sample("conv_transpose", ["a4cd", "4633"], functional.conv_transpose2d),
    # images
    Sample("max_pool", ["a488"], lambda x: functional.max_pool2d(x, 2)),
    Sample("avg_pool", ["ab88"], lambda x: functional.avg_pool2d(x, 2)),
    Sample("adaptive_pool", ["ab88"], lambda x: functional.adaptive_avg_pool2d(x, 2)),
    Sample("pixel_shuffle", ["a488"], lambda x: functional.pixel_shuffle(x, 2)),
    Sample("unfold", ["ab88"], lambda x: functional.unfold(x, 2)),
    Sample("reflect", ["ab88"], lambda x: functional.pad(x, (1, 1, 1, 1), mode="reflect")),
    Sample("grid_sample", ["a488", "a662"], functional.grid_sample),
    # attention
    Sample("attention", ["abcd", "abed", "abed"], functional.scaled_dot_product_attention),
    Sample(
        "attention_mask",
        ["abcd", "abed", "abed", "a1ce"],
        lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, attn_mask=m),
    ),
    # looking up and writing
    Sample("embedding", ["4d", "ab"], lambda w, i: functional.embedding(i, w), "fi"),
    Sample("index", ["4bc", "de"], lambda x, i: x[i], "fi"),
    Sample("index_second", ["a4c", "de"], lambda x, i: x[:, i], "fi"),
    Sample("index_apart", ["4b4", "d"], lambda x, i: x[i, :, i], "fi"),
    Sample("index_both", ["44c", "a", "a"], lambda x, i, j: x[i, j], "fii"),
    Sample("index_rows", ["ab"], lambda x: x[torch.arange(x.shape[0])]),
    Sample("index_pairs", ["a4c", "a"], lambda x, i: x[torch.arange(x.shape[0]), i] + 1, "fi"),
    Sample("index_shifted", ["ab"], lambda x: x[(torch.arange(x.shape[0]) + 1) % x.shape[0]]),
    Sample("numbers", ["ab"], lambda x: x + torch.arange(x.shape[0])[:, None]),
    Sample("index_select", ["a4c", "d"], lambda x, i: x.index_select(1, i), "fi"),
    Sample("gather", ["a4c", "adc"], lambda x, i: x.gather(1, i), "fi"),
    Sample("scatter", ["a4c", "a2c"], lambda x, i: x.scatter(1, i, 0.5), "fi"),
    Sample("scatter_add", ["a4c", "a2c", "a2c"], lambda x, i, y: x.scatter_add(1, i, y), "fif"),
    Sample("index_add", ["a4c", "d", "adc"], lambda x, i, y: x.index_add(1, i, y), "fif"),
    Sample("index_copy", ["a4c", "1", "a1c"], lambda x, i, y: x.index_copy(1, i, y), "fif"),
    Sample("index_put", ["a4c", "d", "c"], lambda x, i, y: aten.index_put(x, [None, i], y), "fif"),
    Sample(
        "index_put_pairs",
        ["a4c", "a", "ac"],
        lambda x, i, y: x.index_put([torch.arange(x.shape[0]), i], y),
        "fif",
    ),
    Sample("slice_scatter", ["a8c", "a4c"], lambda x, y: x.slice_scatter(y, 1, 0, 4)),
    Sample("select_scatter", ["a8c", "ac"], lambda x, y: x.select_scatter(y, 1, 3)),
    Sample("one_hot", ["ab"], lambda i: torch.zeros(*i.shape, 4).scatter(2, i[..., None], 1), "i"),
    Sample("moe", ["ab", "a"], moe, "fi"),
    # constants
    Sample("new_zeros", ["ab"], lambda x: x.new_zeros(x.shape) + x),
    Sample("full_like", ["ab"], lambda x: torch.full_like(x, 2) * x),
    Sample("count", ["ab"], lambda x: x / x.new_full((1,), x.shape[0])),
]
