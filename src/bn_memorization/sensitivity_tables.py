"""How much the attack's choices matter, for readers: tables and the chapter's answer."""

from collections.abc import Mapping, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from bn_memorization import calibration, report, sensitivity
from bn_memorization.control_claims import told
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.membership import Pool, mean_tpr
from bn_memorization.queries import VIEWS
from bn_memorization.report import (
    between,
    cell,
    count,
    name,
    number,
    readable,
    setting,
    span,
    unsigned,
)
from bn_memorization.sensitivity import Aucs, Pairs

UNRESOLVED = "not resolvable"
BN = "batch"  # the norm that the controls are about
RATE = 0.01  # false-positive rate at which the true-positive rate is shown


def _table(rows: Sequence[dict], caption: str) -> Styler:
    return readable(pd.DataFrame(rows)).set_caption(caption)


def _gap(item: Evidence) -> str:
    return f"{number(item.estimate, 'AUC')} ({between(item.low, item.high, 'AUC')})"


def choices(pairs: Pairs, ways: Mapping[str, Aucs], profile: str) -> Styler:
    """Return AUCs of both arms and their gap under each choice, a row a setting and choice."""
    rows = []
    for pair in pairs:
        for words, way in ways.items():
            (item,) = sensitivity.gaps([pair], way)
            aucs = {f"AUC, {name(pool.norm)}": f"{way(pool).mean():.3f}" for pool in pair}
            where = {"setting": setting(item.where), "attack": words}
            rows.append(where | aucs | {f"gap ({item.interval})": _gap(item), "n": item.n})
    return _table(rows, f"By choice of the attack ({profile}).")


def control(verdict: Verdict, profile: str, norm: str) -> Styler:
    """Return a control's evidence as `report.table` does, without verdicts where BN has no part."""
    shown = report.table(verdict, profile)
    return shown if norm == BN else shown.hide(axis="columns", subset=["verdict"])


def sizes(verdict: Verdict, changes: Sequence[Evidence], profile: str, norm: str) -> Styler:
    """Return the evidence on the size of a change, a row a setting, the change itself beside it."""
    rows = []
    for item, change, word in zip(verdict.evidence, changes, verdict.words, strict=True):
        row = {
            "setting": setting(item.where),
            "size of the change": unsigned(number(item.estimate, "AUC")),
            f"interval ({item.interval})": unsigned(between(item.low, item.high, "AUC")),
            "change of the gap": _gap(change),
            "n": item.n,
        }
        rows.append(row | ({"verdict": told(verdict.claim.key, word)} if norm == BN else {}))
    return _table(rows, f"Through float32 ({profile}). Of the size, no end is below zero.")


def ceiling(pairs: Pairs, profile: str) -> Styler:
    """Return the share of margins at float32's ceiling beside the largest true ones, by arm."""
    rows = []
    for pool in (pool for pair in pairs for pool in pair):
        shares = sensitivity.at_ceiling(pool).items()
        row = {"setting": setting(pool.where), "arm": name(pool.norm)}
        row |= {f"at the ceiling, {who}": cell("", share) for who, share in shares}
        rows.append(row | {"largest margin, float64": f"{pool.phi[-1].max():.1f}"})
    caption = f"The ceiling is a margin of {sensitivity.CEILING:.1f}. Shares over all models"
    return _table(rows, f"{caption} ({profile}).")


def views(pairs: Pairs, profile: str) -> Styler:
    """Return the share of members found at a low false-positive rate, by views and their use."""
    seen = {
        "one view": lambda pool: sensitivity.in_views(pool, 1),
        "six views, averaged": lambda pool: sensitivity.in_mean_view(pool, len(VIEWS)),
        "six views, stacked": lambda pool: sensitivity.in_views(pool, len(VIEWS)),
    }
    rows = []
    for pool in (pool for pair in pairs for pool in pair):
        row = {"setting": setting(pool.where), "arm": name(pool.norm)}
        rows.append(row | {words: _found(see(pool)) for words, see in seen.items()})
    n = len(pairs[0][0].keep)
    caption = f"TPR at {cell('noise_rate', RATE)} FPR, means over n = {n} models"
    return _table(rows, f"{caption} ({profile}).")


def _found(pool: Pool) -> str:
    share = mean_tpr(pool, RATE)
    return UNRESOLVED if share is None else cell("", share)


def known(
    n_models: int, many: int, n_samples: int, shift: float, seed: int, profile: str
) -> Styler:
    """Return AUCs on made views whose noise is independent, beside the right ones."""
    sizes = {"null": (n_models, 0.0), "few": (n_models, shift), "many": (many, shift)}
    found = {
        kind: calibration.views_attacked(len(VIEWS), models, n_samples, moved, seed)
        for kind, (models, moved) in sizes.items()
    }
    right = calibration.expected_of_views(len(VIEWS), shift)
    rows = [
        {
            "views": way,
            "no shift": f"{null.estimate:.3f} ({null.low:.3f} to {null.high:.3f})",
            "right": "0.500",
            f"shift, {n_models} models": f"{found['few'][way].estimate:.3f}",
            f"shift, {many} models": f"{found['many'][way].estimate:.3f}",
            "right with a shift": f"{right:.3f}",
        }
        for way, null in found["null"].items()
    ]
    return _table(rows, f"AUC on {len(VIEWS)} made views, d = {shift:g} in each ({profile}).")


def answer(
    declared: Sequence[Evidence],
    changes: Sequence[Evidence],
    verdicts: Sequence[Verdict],
    norm: str,
) -> str:
    """Return the chapter's answer in plain sentences: the gap as it is, and by choice.

    `changes` are those of the gap through float32; `verdicts` are those on mode, precision, models
    and queries, in this order. Where BN has no part their words are left out.
    """
    mode, precision, models, queries = (
        span(v.evidence, "AUC") + (f" ({told(v.claim.key, v.word)})" if norm == BN else "")
        for v in verdicts
    )
    return (
        f"In {count(len(declared), 'setting')} the AUC of the attack against {name(norm)} minus "
        f"that against the plain network is {span(declared, 'AUC')} as chapter 3 attacks. It is "
        f"{mode} with networks queried in training mode, {models} with half of the models, the "
        f"attacked pair included, and {queries} with six views of each image. Margins through "
        f"float32 probabilities move it by {span(changes, 'AUC')}, and in a pair of models by a "
        f"size of {unsigned(precision)}."
    )
