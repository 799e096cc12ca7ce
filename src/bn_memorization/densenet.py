"""DenseNet-BC for small images, in two depths.

Source: Huang et al. (2017), arXiv:1608.06993: growth k = 12, bottlenecks of 4k channels, and
transitions that keep half of the channels.
"""

import torch
from torch import Tensor, nn

from bn_memorization.errors import BadInput
from bn_memorization.norms import Norm, convolution

GROWTH = 12
BLOCKS = 3


class DenseLayer(nn.Module):
    """A bottleneck layer: the input beside `GROWTH` channels made from all of it.

    [B, C, S, S] in, [B, C + GROWTH, S, S] out. The norm layers stand before the convolutions.
    """

    def __init__(self, norm: Norm, channels: int):
        super().__init__()
        self.new = nn.Sequential(
            norm(channels, True),
            nn.ReLU(),
            convolution(norm, channels, 4 * GROWTH, 1),
            norm(4 * GROWTH, True),
            nn.ReLU(),
            convolution(norm, 4 * GROWTH, GROWTH, 3),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the input and the new channels behind it."""
        return torch.cat([x, self.new(x)], 1)


def _densenet(norm: Norm, depth: int, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build a DenseNet-BC of `depth` layers, of which 4 lie outside the dense blocks.

    Concatenation adds no variance, so He's initialization serves a plain network as it is.
    """
    if image_size < 8:
        raise BadInput(f"A DenseNet here takes images of at least 8 pixels, not {image_size}.")
    channels = 2 * GROWTH
    layers: list[nn.Module] = [convolution(norm, in_channels, channels, 3)]
    for block in range(BLOCKS):
        for _ in range((depth - 4) // (2 * BLOCKS)):
            layers.append(DenseLayer(norm, channels))
            channels += GROWTH
        layers += [norm(channels, True), nn.ReLU()]
        if block < BLOCKS - 1:
            layers += [convolution(norm, channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )


def densenet22(norm: Norm, *, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build DenseNet-BC of 22 layers: three blocks of 3 bottleneck layers.

    [B, C, S, S] in, logits [B, classes] out. Raises BadInput for images below 8 pixels.
    """
    return _densenet(norm, 22, in_channels, image_size, classes)


def densenet40(norm: Norm, *, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build DenseNet-BC of 40 layers: three blocks of 6 bottleneck layers.

    [B, C, S, S] in, logits [B, classes] out. Raises BadInput for images below 8 pixels.
    """
    return _densenet(norm, 40, in_channels, image_size, classes)
