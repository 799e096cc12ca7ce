"""gamma |w| / sigma through training for readers: tables of start and end, and sentences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from torch import Tensor, nn

from bn_memorization.config import SETTING
from bn_memorization.control_claims import told
from bn_memorization.judging import Verdict
from bn_memorization.ratios import batch_sigma, gamma_sigma, weight_norms
from bn_memorization.report import MINUS, between, number, setting, span
from bn_memorization.trained_invariant import (
    QUANTITIES,
    START_IMAGES,
    Path,
    by_scale,
    changes,
    grown,
    quotient,
)
from bn_memorization.trained_ratios import ONE

NET = "net share by |w|"  # the column
UNKNOWN = "not known here"


def parts(changed: pd.DataFrame) -> pd.DataFrame:
    """Return the mean change of log gamma/sigma and its two parts, a row a setting.

    Columns: setting, the means over a model's channels and then over models of the changes of log
    gamma/sigma, of log rho and of minus log |w|, the last two of which add up to the first; the net
    share by |w|, the third over the first (`quotient`), which is negative or above 1 where the two
    parts have opposite signs; the shares of channels whose rho grew since the start and since the
    first epoch; and n.
    """
    key = [*SETTING, "seed"]
    signs = {"since start": changed.rho > 0, "since epoch 1": changed.later > 0}
    parts = [*QUANTITIES, "size", *signs]
    means = changed.assign(**signs).groupby(key, sort=False)[parts].mean()
    grouped = means.assign(size=-means["size"]).groupby(list(SETTING), sort=False)
    names = {"ratio": "log γ/σ", "rho": "log γ|w|/σ", "size": f"{MINUS}log |w|"}
    names |= {sign: f"grew {sign}" for sign in signs}
    frame = grouped.mean().rename(columns=names).assign(n=grouped.size())
    net = [quotient(models["size"], models.ratio) for _, models in grouped]
    frame.insert(3, NET, net)
    frame = frame.reset_index()
    where = [setting(row) for row in frame[list(SETTING)].to_dict("records")]
    frame.insert(0, "setting", where)
    return frame.drop(columns=list(SETTING))


def by_layer(paths: Sequence[Path]) -> pd.DataFrame:
    """Return start and end, a row a data set, architecture and layer, and one for all layers.

    Columns: dataset, arch, layer ("all" in the last row of a network), medians of gamma/sigma and
    rho at both ends, the median of |w| at the end over the start, the shares of channels with
    gamma/sigma above 1 at both ends, and of those on the same side of 1 at both. Taken within a
    model, then averaged over the models.
    """
    rows = [row for path in paths for row in _ends(path)]
    key = ["dataset", "arch", "layer"]
    return pd.DataFrame(rows).groupby(key, sort=False).mean().reset_index()


def _ends(path: Path) -> list[dict]:
    rows = []
    for layer in [*np.unique(path.layer), "all"]:
        chosen = np.full(path.layer.shape, True) if layer == "all" else path.layer == layer
        ratio, rho, size = (part[:, chosen] for part in (path.ratio, path.rho, path.size))
        above = ratio > ONE
        rows.append(
            {"dataset": path.config.dataset, "arch": path.config.arch, "layer": str(layer)}
            | {"γ/σ, start": np.median(ratio[0]), "γ/σ, end": np.median(ratio[-1])}
            | {"γ|w|/σ, start": np.median(rho[0]), "γ|w|/σ, end": np.median(rho[-1])}
            | {"|w|, end/start": np.median(size[-1] / size[0])}
            | {"above 1, start": above[0].mean(), "above 1, end": above[-1].mean()}
            | {"same side": (above[0] == above[-1]).mean()}
        )
    return rows


def coverage(paths: Sequence[Path]) -> str:
    """Return a sentence on the channels that have no weights of their own, by architecture."""
    models = {path.config.arch: path for path in paths}.values()
    parts = [
        f"{path.left_out} of {path.left_out + len(path.layer)} in {path.config.arch}"
        for path in models
        if path.left_out
    ]
    if not parts:
        return "Every BN channel here is fed by one weighted layer alone, so none is left out."
    return f"Left out are channels not fed by one weighted layer alone: {', '.join(parts)}."


def mismatch(path: Path, trained: nn.Module, x: Tensor) -> str:
    """Return a sentence on what a running sigma at the end does to both shares of one network.

    `trained` is the network that `path` ends with, and x[N, ...] its training images. Beside the
    path stands one that ends as it starts, with the sigma of the first START_IMAGES as one batch.
    """
    own = np.isfinite(weight_norms(trained))
    running, batch = gamma_sigma(trained).sigma.to_numpy(), batch_sigma(trained, x[:START_IMAGES])
    times = running[own] / batch[own]
    alike = replace(path, ratio=np.concatenate([path.ratio[:-1], path.ratio[-1:] * times]))
    both = [changes([one]) for one in (path, alike)]
    (grew, grew_alike), (size, size_alike) = (
        [number(share(frame), "share") for frame in both] for share in (grown, by_scale)
    )
    middle = float(np.median(times))
    push = "lowers" if middle > 1 else "raises"
    return (
        f"In the network that was rescaled above, the running σ at the end is "
        f"{number(middle, 'ratio')} times a batch's (median over channels), which {push} γ|w|/σ at "
        f"the end. With a batch's σ at both ends γ|w|/σ grew in a share of {grew_alike} of its "
        f"channels ({grew} with the running one), and the size of the weights makes a share of "
        f"{size_alike} of the movement ({size} with the running one)."
    )


def known(values: pd.Series, unit: str) -> str:
    """Return the span of the values that are not NaN as text, or that there are none."""
    found = values.dropna()
    return between(found.min(), found.max(), unit) if len(found) else UNKNOWN


def answer(
    grows: Verdict, scale: Verdict, layers: pd.DataFrame, changed_parts: pd.DataFrame
) -> str:
    """Return the answer of the first half in plain sentences.

    `layers` is the table of `by_layer` and `changed_parts` that of `parts`.
    """
    net = known(changed_parts[NET], "share")
    same = layers[layers.layer == "all"]["same side"]
    return (
        f"The invariant ratio γ|w|/σ grew over training in a share of "
        f"{span(grows.evidence, 'share')} of the channels (in most: {_told(grows)}). The size of "
        f"the weights makes a share of {span(scale.evidence, 'share')} of the movement of log γ/σ, "
        f"sizes of both parts summed over channels (less than half: {_told(scale)}); its share of "
        f"the net change is {net}. A share of {between(same.min(), same.max(), 'share')} of the "
        "channels ends on the side of γ/σ = 1 on which initialization put them."
    )


def _told(verdict: Verdict) -> str:
    return told(verdict.claim.key, verdict.word)
