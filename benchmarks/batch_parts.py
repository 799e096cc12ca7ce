"""Batch-mode norms of a LeNet, a few losses at a time, with each layer's gradient in two parts.

Before a BN layer the gradient of loss i is (gamma / sigma) (s - mean(s) - z mean(s z)), with s what
comes through the activation. The means couple the samples. They are two numbers a channel and
loss, so their share of a weight's gradient is these numbers times sums over the batch that are
taken once for all losses. What is left is s, which a maximum pooling leaves zero at three places
of four: the weight's gradient is a product over the others.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_input
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.gradnorm import patches

TOGETHER = 32  # losses at a time


@dataclass
class Normed:
    """What a BN layer of C channels saw: z, gamma / sigma [C], and how many values a channel."""

    z: Tensor
    factor: Tensor
    count: int


@dataclass
class Pooled:
    """A convolution, BN, ReLU and pooling on a batch: what the backward pass of any loss needs."""

    weight: Tensor  # times gamma / sigma
    normed: Normed
    places: Tensor  # [B, C, L'] of the maxima among the L outputs
    live: Tensor  # [C, 1, B, L'], 1 above zero
    seen: Tensor  # [C, B L', K + 2]: what the kernel saw at them, z and 1
    once: Tensor  # [K], what it saw summed over all places
    with_z: Tensor  # [C, K], the same times z
    padding: tuple[int, int]
    shape: torch.Size

    def squares(self, g: Tensor, onward: bool) -> tuple[Tensor, Tensor | None]:
        """Return the squared norms [I] for g[I, B, C, L'], and the gradient of the input."""
        losses, batch, channels, size = g.shape
        s = g.new_empty(channels, losses, batch, size)
        torch.mul(g.permute(2, 0, 1, 3), self.live, out=s)
        product = (s.flatten(2) @ self.seen).transpose(0, 1)  # [I, C, K + 2]
        weight, scale, shift = product[..., :-2], product[..., -2], product[..., -1]
        mean, slope = (part.contiguous() / self.normed.count for part in (shift, scale))
        weight = weight - mean[..., None] * self.once - slope[..., None] * self.with_z
        weight = weight * self.normed.factor[:, None]
        found = _squares(weight) + _squares(scale) + _squares(shift)
        if not onward:
            return found, None
        z = self.normed.z.flatten(2)
        dense = torch.addcmul(-mean[:, None, :, None], z, slope[:, None, :, None], value=-1)
        places = self.places.expand(losses, *self.places.shape)
        dense.scatter_add_(3, places, s.permute(1, 2, 0, 3))
        given = conv2d_input(
            (losses * batch, *self.shape[1:]), self.weight,
            dense.view(-1, *self.normed.z.shape[1:]), padding=self.padding,
        )  # fmt: skip
        return found, given.view(losses, batch, *self.shape[1:])


@dataclass
class Dense:
    """A linear layer, BN and ReLU on a batch."""

    weight: Tensor
    normed: Normed
    live: Tensor
    u: Tensor

    def squares(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """Return the squared norms [I] for g[I, B, out], and the gradient of the input."""
        s, z = g * self.live, self.normed.z
        scale, shift = (s * z).sum(1), s.sum(1)
        inner = s - (shift[:, None] + z * scale[:, None]) / self.normed.count
        inner = inner * self.normed.factor
        weight = (inner.transpose(1, 2).reshape(-1, len(z)) @ self.u).view(len(g), -1)
        return _squares(weight) + _squares(scale) + _squares(shift), inner @ self.weight


def in_parts(model: nn.Sequential, x: Tensor, y: Tensor, losses: int) -> np.ndarray:
    """Return the norms of the first losses, float64[losses]. The model is a LeNet with BN."""
    with torch.no_grad():
        pooled, dense, u = _forward(model, x)
        last = model[-1]
        logits = F.linear(u, last.weight, last.bias).double().requires_grad_()
        with torch.enable_grad():
            loss = F.cross_entropy(logits, y, reduction="sum")
        (g,) = torch.autograd.grad(loss, logits)  # [B, classes]: a logit has its own loss alone
        g = g.float()
        squares = [
            _chunk(pooled, dense, g, u, last.weight, rows)
            for rows in torch.arange(losses).split(TOGETHER)
        ]
    return torch.cat(squares).sqrt().numpy()


def _chunk(pooled: list, dense: list, g: Tensor, u: Tensor, weight: Tensor, rows: Tensor) -> Tensor:
    own, seen = g[rows], u[rows]
    squares = _squares(own) * (_squares(seen) + 1)
    inner = own.new_zeros(len(rows), *u.shape)
    inner[torch.arange(len(rows)), rows] = own @ weight
    for stage in reversed(dense):
        found, inner = stage.squares(inner)
        squares = squares + found
    for place in reversed(range(len(pooled))):
        stage = pooled[place]
        found, inner = stage.squares(inner.reshape(len(rows), *stage.places.shape), place > 0)
        squares = squares + found
    return squares


def _forward(model: nn.Sequential, x: Tensor) -> tuple[list[Pooled], list[Dense], Tensor]:
    """Return what both kinds of layer keep, and what the last layer sees."""
    pooled, dense, u = [], [], x
    for layer, following in itertools.pairwise(model):
        if isinstance(layer, nn.Conv2d):
            pooled.append(_pooled(layer, following, u))
            stage = pooled[-1]
            best = stage.normed.z.flatten(2).gather(2, stage.places)
            y = best * following.weight[:, None] + following.bias[:, None]
            side = [(n + 2 * p - k + 1) // 2 for n, p, k in _sides(layer, u)]
            u = y.relu().view(*y.shape[:2], *side)
        elif isinstance(layer, nn.Linear) and isinstance(following, _BatchNorm):
            u = u.flatten(1)
            normed = _normed(following, F.linear(u, layer.weight, layer.bias))
            y = normed.z * following.weight + following.bias
            dense.append(Dense(layer.weight, normed, y > 0, u))
            u = y.relu()
    return pooled, dense, u


def _sides(layer: nn.Conv2d, u: Tensor):
    return zip(u.shape[2:], layer.padding, layer.kernel_size, strict=True)


def _normed(layer: _BatchNorm, a: Tensor) -> Normed:
    places = [0, *range(2, a.ndim)]
    variance, mean = torch.var_mean(a, places, correction=0, keepdim=True)
    spread = (variance + layer.eps).sqrt()
    return Normed((a - mean) / spread, layer.weight / spread.flatten(), a.numel() // a.shape[1])


def _pooled(layer: nn.Conv2d, bn: _BatchNorm, u: Tensor) -> Pooled:
    normed = _normed(bn, F.conv2d(u, layer.weight, layer.bias, padding=layer.padding))
    y = normed.z * bn.weight[:, None, None] + bn.bias[:, None, None]
    top, places = F.max_pool2d(y.relu(), 2, return_indices=True)
    places = places.flatten(2)
    live = (top.flatten(2) > 0).to(u.dtype).transpose(0, 1)[:, None]
    seen, z = patches(layer, u), normed.z.flatten(2)  # [B, K, L], [B, C, L]
    at = places[:, :, None].expand(-1, -1, seen.shape[1], -1)
    chosen = seen[:, None].expand(-1, at.shape[1], -1, -1).gather(3, at)  # [B, C, K, L']
    best = z.gather(2, places)[:, :, None]
    chosen = torch.cat([chosen, best, torch.ones_like(best)], 2)
    return Pooled(
        layer.weight * normed.factor[:, None, None, None], normed, places, live,
        chosen.permute(1, 0, 3, 2).flatten(1, 2), seen.sum((0, 2)),
        torch.einsum("bcl,bkl->ck", z, seen), layer.padding, u.shape,
    )  # fmt: skip


def _squares(rows: Tensor) -> Tensor:
    return rows.flatten(1).double().square().sum(1)
