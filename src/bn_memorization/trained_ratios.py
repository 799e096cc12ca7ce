"""gamma/sigma in trained networks: from finished runs to shares, tables and the chapter's answer.

The unit is the trained model: channels of one network are not independent of each other.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from bn_memorization.config import SETTING, TrainConfig
from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.ratios import batch_sigma, bn_layers, gamma_sigma, rescaled
from bn_memorization.report import count, span
from bn_memorization.resnet import Block
from bn_memorization.stats import share_interval
from bn_memorization.train import Run

ONE = 1.0


def ratios(run: Run) -> np.ndarray:
    """Return |gamma|/sigma of every BN channel with the running sigma, float64[E + 1, C].

    Raises BadInput for a run without BN, naming it.
    """
    gamma, sigma = (np.asarray(run.arrays[name], float) for name in ("gamma", "sigma"))
    if not gamma.size:
        raise BadInput(f"{run.config.describe()} has no BN channels, so no gamma/sigma.")
    return np.abs(gamma) / sigma


def share_above_one(run: Run) -> np.ndarray:
    """Return the share of all BN channels with |gamma|/sigma above 1 after each epoch, [E + 1].

    Row 0 says nothing: before training the running statistics are those the layer was made with
    (see `start_and_end`).
    """
    return (ratios(run) > ONE).mean(axis=1)


def evidence(runs: Iterable[Run]) -> list[Evidence]:
    """Return each setting's mean share of channels above 1 at the end, over trained models.

    Its t interval is cut at 0 and 1.
    """
    shares: dict[tuple, list[float]] = {}
    for run in runs:
        shares.setdefault(_setting(run), []).append(float(share_above_one(run)[-1]))
    return [
        Evidence.from_gap(dict(zip(SETTING, setting, strict=True)), share_interval(values))
        for setting, values in shares.items()
    ]


def share_curves(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the share above 1 in long form, from epoch 1: SETTING, seed, epoch, share."""
    return pd.concat(
        [
            _labeled(run, epoch=np.arange(1, run.config.epochs + 1), share=share_above_one(run)[1:])
            for run in runs
        ],
        ignore_index=True,
    )


def final_channels(runs: Iterable[Run]) -> pd.DataFrame:
    """Return the end of training, a row a channel and run: SETTING, seed, layer, ratio."""
    return pd.concat(
        [
            _labeled(run, layer=run.arrays["bn_layer"][-1].astype(int), ratio=ratios(run)[-1])
            for run in runs
        ],
        ignore_index=True,
    )


def by_layer(channels: pd.DataFrame) -> pd.DataFrame:
    """Return a row an architecture and layer, and one for all layers, from `final_channels`.

    Columns: arch, layer ("all" in the last row of an architecture), channels of one model, models,
    and the mean over models of the median ratio and of the share above 1.
    """
    rows = []
    for arch, frame in channels.groupby("arch", sort=False):
        for layer, part in [*frame.groupby("layer"), ("all", frame)]:
            models = part.groupby([*SETTING, "seed"]).ratio
            rows.append(
                {
                    "arch": arch,
                    "layer": str(layer),
                    "channels": int(models.size().iloc[0]),
                    "models": len(models),
                    "median ratio": models.median().mean(),
                    "share above 1": models.apply(lambda ratio: (ratio > ONE).mean()).mean(),
                }
            )
    return pd.DataFrame(rows)


def running_and_batch(model: nn.Module, x: Tensor, batch_size: int) -> pd.DataFrame:
    """Return `gamma_sigma` of a model with each channel's batch sigma beside the running one.

    `batch` is the mean of sigma over the batches of `batch_size` that x[N, ...] splits into, a rest
    left out; `ratio_batch` is |gamma| over it. Raises BadInput when x holds less than one batch.
    """
    whole = [part for part in x.split(batch_size) if len(part) == batch_size]
    if not whole:
        raise BadInput(f"{len(x)} images are no whole batch of {batch_size}.")
    frame = gamma_sigma(model).rename(columns={"sigma": "running"})
    frame["batch"] = np.mean([batch_sigma(model, part) for part in whole], axis=0, dtype=float)
    frame["ratio_batch"] = frame.gamma.abs() / frame.batch
    return frame


def behind_shrunk(model: nn.Module) -> set[int]:
    """Return the numbers of the BN layers behind weights that `resnet` starts at a smaller scale.

    These are the last ones of a ResNet's branches, numbered from 1 as in `ratios.channels`.
    """
    shrunk = {block.branch[-1] for block in model.modules() if isinstance(block, Block)}
    return {number for number, bn in enumerate(bn_layers(model).values(), 1) if bn in shrunk}


def start_and_end(run: Run, untrained: nn.Module, x: Tensor) -> pd.DataFrame:
    """Return one run's share above 1 before, early in and after training, a row a set of layers.

    `untrained` is the network that the run started from and x[N, ...] its training images. Columns:
    arch, BN layers, channels, the shares "before training" (batch sigma, the mean over batches),
    "after epoch 1" and "at the end" (running sigma), and the end's "median |gamma|".
    """
    before = running_and_batch(untrained, x, run.config.batch_size)
    shrunk = behind_shrunk(untrained)
    sets = {"all": np.full(len(before), True)}
    if shrunk:
        sets["not behind shrunk weights"] = (~before.layer.isin(shrunk)).to_numpy()
    ratio, gamma = ratios(run), np.abs(run.arrays["gamma"][-1])
    return pd.DataFrame(
        {
            "arch": run.config.arch,
            "BN layers": name,
            "channels": int(chosen.sum()),
            "before training": (before.ratio_batch[chosen] > ONE).mean(),
            "after epoch 1": (ratio[1, chosen] > ONE).mean(),
            "at the end": (ratio[-1, chosen] > ONE).mean(),
            "median |gamma|": float(np.median(gamma[chosen])),
        }
        for name, chosen in sets.items()
    )


def agreement(both: pd.DataFrame, config: TrainConfig, profile: str) -> str:
    """Return a sentence on how far batch and running sigma agree, from `running_and_batch`."""
    quotient = both.batch / both.running
    running, batch = ((ratio > ONE).mean() for ratio in (both.ratio, both.ratio_batch))
    return (
        f"In this network ({config.describe()}; {profile}) batch sigma is {quotient.median():.2f} "
        f"times the running one in the median channel, from {quotient.min():.2f} to "
        f"{quotient.max():.2f} times over all. The share of channels above one is {running:.2f} "
        f"with running and {batch:.2f} with batch sigma."
    )


@torch.no_grad()
def rescalings(
    model: nn.Module, x: Tensor, y: Tensor, factors: Sequence[float], *, scale_eps: bool = True
) -> pd.DataFrame:
    """Return what `ratios.rescaled` does to a model in eval mode, a row a factor c.

    Columns: c; median ratio and share above 1 over all channels; the largest change of any logit of
    x[N, ...] and the accuracy on (x, y[N]).
    """
    before = model(x)
    rows = []
    for c in factors:
        scaled = rescaled(model, c, scale_eps=scale_eps).eval()
        logits, ratio = scaled(x), gamma_sigma(scaled).ratio
        rows.append(
            {
                "c": c,
                "median ratio": ratio.median(),
                "share above 1": float((ratio > ONE).mean()),
                "largest change of a logit": (logits - before).abs().max().item(),
                "test accuracy": (logits.argmax(1) == y).double().mean().item(),
            }
        )
    return pd.DataFrame(rows)


def answer(verdict: Verdict, starts: pd.DataFrame, scaled: pd.DataFrame) -> str:
    """Return the chapter's answer in plain sentences: its verdict, and what bears on it.

    `starts` is that of `start_and_end`, `scaled` that of `rescalings`.
    """
    first = starts[starts["BN layers"] == "all"]["before training"]
    most = sum(item.estimate > verdict.claim.threshold for item in verdict.evidence)
    low, high = scaled["share above 1"].min(), scaled["share above 1"].max()
    moved = scaled["largest change of a logit"].max()
    change = f"changes no logit by more than {moved:.1g}" if moved else "changes no output"
    return (
        f"At the end of training the mean share of BN channels with γ/σ above 1 is "
        f"{span(verdict.evidence, 'share')}; it is above {verdict.claim.threshold:g} in {most} of "
        f"{count(len(verdict.evidence), 'setting')} ({verdict.word}). Before training, from the "
        f"initialization alone, it is {first.min():.2f} to {first.max():.2f} in one network an "
        "architecture. The share is not a property of what a network computes: rescaling the "
        f"weights before BN takes it from {low:.2f} to {high:.2f} in one network and {change}."
    )


def _setting(run: Run) -> tuple:
    return tuple(getattr(run.config, name) for name in SETTING)


def _labeled(run: Run, **columns: np.ndarray) -> pd.DataFrame:
    setting = dict(zip(SETTING, _setting(run), strict=True))
    return pd.DataFrame({**setting, "seed": run.config.seed, **columns})
