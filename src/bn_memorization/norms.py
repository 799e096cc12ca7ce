"""The layers that stand where batch normalization does: the only thing that varies between arms."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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


class _Cut:
    """Batch normalization whose batch statistics are constants: no gradient flows through them.

    Forward, running statistics and eval mode are those of batch normalization.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return gamma z + beta, with z by the batch's statistics in training mode."""
        if not self.training:
            return super().forward(x)
        self._check_input_dim(x)
        with torch.no_grad():
            variance, mean = torch.var_mean(x, [0, *range(2, x.ndim)], unbiased=False)
            count = x.numel() / x.shape[1]
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1), self.momentum)
            self.num_batches_tracked += 1
        return F.batch_norm(x, mean, variance, self.weight, self.bias, eps=self.eps)


class CutBatchNorm1d(_Cut, nn.BatchNorm1d):
    """Batch normalization of vectors [B, C] whose statistics pass no gradient."""


class CutBatchNorm2d(_Cut, nn.BatchNorm2d):
    """Batch normalization of images [B, C, H, W] whose statistics pass no gradient."""


def _batch(channels: int, spatial: bool) -> nn.Module:
    return nn.BatchNorm2d(channels) if spatial else nn.BatchNorm1d(channels)


def _batch_cut(channels: int, spatial: bool) -> nn.Module:
    return CutBatchNorm2d(channels) if spatial else CutBatchNorm1d(channels)


def _batch_fixed_gamma(channels: int, spatial: bool) -> nn.Module:
    layer = _batch(channels, spatial)
    layer.weight.requires_grad_(False)  # it stays the 1 that it starts with
    return layer


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
    "batch_fixed_gamma": _batch_fixed_gamma,
    "batch_cut": _batch_cut,
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
