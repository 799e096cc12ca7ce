"""The picture that stands for the book where a link to it is shared."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from bn_memorization.figures import INK
from bn_memorization.figures_scoreboard import fixed_and_matched

PIXELS = (1200, 630)  # what those who show previews ask for
PANELS, LEGEND = 0.79, 0.88  # of the height, from below: where they end; above is the title
DOTS = 165  # an inch: letters that can be read where the picture is small


def card(title: str, gaps: Sequence[dict], profile: str) -> Figure:
    """Draw a title above the gaps that `first_page.asked_again` gives."""
    figure = fixed_and_matched(gaps, profile)
    figure.set_dpi(DOTS)
    figure.set_size_inches(*(pixels / DOTS for pixels in PIXELS))
    figure.get_layout_engine().set(rect=(0.01, 0.01, 0.98, PANELS - 0.01))
    (legend,) = figure.legends
    legend.set_bbox_to_anchor((0, 0, 1, LEGEND), figure.transFigure)
    figure.text(0.03, 0.97, title, ha="left", va="top", fontsize=17, color=INK)
    return figure
