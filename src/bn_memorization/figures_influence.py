"""Pictures of per-sample gradients: how large, against what, and in which mode."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from bn_memorization.config import SETTING
from bn_memorization.figure_data import Drawn, interval
from bn_memorization.figures import (
    INK,
    NARROW,
    TREATED_COLOR,
    canvas,
    color,
    legend,
    log_ticks,
    signed,
)
from bn_memorization.influence import OVER_CLEAN, OVER_PLAIN
from bn_memorization.report import name, setting
from bn_memorization.stats import mean_interval

SUBSET_LINES = {"corrupted": "-", "clean": ":"}
COMPARISON_LINES = {OVER_PLAIN: (INK, "-"), OVER_CLEAN: (TREATED_COLOR, "--")}
STEPS = 60  # of one curve of shares
LEAST_NORM = 1e-4  # where axes end at the latest: a smaller gradient moves nothing


def norm_distributions(frame: pd.DataFrame, profile: str) -> Drawn:
    """Draw the share of samples with a norm below each value: a row a setting, a column a moment.

    `frame` is that of `influence.distributions`. Color means arm; lines
    are solid for corrupted samples and dotted for clean ones.
    """
    settings, moments = _settings(frame), list(frame.moment.unique())
    figure, axes = _grid(len(settings), len(moments))
    for i, (where, rows) in enumerate(settings):
        for axis, moment in zip(axes[i], moments, strict=True):
            arms = rows[rows.moment == moment].groupby(["norm", "subset"], sort=False)
            for (norm, subset), part in arms:
                _shares(axis, part, norm, subset, setting=setting(where), moment=moment)
            axis.set_title(moment)
        axes[i, 0].set_ylabel(setting(where).replace(", ", "\n"))
    low, high = frame.value[frame.value > 0].min(), frame.value.max()
    axes[0, 0].set(xscale="log", xlim=(max(low, LEAST_NORM), high), ylim=(-0.02, 1.02))
    axes[0, 0].yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[0, 0].xaxis.set_major_locator(LogLocator(numticks=4))
    axes[0, 0].xaxis.set_minor_locator(NullLocator())
    _finish(figure, axes, "per-sample gradient norm", "share of samples below")
    return signed(figure, profile)


def _shares(axis: plt.Axes, part: pd.DataFrame, norm: str, subset: str, **where) -> None:
    """Draw the share of samples up to each of STEPS sizes: more are told apart by nobody."""
    ordered = np.sort(part.value.to_numpy())
    rank = np.unique(np.linspace(1, len(ordered), min(len(ordered), STEPS)).round().astype(int))
    axis.step(
        ordered[rank - 1],
        rank / len(ordered),
        where="post",
        color=color(norm),
        ls=SUBSET_LINES[subset],
        lw=1.6,
        label=f"{name(norm)}, {subset} samples (n = {part.seed.nunique()} models)",
    )
    axis.figure.keep(
        **where,
        arm=name(norm),
        samples=subset,
        models=part.seed.nunique(),
        n=len(ordered),
        gradient_norm=ordered[rank - 1],
        share_up_to_it=rank / len(ordered),
    )


def delta_curves(frame: pd.DataFrame, profile: str) -> Drawn:
    """Draw Cliff's delta against epochs, a panel a setting.

    `frame` is that of `influence.by_epoch`. Lines are means over pairs of models, bands their 95 %
    t intervals, cut at what a delta can be.
    """
    settings = _settings(frame)
    figure, axes = _grid(-(-len(settings) // 2), min(2, len(settings)))
    for axis in axes.flat[len(settings) :]:
        axis.remove()
    for axis, (where, rows) in zip(axes.flat, settings, strict=False):
        for comparison, lines in rows.groupby("comparison", sort=False):
            wide = lines.pivot(index="epoch", columns="seed", values="delta")
            _delta_band(axis, wide, comparison, setting(where))
        axis.axhline(0, color="0.5", lw=0.8)
        axis.set_title(setting(where))
    axes[0, 0].set(ylim=(-1.05, 1.05))
    axes[0, 0].xaxis.set_major_locator(MaxNLocator(integer=True))
    _finish(figure, axes, "epoch", "Cliff's delta")
    return signed(figure, profile)


def _delta_band(axis: plt.Axes, lines: pd.DataFrame, comparison: str, where: str) -> None:
    """Draw one comparison's mean with its interval; `lines` is [epoch, seed]."""
    ink, style = COMPARISON_LINES[comparison]
    gaps = [mean_interval(row) for row in lines.to_numpy()]
    label = f"{comparison} (n = {lines.shape[1]})"
    axis.plot(lines.index, [gap.estimate for gap in gaps], color=ink, ls=style, lw=2, label=label)
    # An interval of Student's t can reach beyond what a delta can be.
    low, high = [max(gap.low, -1) for gap in gaps], [min(gap.high, 1) for gap in gaps]
    axis.figure.keep(
        setting=where,
        comparison=comparison,
        epoch=lines.index,
        quantity="Cliff's delta",
        **interval(gaps) | {"low": low, "high": high},
    )
    axis.fill_between(lines.index, low, high, color=ink, alpha=0.15, lw=0)


def mode_scatter(frame: pd.DataFrame, profile: str) -> Drawn:
    """Draw each sample's norm in batch mode against its norm in running mode, with y = x.

    `frame` is that of `influence.both_modes`.
    """
    figure, ((axis,),) = canvas(height=NARROW, width=NARROW)
    axis.set(xscale="log", yscale="log", aspect="equal")
    for subset, marker, ink in (("clean", ".", "0.6"), ("corrupted", "o", TREATED_COLOR)):
        part = frame[frame.subset == subset]
        axis.plot(part.running, part.batch, marker, color=ink, mfc="none", ms=5, lw=0,
                  label=f"{subset} samples (n = {len(part)})")  # fmt: skip
        figure.keep(
            samples=subset, norm_in_running_mode=part.running, norm_in_batch_mode=part.batch
        )
    both = frame[["running", "batch"]].to_numpy()
    limits = (max(both.min(), LEAST_NORM) / 1.5, both.max() * 1.5)
    axis.plot(limits, limits, color=INK, lw=0.8, ls="--", zorder=0, label="equal")
    axis.set(xlim=limits, ylim=limits)
    axis.set(xlabel="norm in running mode", ylabel="norm in batch mode")
    log_ticks(axis.xaxis, limits)
    log_ticks(axis.yaxis, limits)
    axis.legend(loc="upper left")
    return signed(figure, profile)


def _settings(frame: pd.DataFrame) -> list[tuple[dict, pd.DataFrame]]:
    """Return (setting, its rows) in order of appearance."""
    groups = frame.groupby(list(SETTING), sort=False)
    return [(dict(zip(SETTING, key, strict=True)), rows) for key, rows in groups]


def _grid(rows: int, columns: int) -> tuple[Drawn, np.ndarray]:
    return canvas(rows, columns, height=0.8 + 2.2 * rows, sharex=True, sharey=True)


def _finish(figure: Drawn, axes: np.ndarray, xlabel: str, ylabel: str) -> None:
    legend(figure, axes[0, 0], columns=2)
    figure.supxlabel(xlabel)
    figure.supylabel(ylabel)
