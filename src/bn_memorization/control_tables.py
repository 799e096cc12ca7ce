"""Tables and sentences of the controls, with nothing computed but counts."""

import math
from collections.abc import Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from bn_memorization.config import SETTING
from bn_memorization.control_claims import told
from bn_memorization.control_gates import REASON
from bn_memorization.controls import FIXED, MATCHINGS, UNITS
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.memorization import final_accuracy
from bn_memorization.report import (
    MINUS,
    between,
    cell,
    count,
    name,
    number,
    readable,
    setting,
    span,
)
from bn_memorization.stats import Gap
from bn_memorization.train import Run
from bn_memorization.tuning import RULES

NOT_CLEAR = "gap at equal epochs not clear of zero"


def _setting(row: dict) -> str:
    return setting({key: row[key] for key in SETTING})


def _effect(gap: Gap, unit: str) -> str:
    return f"{number(gap.estimate, unit)} ({between(gap.low, gap.high, unit)})"


def left(shares: pd.DataFrame, profile: str) -> Styler:
    """Return what is left of each gap under every matching, from `controls.shares_left`."""
    rows = [
        {
            "setting": _setting(row),
            "gap in": row["quantity"],
            "matching": row["matching"],
            "gap (95 % t interval)": _effect(row["gap"], UNITS[row["quantity"]]),
            "share left (95 % Fieller interval)": _share(row["share"], row["matching"]),
            "n": row["gap"].n,
            "profile": profile,
        }
        for row in shares.to_dict("records")
    ]
    return readable(pd.DataFrame(rows))


def clear(shares: pd.DataFrame) -> str:
    """Return a sentence on the matchings under which each gap lies above zero with its interval."""
    parts = []
    for quantity, part in shares[shares.matching.isin(MATCHINGS)].groupby("quantity", sort=False):
        settings = part.groupby("matching", sort=False)
        held = [key for key, of in settings if all(gap.low > 0 for gap in of["gap"])]
        parts.append(f"{quantity}: {', '.join(held) or 'none'}")
    return (
        "The interval lies above zero in every setting under these matchings. "
        f"{'; '.join(part[0].upper() + part[1:] for part in parts)}."
    )


def _share(share: Gap | None, matching: str) -> str:
    if matching == FIXED:
        return "all"
    if share is None:
        return NOT_CLEAR
    ends = [cell("", end) for end in (share.estimate, share.low, share.high)]
    return f"{ends[0]} ({ends[1]} to {ends[2]})".replace("-", MINUS)


def verdicts(found: Sequence[Verdict], profile: str) -> Styler:
    """Return all verdicts with their evidence, a row a control and setting."""
    rows = [
        {
            "control": verdict.claim.title,
            "setting": setting(item.where),
            "effect": number(item.estimate, verdict.claim.unit),
            "interval": between(item.low, item.high, verdict.claim.unit),
            "interval is": item.interval,
            "n": item.n,
            "holds above": number(verdict.claim.threshold, verdict.claim.unit),
            "profile": profile,
            "verdict": told(verdict.claim.key, word),
        }
        for verdict in found
        for item, word in zip(verdict.evidence, verdict.words, strict=True)
    ]
    return readable(pd.DataFrame(rows))


def rates(found: pd.DataFrame, profile: str) -> Styler:
    """Return the table of `tuning.rates` for readers."""
    rows = []
    for row in found.to_dict("records"):
        shown = {"setting": _setting(row), "arm": name(row["norm"]), "rate": f"{row['lr']:g}"}
        shown |= {name(key): cell(key, row[key]) for key in ("corrupted", "clean", "test")}
        shown["spread on test"] = cell("", row["spread"])
        shown["clean loss"] = f"{row['clean_loss']:.3f}"
        shown |= {f"seeds for {rule}": row[rule] for rule in RULES}
        rows.append(shown | {"profile": profile})
    return readable(pd.DataFrame(rows))


def at_edge(found: pd.DataFrame) -> str:
    """Return a sentence on how many of the rates chosen are the lowest or highest tried."""
    edges = found.lr.isin([found.lr.min(), found.lr.max()])
    parts = [f"{found[rule][edges].sum()} of {found[rule].sum()} by {rule}" for rule in RULES]
    return (
        f"Of the rates chosen, {' and '.join(parts)} are the lowest or the highest that was tried: "
        "beyond these there may be better ones."
    )


def standings(found: pd.DataFrame, profile: str) -> Styler:
    """Return where each norm stands, from `norm_controls.standings`."""
    rows = []
    for row in found.to_dict("records"):
        shown = {"setting": _setting(row), "arm": name(row["norm"])}
        shown |= {name(key): cell(key, row[key]) for key in ("corrupted", "clean", "test")}
        shown["clean loss"] = f"{row['clean_loss']:.3f}"
        shown["γ/σ"] = "none" if pd.isna(row["ratio"]) else f"{row['ratio']:.2f}"
        shown["AUC (small pools, their batch size)"] = f"{row['auc']:.3f}"
        rows.append(shown | {"profile": profile})
    return readable(pd.DataFrame(rows))


def norm_gaps(found: pd.DataFrame, profile: str) -> Styler:
    """Return the gaps of each norm to plain and of BN to it, from `norm_controls.standings`."""
    heads = {
        "to_plain": "minus plain",
        "to_plain_equal": "minus plain, equal clean loss",
        "bn_minus": "BN minus it",
        "bn_minus_equal": "BN minus it, equal clean loss",
    }
    rows = [
        {"setting": _setting(row), "arm": name(row["norm"])}
        | {head: _gap(row[key]) for key, head in heads.items()}
        | {"n": row["n"], "profile": profile}
        for row in found.to_dict("records")
    ]
    return readable(pd.DataFrame(rows))


def _gap(gap: Gap | str) -> str:
    return gap if isinstance(gap, str) else _effect(gap, "accuracy")


def how_far(runs: Sequence[Run]) -> str:
    """Return a sentence on how far each arm got by the end of its runs: the range over runs."""
    parts = []
    for norm in dict.fromkeys(run.config.norm for run in runs):
        own = [run for run in runs if run.config.norm == norm]
        ends = []
        for subset in ("clean", "corrupted"):
            values = [final_accuracy(subset)(run) for run in own]
            low, high = (cell("", end) for end in (min(values), max(values)))
            ends.append(f"{low if low == high else f'{low} to {high}'} of the {subset} samples")
        parts.append(f"{name(norm)} has fitted {' and '.join(ends)}")
    epochs = count(max(run.config.epochs for run in runs), "epoch")
    return f"After {epochs}, {'; '.join(parts)}."


# How the answer names what each control measured, in the order in which it tells them.
ACCURACY_TOLD = {
    "matched_tuned": "with a learning rate tuned for each arm",
    "matched_loss": "at equal clean training loss",
    "matched_test": "at equal test accuracy",
    "matched_fitted": "after the long runs",
}
LOSS_TOLD = {"matched_corrupted_loss": "at equal clean training loss"}
GRADIENT_TOLD = {"matched_gradient": "on the way to equal clean training loss"}
ATTACK_TOLD = {
    "matched_attack_clean": "with no outliers at equal loss on clean members",
    "matched_attack_1": "with 1 % outliers there",
    "matched_attack_5": "with 5 % outliers there",
    "fitted_attack": "on the small pools after the long runs",
}
# These are told by what they state.
STATED = ("norm_gamma", "norm_statistics", "norm_other", "batch_sizes")


def answer(fixed: Sequence[Evidence], verdicts: Sequence[Verdict]) -> str:
    """Return the chapter's answer in plain sentences: each gap at equal epochs, then matched.

    A control that has no verdict for these parameters is left out.
    """
    found = {verdict.claim.key: verdict for verdict in verdicts}

    def listed(told_as: dict[str, str]) -> str:
        return _joined([_told(found[key], words) for key, words in told_as.items() if key in found])

    text = (
        "After equal epochs at one learning rate, the gap in accuracy on corrupted samples between "
        f"BN and the plain network is {span(fixed, 'accuracy')}. It is {listed(ACCURACY_TOLD)}."
    )
    starts = {
        "The gap in their loss": LOSS_TOLD,
        "Cliff's delta of their gradient norms": GRADIENT_TOLD,
        "The attack's gap in AUC": ATTACK_TOLD,
    }
    for start, told_as in starts.items():
        if parts := listed(told_as):
            text += f" {start} is {parts}."
    return "".join([text, *(f" {_stated(found[key])}." for key in STATED if key in found)])


def _told(verdict: Verdict, words: str) -> str:
    if reasons := _reasons(verdict):
        return f"not told {words} ({reasons})"
    claim = verdict.claim
    # Zero goes without saying.
    bound = f"{claim.direction} {number(claim.threshold, claim.unit)}: " if claim.threshold else ""
    return f"{_effects(verdict)} {words} ({bound}{told(claim.key, verdict.word)})"


def _stated(verdict: Verdict) -> str:
    """Return what a control states, with its word and what was found."""
    statement = verdict.claim.statement.rstrip(".")
    if reasons := _reasons(verdict):
        return f"{statement}: no verdict ({reasons})"
    return f"{statement}: {told(verdict.claim.key, verdict.word)} ({_effects(verdict)})"


def _effects(verdict: Verdict) -> str:
    """Return the range of the estimates that have an interval, of all where none has."""
    read = [item for item in verdict.evidence if not math.isnan(item.low)]
    return span(read or verdict.evidence, verdict.claim.unit)


def _reasons(verdict: Verdict) -> str:
    """Return why gates left a control without a verdict; nothing where they did not."""
    kinds = [item.interval for item in verdict.evidence]
    if not all(kind.startswith(REASON) for kind in kinds):
        return ""
    return "; ".join(dict.fromkeys(kind.removeprefix(REASON) for kind in kinds))


def _joined(parts: Sequence[str]) -> str:
    *most, last = parts or [""]
    return f"{', '.join(most)} and {last}" if most else last
