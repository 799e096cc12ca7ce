"""Data for the pictures that answer to touch: what a page carries, for its script to draw.

`embed` stands in a notebook after a still figure. It puts the data into the page as JSON and names
the figure; `book/_ext/live_pictures.py` loads the script of that kind on that page, and the script
draws in the still figure's place. Without a script, and in print, the still figure is what is
there.
"""

import base64
import io
import json
from collections.abc import Sequence

import numpy as np
import sympy as sp
from IPython.display import HTML
from PIL import Image

from bn_memorization.errors import Failure, check_choice

KINDS = ("explorer", "one_sample", "playback")
MOST = 130_000  # bytes that one picture may add to its page
DIGITS = 5  # significant ones; a screen shows fewer


def embed(kind: str, figure: str, data: dict) -> HTML:
    """Return the data of a picture of that kind, for the figure of that name, as part of a page.

    Numbers are rounded to DIGITS significant digits. Raises BadInput for an unknown kind, Failure
    for data of more than MOST bytes, and ValueError for a number that is not finite.
    """
    check_choice("kind of picture", kind, KINDS)
    text = json.dumps(rounded(data), separators=(",", ":"), allow_nan=False)
    if len(text) > MOST:
        raise Failure(
            f"The picture {kind} would add {len(text)} bytes to its page; at most {MOST} are "
            "allowed. Show fewer images."
        )
    text = text.replace("<", r"\u003c")  # or a "</script>" within would end the element
    return HTML(
        f'<div data-live="{kind}" data-figure="{figure}">'
        f'<script type="application/json">{text}</script></div>'
    )


def rounded(value: object) -> object:
    """Return JSON values with every float rounded to DIGITS significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def script(expressions: dict[str, sp.Expr]) -> dict[str, str]:
    """Return expressions as JavaScript, {name: code}: the page computes by the formula itself."""
    return {name: sp.jscode(expression) for name, expression in expressions.items()}


def sprite(images: Sequence[np.ndarray]) -> str:
    """Return images, each [H, W] or [H, W, 3] and of one shape, side by side as one PNG address.

    Gray images are turned dark on light, as figures show them.
    """
    row = np.concatenate(list(images), axis=1)
    packed = io.BytesIO()
    Image.fromarray(255 - row if row.ndim == 2 else row).save(packed, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode()
