"""The picture of the scoreboard: what is left of a gap where both arms are equally trained."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bn_memorization.figures import INK, color, signed

UNITS = {"accuracy": "points of accuracy", "AUC": "points of AUC"}
EPOCHS, TRAINING = "after equal epochs", "at equal training"
LABEL = {"fontsize": 7.5, "va": "center", "backgroundcolor": "white"}
NARROW = 4.6  # inches; it also stands beside a table, on the first page


def fixed_and_matched(gaps: Sequence[dict], profile: str) -> Figure:
    """Draw gaps as `first_page.asked_again` gives them, a panel a unit that has any, a row a gap.

    Hollow above: after equal epochs. Filled below: where both arms are equally trained.
    """
    by_unit = {unit: [gap for gap in gaps if gap["unit"] == unit] for unit in UNITS}
    by_unit = {unit: found for unit, found in by_unit.items() if found}
    heights = [len(found) for found in by_unit.values()]
    figure, axes = plt.subplots(
        max(len(by_unit), 1),
        1,
        figsize=(NARROW, 0.4 + 0.42 * len(by_unit) + 0.5 * sum(heights)),
        height_ratios=heights or [1],
        layout="constrained",
        squeeze=False,
    )
    for axis, (unit, found) in zip(axes.flat, by_unit.items(), strict=False):
        for place, gap in enumerate(reversed(found)):
            label = f"{gap['title']}: {gap['where']} (n = {gap['training']['n']})"
            axis.text(0, place + 0.3, label, transform=axis.get_yaxis_transform(), **LABEL)
            _interval(axis, gap["epochs"], place - 0.04, fill="white")
            _interval(axis, gap["training"], place - 0.26, fill=color("batch"))
        axis.set_yticks([])
        axis.grid(visible=False)
        axis.spines["left"].set_visible(False)
        axis.set_ylim(-0.5, len(found) - 0.45)
        axis.axvline(0, color=INK, lw=1)
        axis.tick_params(labelsize=8)
        axis.set_xlabel(f"BN minus plain, {UNITS[unit]}", loc="left", fontsize=8)
    for fill, label in (("white", EPOCHS), (color("batch"), TRAINING)):
        axes[0, 0].plot([], [], "o", color=color("batch"), markerfacecolor=fill, label=label)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2, fontsize=8)
    return signed(figure, profile)


def _interval(axis: plt.Axes, row: dict, place: float, fill: str) -> None:
    ink = color("batch")
    axis.plot([100 * row["low"], 100 * row["high"]], [place, place], color=ink, lw=2, zorder=1)
    axis.plot(100 * row["estimate"], place, "o", color=ink, markerfacecolor=fill, zorder=2)
