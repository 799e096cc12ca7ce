"""The views of an image under which a model is queried: fixed, and always in the same order."""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F


def _shift(x: Tensor, right: int, down: int) -> Tensor:
    """Return x[N, C, H, W] moved by at most one pixel, its edge repeated behind it."""
    height, width = x.shape[-2:]
    padded = F.pad(x, (1, 1, 1, 1), mode="replicate")
    top, left = 1 - down, 1 - right
    return padded[..., top : top + height, left : left + width]


# The mirror image comes last: a mirrored digit is another shape, a shifted one is not.
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda x: x,
    "one pixel left": lambda x: _shift(x, -1, 0),
    "one pixel right": lambda x: _shift(x, 1, 0),
    "one pixel up": lambda x: _shift(x, 0, -1),
    "one pixel down": lambda x: _shift(x, 0, 1),
    "mirrored": lambda x: x.flip(-1),
}


def views(x: Tensor, count: int) -> list[Tensor]:
    """Return the first `count` views of the images x[N, C, H, W], the images themselves first."""
    return [view(x) for view in list(VIEWS.values())[:count]]
