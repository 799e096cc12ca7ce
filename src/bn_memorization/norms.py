"""The layers that stand where batch normalization does: the only thing that varies between arms."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


class ChannelAffine(nn.Module):
    """Scale and shift of each channel, with no normalization: y = gamma x + beta.

    What is left of batch normalization when its statistics go. Input [B, C] or [B, C, H, W].
    """

    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Return gamma x + beta, channel by channel."""
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return self.weight.view(shape) * x + self.bias.view(shape)


def _batch(channels: int, spatial: bool) -> nn.Module:
    return nn.BatchNorm2d(channels) if spatial else nn.BatchNorm1d(channels)


def _none(channels: int, spatial: bool) -> nn.Module:
    return nn.Identity()


def _group(channels: int, spatial: bool) -> nn.Module:
    # gcd, because LeNet's 6 channels do not divide by 4.
    return nn.GroupNorm(math.gcd(channels, 4), channels)


def _layer(channels: int, spatial: bool) -> nn.Module:
    # One group: every channel and position of one sample shares its mean and variance.
    return nn.GroupNorm(1, channels)


def _affine(channels: int, spatial: bool) -> nn.Module:
    return ChannelAffine(channels)


PLAIN = "none"
Norm = Callable[[int, bool], nn.Module]  # (channels, whether images or vectors come in)
NORMS: dict[str, Norm] = {
    "batch": _batch,
    PLAIN: _none,
    "group": _group,
    "layer": _layer,
    "affine": _affine,
}


def convolution(
    norm: Norm, channels_in: int, channels_out: int, size: int, stride: int = 1
) -> nn.Conv2d:
    """Return a convolution beside a norm layer, its weights drawn after He et al. (2015).

    It keeps the image's size at stride 1. Beside a norm layer it has no bias, since that layer
    shifts already; in the plain arm it gets its bias back, zero at first. So all arms draw the same
    random numbers, and the same seed gives them the same weights. Source: arXiv:1502.01852.
    """
    layer = nn.Conv2d(channels_in, channels_out, size, stride=stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    if norm is NORMS[PLAIN]:
        layer.bias = nn.Parameter(torch.zeros(channels_out))
    return layer
