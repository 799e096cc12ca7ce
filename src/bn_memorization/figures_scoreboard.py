"""The picture of the scoreboard: what is left of a gap where both arms are equally trained."""

from collections.abc import Sequence

from matplotlib import pyplot as plt

from bn_memorization.figure_data import Drawn
from bn_memorization.figures import INK, NARROW, canvas, color, signed

UNITS = {"accuracy": "points of accuracy", "AUC": "points of AUC"}
EPOCHS, TRAINING = "after equal epochs", "at equal training"
LABEL = {"va": "center", "backgroundcolor": "white"}


def fixed_and_matched(gaps: Sequence[dict], profile: str) -> Drawn:
    """Draw gaps as `first_page.asked_again` gives them, a panel a unit that has any, a row a gap.

    Hollow above: after equal epochs. Filled below: where both arms are equally trained.
    """
    by_unit = {unit: [gap for gap in gaps if gap["unit"] == unit] for unit in UNITS}
    by_unit = {unit: found for unit, found in by_unit.items() if found}
    heights = [len(found) for found in by_unit.values()]
    figure, axes = canvas(
        max(len(by_unit), 1),
        height=0.6 + 0.45 * len(by_unit) + 0.7 * sum(heights),
        width=NARROW,  # it also stands beside a table, on the first page
        height_ratios=heights or [1],
    )
    for axis, (unit, found) in zip(axes.flat, by_unit.items(), strict=False):
        for place, gap in enumerate(reversed(found)):
            label = f"{gap['title']}\n{gap['where']} (n = {gap['training']['n']})"
            axis.text(0, place + 0.29, label, transform=axis.get_yaxis_transform(), **LABEL)
            _interval(axis, gap["epochs"], place - 0.12, fill="white")
            for when, row in ((EPOCHS, gap["epochs"]), (TRAINING, gap["training"])):
                figure.keep(
                    panel=f"BN minus plain, {UNITS[unit]}",
                    claim=gap["title"],
                    setting=gap["where"],
                    when=when,
                    mean=100 * row["estimate"],
                    low=100 * row["low"],
                    high=100 * row["high"],
                    n=row["n"],
                )
            _interval(axis, gap["training"], place - 0.27, fill=color("batch"))
        axis.set_yticks([])
        axis.grid(visible=False)
        axis.spines["left"].set_visible(False)
        axis.set_ylim(-0.5, len(found) - 0.4)
        axis.axvline(0, color=INK, lw=1)
        axis.set_xlabel(f"BN minus plain, {UNITS[unit]}", loc="left")
    for fill, label in (("white", EPOCHS), (color("batch"), TRAINING)):
        axes[0, 0].plot([], [], "o", color=color("batch"), markerfacecolor=fill, label=label)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2)
    if not gaps:
        figure.keep(note="no gap was measured both ways")
    return signed(figure, profile)


def _interval(axis: plt.Axes, row: dict, place: float, fill: str) -> None:
    ink = color("batch")
    axis.plot([100 * row["low"], 100 * row["high"]], [place, place], color=ink, lw=2, zorder=1)
    axis.plot(100 * row["estimate"], place, "o", color=ink, markerfacecolor=fill, zorder=2)
