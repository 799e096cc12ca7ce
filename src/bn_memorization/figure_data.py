"""A figure that keeps the numbers it shows, so that its page can offer them as CSV.

What draws calls `keep` beside it. The text travels in the metadata of the cell's output, from where
`book/_ext/figure_pages.py` makes a file of it.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bn_memorization.report import MINUS, NO_BREAK
from bn_memorization.stats import Gap

CSV = "csv"  # the name in the metadata
MOST = 200_000  # bytes with all digits; what is longer is written with FEW
DIGITS, FEW = 6, 4  # significant ones


class Drawn(Figure):
    """A figure with a table of what is drawn in it, one row a point."""

    def __init__(self, *args, **kwargs) -> None:
        """Make an empty figure, of matplotlib's own arguments."""
        super().__init__(*args, **kwargs)
        self.kept: list[pd.DataFrame] = []

    def keep(self, **columns: object) -> None:
        """Add rows to the table: what is no array or list stands in each of them."""
        single = {key: np.ndim(value) == 0 for key, value in columns.items()}
        if all(single.values()):
            columns = {key: [value] for key, value in columns.items()}
        rows = {key: value if single[key] else np.asarray(value) for key, value in columns.items()}
        self.kept.append(pd.DataFrame(rows))

    def table(self) -> pd.DataFrame:
        """Return all that was kept, its columns in the order in which they came."""
        return pd.concat(self.kept, ignore_index=True)

    def csv(self) -> str:
        """Return the table as CSV, with as many digits as its size allows."""
        text = _csv(self.table(), DIGITS)
        return text if len(text) <= MOST else _csv(self.table(), FEW)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple:
        # IPython's own formatter adds the picture to this.
        return {}, {CSV: self.csv()}


def _csv(table: pd.DataFrame, digits: int) -> str:
    text = table.to_csv(index=False, float_format=f"%.{digits}g", lineterminator="\n")
    return text.replace(NO_BREAK, " ").replace(MINUS, "-")  # for programs, not for pages


def interval(gaps: Iterable[Gap], scale: float = 1.0) -> dict[str, list]:
    """Return means with their intervals and numbers as columns for `keep`, times `scale`."""
    found = list(gaps)
    ends = {
        "mean": [scale * gap.estimate for gap in found],
        "low": [scale * gap.low for gap in found],
        "high": [scale * gap.high for gap in found],
    }
    return ends | {"n": [gap.n for gap in found]}


def pixels(image: np.ndarray) -> dict[str, object]:
    """Return an image, uint8[H, W] or [H, W, 3], as columns: its shape, and its bytes in hex.

    One that is gray in all its colors has one byte a pixel.
    """
    if image.ndim == 3 and (image == image[..., :1]).all():
        image = image[..., 0]
    height, width, *colors = image.shape
    return {
        "height_pixels": height,
        "width_pixels": width,
        "bytes_a_pixel": colors[0] if colors else 1,
        "pixels_hex": np.ascontiguousarray(image, np.uint8).tobytes().hex(),
    }


def numbers(counts: Iterable[int]) -> str:
    """Return over how many units means are, which may differ among them: "n = 3 to 5"."""
    found = set(counts)
    if not found:
        return "n = 0"
    low, high = min(found), max(found)
    return f"n = {low}" if low == high else f"n = {low} to {high}"
