"""Pictures of dose and response. All networks here have BN; color is dose or what was set."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    LogLocator,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
    StrMethodFormatter,
)

from bn_memorization.config import SETTING
from bn_memorization.control_claims import CONTROLS
from bn_memorization.dose import FITTED, FREE, HELD, RATE
from bn_memorization.dose_exponents import bounded, evidence, exponents
from bn_memorization.dose_tables import SQUARE
from bn_memorization.figure_data import Drawn, interval, numbers
from bn_memorization.figures import (
    INK,
    SUBSET_NAMES,
    TREATED_COLOR,
    WIDTH,
    canvas,
    draw_interval,
    signed,
)
from bn_memorization.membership import DECIDES, Pool
from bn_memorization.report import setting
from bn_memorization.stats import mean_interval

LOOKS = {HELD: ("#009E73", "o"), FREE: ("#CC79A7", "s")}
BOUND = "bound (open)"
LEAST_SEEDS = CONTROLS["dose_exponent"].least_n  # with fewer an interval is not drawn
SUBSET_LOOKS = {"corrupted": (INK, "o"), "clean": ("0.6", "D")}


def curves(paths: pd.DataFrame, profile: str) -> Drawn:
    """Draw the share of corrupted samples fitted against epochs, a line a dose, weights held.

    `paths` is that of `dose.paths`. Lines are means over seeds with their 95 % t intervals, cut at
    0 and 1; the dashed line is the share at which the time is taken.
    """
    parts = list(paths.groupby(list(SETTING), sort=False))
    figure, axes = _grid(len(parts), 1, width=0.65)
    for (axis,), (values, part) in zip(axes, parts, strict=True):
        doses = sorted(part.dose.unique())
        shades = plt.get_cmap("viridis")(np.linspace(0.9, 0.1, len(doses)))
        where = setting(dict(zip(SETTING, values, strict=True)))
        for dose, shade in zip(doses, shades, strict=True):
            wide = part[part.dose == dose].pivot(index="epoch", columns="seed", values="share")
            gaps = [mean_interval(row) for row in wide.to_numpy()]
            drawn = interval(gaps)
            drawn |= {end: np.clip(drawn[end], 0, 1) for end in ("low", "high")}
            axis.plot(wide.index, drawn["mean"], color=shade, lw=1.8, label=f"{dose:g}")
            axis.fill_between(
                wide.index, drawn["low"], drawn["high"], color=shade, alpha=0.12, lw=0
            )
            figure.keep(setting=where, ratio_set_to=dose, epoch=wide.index, **drawn)
        axis.axhline(FITTED["corrupted"], color=INK, ls="--", lw=1)
        axis.set_title(f"{where} (n = {part.seed.nunique()})")
        axis.set_ylim(-0.03, 1.03)
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes[0, 0].legend(title=r"$\gamma/\sigma$ set to")
    figure.supxlabel("epoch")
    figure.supylabel("corrupted samples fitted")
    return signed(figure, profile)


def response(outcomes: pd.DataFrame, lr: float, profile: str) -> Drawn:
    """Draw speed against the achieved gamma/sigma, both logarithmic, a marker a run.

    A row a setting; left corrupted, right clean samples. Lines join the means over seeds. An open
    marker is the bound for a run without a speed, and the means include it; a star is a run without
    a penalty at `lr`; the gray lines have slopes 1 and 2.
    """
    parts = list(bounded(outcomes).groupby(list(SETTING), sort=False))
    figure, axes = _grid(len(parts), 2)
    for row, (values, part) in zip(axes, parts, strict=True):
        for axis, subset in zip(row, FITTED, strict=True):
            for series in (HELD, FREE):
                _series(axis, part[part.series == series], outcomes, subset, series)
            natural = part[(part.series == RATE) & (part.lr == lr)]
            _natural(axis, natural, outcomes.loc[natural.index, subset].isna(), subset)
            _guides(axis, part[part.series.isin(LOOKS)], subset)
            shown = pd.concat([part[part.series.isin(LOOKS)], natural])[subset]
            axis.set_ylim(shown.min() / 1.4, shown.max() * 1.4)
            where = setting(dict(zip(SETTING, values, strict=True)))
            axis.set_title(f"{where}\n{SUBSET_NAMES[subset]}")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    bound = Line2D([], [], color=INK, marker="v", mfc="none", ls="none", label=BOUND)
    figure.legend([*handles, bound], [*labels, BOUND], loc="outside upper center", ncols=3)
    figure.supxlabel(r"$|\gamma|/\sigma$ achieved")
    figure.supylabel("speed of fitting (1/epochs)")
    return signed(figure, profile)


def _series(
    axis: plt.Axes, part: pd.DataFrame, outcomes: pd.DataFrame, subset: str, series: str
) -> None:
    ink, marker = LOOKS[series]
    lost = outcomes.loc[part.index, subset].isna()
    axis.plot(
        part.achieved[~lost], part[subset][~lost], marker, color=ink, ms=5, alpha=0.7, label=series
    )
    axis.plot(part.achieved[lost], part[subset][lost], "v", color=ink, mfc="none", ms=6)
    _keep(axis, part, lost, subset, series)
    means = np.exp(np.log(part[["achieved", subset]]).groupby(part.dose).mean())
    axis.plot(means.achieved, means[subset], color=ink, lw=1.2)
    axis.figure.keep(
        setting=[setting(dict(part[[*SETTING]].iloc[0]))] * len(means),
        samples=subset,
        series=f"{series}, geometric mean",
        ratio_set_to=means.index,
        n=part.groupby("dose").size(),
        ratio_achieved=means.achieved,
        speed_per_epoch=means[subset],
    )


def _keep(axis: plt.Axes, part: pd.DataFrame, lost: pd.Series, subset: str, series: str) -> None:
    axis.figure.keep(
        setting=[setting(where) for where in part[[*SETTING]].to_dict("records")],
        samples=subset,
        series=series,
        ratio_set_to=part.dose,
        ratio_achieved=part.achieved,
        speed_per_epoch=part[subset],
        only_a_bound=lost,
    )


def _natural(axis: plt.Axes, natural: pd.DataFrame, lost: pd.Series, subset: str) -> None:
    _keep(axis, natural, lost, subset, "no penalty")
    look = {"color": TREATED_COLOR, "ms": 9, "mew": 0.4}
    axis.plot(
        natural.achieved[~lost], natural[subset][~lost], "*", mec=INK, label="no penalty", **look
    )
    open_look = look | {"mfc": "none", "mew": 1.0}
    axis.plot(natural.achieved[lost], natural[subset][lost], "*", **open_look)


def _guides(axis: plt.Axes, part: pd.DataFrame, subset: str) -> None:
    """Draw lines of slopes 1 and 2 through the middle of the data, on logarithmic axes."""
    x = np.array([part.achieved.min(), part.achieved.max()])
    middle = np.exp(np.log(part[["achieved", subset]]).mean())
    for power, style in ((1, ":"), (SQUARE, "--")):
        y = middle[subset] * (x / middle.achieved) ** power
        axis.plot(x, y, color="0.6", ls=style, lw=1, zorder=0, label=f"slope {power:g}")
    axis.set(xscale="log", yscale="log")
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_xticks(sorted(part.dose.unique()))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def exponent_rows(outcomes: pd.DataFrame, names: dict[str, str], profile: str) -> Drawn:
    """Draw the exponents of both kinds of samples with their intervals, a row a series in `names`.

    A panel a setting; dashed lines at 0 and 2. Series without an exponent stay empty; one with
    fewer than LEAST_SEEDS has an open marker and no interval.
    """
    cells = list(dict.fromkeys(outcomes[[*SETTING]].itertuples(index=False, name=None)))
    figure, axes = _grid(len(cells), 1, height=0.8 + 0.38 * len(names))
    for (axis,), cell in zip(axes, cells, strict=True):
        where, counts = setting(dict(zip(SETTING, cell, strict=True))), []
        for place, series in enumerate(reversed(names)):
            for shift, subset in zip((0.12, -0.12), FITTED, strict=True):
                ink, marker = SUBSET_LOOKS[subset]
                for item in evidence(exponents(outcomes, subset, series)):
                    if item.n and tuple(item.where.values()) == cell:
                        if item.n < LEAST_SEEDS:
                            item = replace(item, low=np.nan, high=np.nan)
                            axis.plot(item.estimate, place + shift, marker, color=ink, mfc="none")
                        else:
                            draw_interval(axis, item, place + shift, ink=ink, marker=marker)
                        figure.keep(
                            setting=where,
                            samples=subset,
                            series=names[series],
                            quantity="exponent",
                            **interval([item]),
                        )
                        counts.append(item.n)
        axis.set_yticks(range(len(names)), list(reversed(names.values())))
        axis.set_ylim(-0.6, len(names) - 0.4)
        axis.set_title(f"{where} ({numbers(counts)})")
        for level in (0, SQUARE):
            axis.axvline(level, color=INK, ls="--", lw=1)
    looks = [
        Line2D([], [], color=ink, marker=marker, label=SUBSET_NAMES[subset])
        for subset, (ink, marker) in SUBSET_LOOKS.items()
    ]
    figure.legend(handles=looks, loc="outside upper center", ncols=2)
    figure.supxlabel(r"exponent of speed against $\gamma/\sigma$")
    if not figure.kept:
        figure.keep(note="no series has an exponent")
    return signed(figure, profile)


def attack(by_dose: dict[float, list[Pool]], profile: str) -> Drawn:
    """Draw the AUC of membership inference against the dose, a panel a setting.

    Dots are pairs of attacked models, joined over doses; bars are means with 95 % t intervals.
    """
    settings = list(zip(*by_dose.values(), strict=True))
    figure, axes = _grid(len(settings), 1, width=0.65)
    for (axis,), pools in zip(axes, settings, strict=True):
        aucs = np.array([pool.aucs(DECIDES) for pool in pools])
        gaps = [mean_interval(values) for values in aucs]
        doses, n = list(by_dose), aucs.shape[1]
        pairs = {f"pair {i + 1}": values for i, values in enumerate(aucs.T)}
        figure.keep(
            setting=setting(pools[0].where),
            ratio_set_to=doses,
            quantity="AUC of the attack",
            **interval(gaps),
            **pairs,
        )
        axis.plot(doses, aucs, color="0.6", marker=".", lw=0.7)
        axis.errorbar(
            doses,
            [gap.estimate for gap in gaps],
            yerr=[[g.estimate - g.low for g in gaps], [g.high - g.estimate for g in gaps]],
            color=LOOKS[HELD][0],
            marker="o",
            lw=2,
            capsize=4,
        )
        axis.axhline(0.5, color=INK, ls="--", lw=1)
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xticks(doses, [f"{dose:g}" for dose in doses])
        axis.set_title(f"{setting(pools[0].where)} (n = {n} pairs)")
    figure.supxlabel(r"$|\gamma|/\sigma$ set to")
    figure.supylabel("AUC of the attack")
    return signed(figure, profile)


def _grid(
    rows: int, columns: int, *, width: float = 1.0, height: float = 2.9
) -> tuple[Drawn, np.ndarray]:
    return canvas(rows, columns, width=WIDTH * width, height=0.8 + height * rows)
