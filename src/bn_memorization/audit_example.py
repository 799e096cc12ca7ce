"""A small network to audit, as a reader's own file might hold one: a factory like torchvision's."""

from torch import nn


def small_net(num_classes: int = 1000) -> nn.Module:
    """Return a convolutional network with BN for images float32[N, 3, H, W], H and W at least 8."""
    layers, channels = [], 3
    for width in (16, 32, 64):
        layers += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        ]
        channels = width
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, num_classes)
    )
