"""Small networks with BN, as they are after some use, and images for them."""

import torch
from torch import Tensor, nn

from bn_memorization import models, ratios


def build(arch: str = "lenet", norm: str = "batch") -> nn.Module:
    return models.build(arch, norm, in_channels=1, image_size=12, classes=3, seed=0)


def lived_in(arch: str = "lenet", dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return a network whose gammas differ and whose running statistics are of real batches."""
    net = build(arch).to(dtype)
    with torch.no_grad():
        for layer in ratios.bn_layers(net).values():
            layer.weight.copy_(torch.randn(layer.num_features))
            layer.bias.copy_(torch.randn(layer.num_features))
        for _ in range(3):
            net.train()(images(dtype=dtype))
    return net.eval()


def images(n: int = 16, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(n, 1, 12, 12, dtype=dtype)
