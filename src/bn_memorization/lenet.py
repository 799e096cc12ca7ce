"""LeNet-5 for images of up to 32 pixels."""

from torch import nn

from bn_memorization.errors import BadInput
from bn_memorization.norms import Norm


def lenet(norm: Norm, *, in_channels: int, image_size: int, classes: int) -> nn.Module:
    """Build LeNet-5 with ReLU and max pooling, `norm` before each of the four activations.

    Images are padded to 32 pixels, as in LeCun et al. (1998), so that 28 and 32 pixel images meet
    the same network: [B, C, S, S] in, logits [B, classes] out. The paper does not say which
    activation and pooling it used; these are today's usual ones.

    Convolutions and linear layers keep their biases beside every norm. Raises BadInput for images
    of other than 12 to 32 pixels.
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
