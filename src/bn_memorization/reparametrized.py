"""The penalty on gamma/sigma with the weights before BN held at their norms.

With |w| held, gamma/sigma and the invariant rho = gamma |w| / sigma differ by a constant of each
channel: then the penalty is one on rho, and cannot be met by letting |w| grow, which would also
lower the effective learning rate. Gains and costs are those of `tradeoff`, each side against its
own runs without a penalty.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from bn_memorization import experiments, tradeoff
from bn_memorization import tradeoff_tables as tables
from bn_memorization.config import NO_PENALTY, SETTING, ModelConfig, TrainConfig
from bn_memorization.control_claims import told
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.report import between, number, readable, setting, span
from bn_memorization.train import Run
from bn_memorization.trained_ratios import ratios

FREE, HELD = "free", "held"


def plan(parameters: Mapping[str, object]) -> list[TrainConfig | ModelConfig]:
    """Return the chapter's runs: chapter 5's, and both sides of the penalty."""
    return [*experiments.ratios(parameters), *free(parameters), *held(parameters)]


def free(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the runs without a penalty and with each, of the settings in `penalty_only`.

    With equal values they are runs of chapter 6. A LeNet has the sizes `penalty_train_size` and
    `penalty_epochs`, and all else is as for the other runs.
    """
    own = {name: parameters[f"penalty_{name}"] for name in ("train_size", "epochs")}
    penalties = [{}, *experiments.penalties(parameters)]
    return experiments.changed({**parameters, **own}, penalties, only="penalty_only")


def held(parameters: Mapping[str, object]) -> list[TrainConfig]:
    """Return the runs of `free`, in order, with the weights before BN held at their norms."""
    return [replace(config, hold_weights=True) for config in free(parameters)]


def reached(runs: Iterable[Run]) -> pd.DataFrame:
    """Return where channels ended, a row a setting, side and penalty, averaged over seeds.

    Columns: setting, penalty, weights (FREE or HELD), medians over channels of gamma/sigma, of
    rho, of |w| over its start and of the effective learning rate, |w|^-2, over its start; and
    through |w|: how much of what the penalty changed in log gamma/sigma, in the mean over channels
    against the same side and seed without it, is minus the change of log |w|. NaN without penalty.
    Raises ValueError where a penalized run has no twin without.
    """
    runs = list(runs)
    twins = {_twin(run.config): run for run in runs if run.config.penalty == NO_PENALTY}
    rows = []
    for run in runs:
        if _twin(run.config) not in twins:
            raise ValueError(f"{run.config.describe()} has no run without a penalty beside it.")
        rows.append(_end(run, twins[_twin(run.config)]))
    key = ["setting", "penalty", "weights"]
    return pd.DataFrame(rows).groupby(key, sort=False).mean().reset_index()


def _twin(config: TrainConfig) -> TrainConfig:
    return replace(config, penalty=NO_PENALTY, penalty_weight=0.0, penalty_target=1.0)


def _end(run: Run, without: Run) -> dict[str, object]:
    config = run.config
    ratio, size = ratios(run)[-1], run.arrays["weight_norm"].astype(float)
    own = np.isfinite(size[0])
    growth = size[-1, own] / size[0, own]
    method, strength = tradeoff.remedy(config, lr=config.lr, weight_decay=config.weight_decay)
    return {
        "setting": setting({name: getattr(config, name) for name in SETTING}),
        "penalty": f"{method} {strength}" if strength else "none",
        "weights": HELD if config.hold_weights else FREE,
        "γ/σ": np.median(ratio[own]),
        "γ|w|/σ": np.median(ratio[own] * size[-1, own]),
        "|w|": np.median(growth),
        "effective rate": np.median(growth**-2),
        "through |w|": _through_size(run, without),
    }


def _through_size(run: Run, without: Run) -> float:
    if run.config.penalty == NO_PENALTY:
        return float("nan")
    sizes = [one.arrays["weight_norm"][-1].astype(float) for one in (run, without)]
    own = np.isfinite(sizes[0])
    fell = np.log(ratios(without)[-1, own] / ratios(run)[-1, own]).mean()
    return float(np.log(sizes[0][own] / sizes[1][own]).mean() / fell)


def table(verdicts: Sequence[Verdict], profile: str) -> Styler:
    """Return the evidence of several verdicts as one table for readers, a row a setting of each."""
    rows = [
        {
            "statement": verdict.claim.title,
            "setting": setting(item.where),
            "effect": number(item.estimate, verdict.claim.unit),
            f"interval ({item.interval})": between(item.low, item.high, verdict.claim.unit),
            "n": item.n,
            "profile": profile,
            "verdict": told(verdict.claim.key, word),
        }
        for verdict in verdicts
        for item, word in zip(verdict.evidence, verdict.words, strict=True)
    ]
    return readable(pd.DataFrame(rows))


def comparison(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the chosen rows of both sides as a table for readers, gains and costs in intervals."""
    return pd.concat(
        [tables.comparison(frame).assign(weights=side) for side, frame in rows.items()],
        ignore_index=True,
    )


def apart(
    outcomes: Mapping[str, pd.DataFrame], rows: Mapping[str, pd.DataFrame]
) -> dict[str, list[Evidence]]:
    """Return accuracy on corrupted samples with weights free minus held, paired by seed.

    Under "without": of the runs without a penalty; under "with": of the chosen rows. The gain with
    weights free minus that with weights held is the first minus the second. `outcomes` and `rows`
    are the two sides' tables of `tradeoff.outcomes` and `tradeoff.chosen`.
    """
    without = {side: frame[frame.method == tradeoff.NOTHING] for side, frame in outcomes.items()}
    return {
        name: tradeoff.further(sides[FREE], sides[HELD], "corrupted")
        for name, sides in {"without": without, "with": rows}.items()
    }


def split(gap: Mapping[str, Sequence[Evidence]]) -> str:
    """Return a sentence on the two parts of the difference of the gains, from `apart`."""
    one, two = (_spanned(gap[name]) for name in ("without", "with"))
    return (
        f"Without a penalty, accuracy on corrupted samples with weights free minus held is {one}; "
        f"with the chosen penalty it is {two}. The difference of the gains is the first minus "
        "the second."
    )


def _spanned(evidence: Sequence[Evidence]) -> str:
    reach = [end for item in evidence for end in (item.low, item.high)]
    interval = between(min(reach), max(reach), "accuracy")
    return f"{span(evidence, 'accuracy')} (95 % t interval over seeds {interval})"


def answer(
    verdicts: Sequence[Verdict],
    rows: Mapping[str, pd.DataFrame],
    gap: Mapping[str, Sequence[Evidence]],
    ends: pd.DataFrame,
) -> str:
    """Return the answer of the second half in plain sentences.

    `verdicts` are on the gain and the cost with weights held and on how much more is gained with
    weights free, `rows` the chosen rows of both sides, `gap` is that of `apart` and `ends` that of
    `reached`.
    """
    gain, cost = (span(verdict.evidence, "accuracy") for verdict in verdicts[:2])
    words = [told(verdict.claim.key, verdict.word) for verdict in verdicts]
    means = {side: number(frame.gain.mean(), "accuracy") for side, frame in rows.items()}
    without, penalized = (span(gap[name], "accuracy") for name in ("without", "with"))
    shares = ends[ends.weights == FREE]["through |w|"]
    return (
        f"With the weights before BN held at their norms, no penalty minus penalty is {gain} of "
        f"accuracy on corrupted samples (at least ten points: {words[0]}) and {cost} of test "
        f"accuracy (at most one point: {words[1]}). The gain is {means[FREE]} with weights free "
        f"and {means[HELD]} with weights held (more with weights free: {words[2]}), but free minus "
        f"held is {without} without a penalty and {penalized} with it. Growing weights make a "
        f"share of {between(shares.min(), shares.max(), 'ratio')} of what the penalties change in "
        "log γ/σ."
    )
