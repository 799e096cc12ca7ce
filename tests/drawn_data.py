"""Whether what a figure shows is in the data that it offers."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from bn_memorization.figures import INK, SMALL, TEXT

LEAST = 3  # points: with fewer a line is a mark for the eye


def check(figure: Figure) -> None:
    """Fail where a marker or curve of LEAST points or more is not found in the figure's data.

    It is found where all its heights are among the table's numbers. Lines in ink are marks for the
    eye. Fail too where letters have another size than the two there are.
    """
    table = pd.read_csv(io.StringIO(figure.csv()))
    known = table.select_dtypes("number").to_numpy(float).ravel()
    known = known[np.isfinite(known)]
    for axis in figure.axes:
        for line in axis.lines:
            heights = np.asarray(line.get_ydata(), float)
            heights = heights[np.isfinite(heights)]
            if len(heights) >= LEAST and to_hex(line.get_color()) != INK and line.get_zorder() > 0:
                near = np.isclose(known[None], heights[:, None], rtol=1e-3, atol=1e-6).any(axis=1)
                assert near.all(), f"{line} is drawn at {heights[~near]}, which no data tell"
    if plt.rcParams["font.size"] == SMALL:
        texts = [text for text in figure.findobj(Text) if text.get_text()]
        assert {text.get_fontsize() for text in texts} <= {SMALL, TEXT}
