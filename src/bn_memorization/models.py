"""The networks: one architecture each, with the normalization layer as the only thing that varies.

The two arms of every comparison are the same network with another `norm`. Convolutions and linear
layers keep their biases in both, and no norm layer draws random numbers when it is built, so the
same seed gives every arm the same initial weights.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from bn_memorization.errors import BadInput, check_choice


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
Norm = Callable[[int, bool], nn.Module]
NORMS: dict[str, Norm] = {
    "batch": _batch,
    PLAIN: _none,
    "group": _group,
    "layer": _layer,
    "affine": _affine,
}


def lenet(norm: Norm, *, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build LeNet-5 with ReLU and max pooling, `norm` before each of the four activations.

    Images are padded to 32 pixels, as in LeCun et al. (1998), so that 28 and 32 pixel images meet
    the same network: [B, C, S, S] in, logits [B, classes] out. The paper does not say which
    activation and pooling it used; these are today's usual ones.
    """
    if not 12 <= image_size <= 32:
        raise BadInput(f"LeNet takes images of 12 to 32 pixels, not {image_size}.")
    padding = (32 - image_size + 1) // 2
    side = ((image_size + 2 * padding - 4) // 2 - 4) // 2
    return nn.Sequential(
        nn.Conv2d(in_channels, 6, 5, padding=padding),
        norm(6, True),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        norm(16, True),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * side * side, 120),
        norm(120, False),
        nn.ReLU(),
        nn.Linear(120, 84),
        norm(84, False),
        nn.ReLU(),
        nn.Linear(84, classes),
    )


ARCHITECTURES: dict[str, Callable[..., nn.Module]] = {"lenet": lenet}


def build(
    arch: str, norm: str, *, in_channels: int, image_size: int, classes: int, seed: int
) -> nn.Module:
    """Build a network whose initial weights depend on `seed` and on nothing else.

    The global random state is left as it was. Raises BadInput for an unknown `arch` or `norm`.
    """
    check_choice("architecture", arch, ARCHITECTURES)
    check_choice("norm", norm, NORMS)
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed the accelerators, whose state is not forked.
        torch.default_generator.manual_seed(seed)
        return ARCHITECTURES[arch](
            NORMS[norm], in_channels=in_channels, image_size=image_size, classes=classes
        )
