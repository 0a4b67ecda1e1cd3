"""Small networks that are in no library: convolutions, sequence-first attention, two towers."""

import torch
from torch import Tensor, nn


class GroupNormNet(nn.Module):
    """A small residual CNN whose rows are independent."""

    def __init__(self) -> None:
        """Two residual blocks of 16 channels."""
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = nn.ModuleList(_Residual(nn.GroupNorm(4, 16)) for _ in range(2))
        self.head = nn.Linear(16, 10)

    def forward(self, pixels: Tensor) -> Tensor:
        """Class scores of images."""
        x = self.stem(pixels)
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.head(x.mean(dim=(2, 3)))
        return scores


class BatchNormNet(nn.Module):
    """A small strided CNN; in train mode its normalisation couples the rows."""

    def __init__(self) -> None:
        """Two strided convolutions and a pooled head."""
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
            *(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

    def forward(self, pixels: Tensor) -> Tensor:
        """Class scores of images."""
        scores: Tensor = self.head(self.features(pixels))
        return scores


class SequenceFirst(nn.Module):
    """An encoder whose batch is dimension 1, as nn.Transformer's is by default."""

    def __init__(self) -> None:
        """Two layers of width 64."""
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, dim_feedforward=128, batch_first=False)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Encoded tokens, [sequence, batch, width] as they came."""
        encoded: Tensor = self.encoder(tokens)
        return encoded


class TwoTowers(nn.Module):
    """Two independent branches over two inputs that meet in one score per row."""

    def __init__(self) -> None:
        """A tower for token ids and one for dense features."""
        super().__init__()
        self.embedding = nn.Embedding(128, 32)
        self.left = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 16))
        self.right = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """One score for each pair of rows of the inputs "ids" and "features"."""
        left = self.left(self.embedding(batch["ids"]).mean(dim=1))
        right = self.right(batch["features"])
        return torch.nn.functional.cosine_similarity(left, right)


class _Residual(nn.Module):
    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.convolution = nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.convolution(nn.functional.silu(self.norm(x)))
        return out
