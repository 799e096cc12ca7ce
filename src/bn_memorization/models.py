"""The networks by name, with the normalization layer as the only thing that varies.

The two arms of every comparison are the same network with another `norm`. No norm layer draws
random numbers when it is built, and a bias that only one arm has starts at zero, so the same seed
gives every arm the same initial weights.
"""

from collections.abc import Callable

import torch
from torch import nn

from bn_memorization.densenet import densenet22, densenet40
from bn_memorization.errors import check_choice
from bn_memorization.lenet import lenet
from bn_memorization.norms import NORMS, PLAIN, ChannelAffine
from bn_memorization.resnet import resnet8, resnet18

__all__ = ["ARCHITECTURES", "NORMS", "PLAIN", "ChannelAffine", "build"]

ARCHITECTURES: dict[str, Callable[..., nn.Module]] = {
    "lenet": lenet,
    "resnet8": resnet8,
    "resnet18": resnet18,
    "densenet22": densenet22,
    "densenet40": densenet40,
}


def build(
    arch: str, norm: str, *, in_channels: int, image_size: int, classes: int, seed: int
) -> nn.Module:
    """Build a network whose initial weights depend on `seed` and on nothing else.

    The global random state is left as it was. Raises BadInput for an unknown `arch` or `norm`, and
    for images of a size that the network does not take.
    """
    check_choice("architecture", arch, ARCHITECTURES)
    check_choice("norm", norm, NORMS)
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed the accelerators, whose state is not forked.
        torch.default_generator.manual_seed(seed)
        return ARCHITECTURES[arch](
            NORMS[norm], in_channels=in_channels, image_size=image_size, classes=classes
        )
