"""The picture of the scoreboard: what is left of a gap where both arms are equally trained."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bn_memorization.figures import INK, WIDTH, color, signed

UNITS = {"accuracy": "points of accuracy", "AUC": "points of AUC"}
EPOCHS, TRAINING = "after equal epochs", "at equal training"


def fixed_and_matched(gaps: Sequence[dict], profile: str) -> Figure:
    """Draw gaps as `first_page.asked_again` gives them, a panel a unit, a row a setting.

    Hollow above: after equal epochs. Filled below: where both arms are equally trained.
    """
    by_unit = {unit: [gap for gap in gaps if gap["unit"] == unit] for unit in UNITS}
    heights = [max(len(found), 1) for found in by_unit.values()]
    figure, axes = plt.subplots(
        len(UNITS),
        1,
        figsize=(WIDTH, 1.1 + 0.55 * sum(heights)),
        height_ratios=heights,
        layout="constrained",
    )
    for axis, (unit, found) in zip(axes, by_unit.items(), strict=True):
        for place, gap in enumerate(reversed(found)):
            _interval(axis, gap["epochs"], place + 0.16, fill="white")
            _interval(axis, gap["training"], place - 0.16, fill=color("batch"))
        labels = [f"{g['title']}\n{g['where']} (n = {g['training']['n']})" for g in reversed(found)]
        axis.set_yticks(range(len(labels)), labels, fontsize=8)
        axis.set_ylim(-0.6, max(len(labels), 1) - 0.4)
        axis.axvline(0, color=INK, lw=1)
        axis.set_xlabel(f"BN minus plain, {UNITS[unit]}", loc="left")
    for fill, label in (("white", EPOCHS), (color("batch"), TRAINING)):
        axes[0].plot([], [], "o", color=color("batch"), markerfacecolor=fill, label=label)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return signed(figure, profile)


def _interval(axis: plt.Axes, row: dict, place: float, fill: str) -> None:
    ink = color("batch")
    axis.plot([100 * row["low"], 100 * row["high"]], [place, place], color=ink, lw=2, zorder=1)
    axis.plot(100 * row["estimate"], place, "o", color=ink, markerfacecolor=fill, zorder=2)
