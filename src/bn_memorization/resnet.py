"""ResNets for small images: the CIFAR form of ResNet-18, and one of 8 layers for CPUs.

Source: He et al. (2016), arXiv:1512.03385.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bn_memorization.errors import BadInput
from bn_memorization.norms import Norm, convolution


class Block(nn.Module):
    """A basic block: relu(shortcut(x) + branch(x)), two 3 x 3 convolutions in the branch.

    [B, C, S, S] in, [B, width, S / stride, S / stride] out. The shortcut is the identity, or a
    1 x 1 convolution with its norm where the shape changes.
    """

    def __init__(self, norm: Norm, channels: int, width: int, stride: int):
        super().__init__()
        self.branch = nn.Sequential(
            convolution(norm, channels, width, 3, stride),
            norm(width, True),
            nn.ReLU(),
            convolution(norm, width, width, 3),
            norm(width, True),
        )
        self.shortcut = nn.Sequential()
        if stride > 1 or channels != width:
            self.shortcut = nn.Sequential(
                convolution(norm, channels, width, 1, stride), norm(width, True)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(shortcut(x) + branch(x))."""
        return F.relu(self.shortcut(x) + self.branch(x))

    def shrink_branch(self, factor: float) -> None:
        """Multiply the weights of the branch's last convolution."""
        with torch.no_grad():
            self.branch[3].weight.mul_(factor)


def _resnet(
    norm: Norm, widths: tuple[int, ...], blocks: int, in_channels: int, classes: int
) -> nn.Module:
    """Build a ResNet with a stage for each width and `blocks` blocks in each.

    Each branch's last convolution starts at 1 / sqrt(number of blocks) of He's scale, in all arms.
    Without it the variance of a plain network doubles with every block and training diverges; with
    it, it grows by a factor of e at most over the whole network. It changes no output of a network
    with BN, and lowers the sigma behind these convolutions by the same factor. Scaled branches are
    from Zhang et al. (2019), Fixup initialization, arXiv:1901.09321; its other parts are not used.
    """
    channels = widths[0]
    stages = []
    for number, width in enumerate(widths):
        for place in range(blocks):
            stride = 2 if number and not place else 1
            stages.append(Block(norm, channels, width, stride))
            channels = width
    for block in stages:
        block.shrink_branch(len(stages) ** -0.5)
    return nn.Sequential(
        convolution(norm, in_channels, widths[0], 3),
        norm(widths[0], True),
        nn.ReLU(),
        *stages,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(channels, classes),
    )


def _check(image_size: int) -> None:
    if image_size < 8:
        raise BadInput(f"A ResNet here takes images of at least 8 pixels, not {image_size}.")


def resnet8(norm: Norm, *, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build the ResNet of 8 layers: one block in each of three stages of 16, 32 and 64 channels.

    [B, C, S, S] in, logits [B, classes] out. Raises BadInput for images below 8 pixels.
    """
    _check(image_size)
    return _resnet(norm, (16, 32, 64), 1, in_channels, classes)


def resnet18(norm: Norm, *, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build ResNet-18 in its CIFAR form: a 3 x 3 stem without pooling, 64 to 512 channels.

    [B, C, S, S] in, logits [B, classes] out. Raises BadInput for images below 8 pixels.
    """
    _check(image_size)
    return _resnet(norm, (64, 128, 256, 512), 2, in_channels, classes)
