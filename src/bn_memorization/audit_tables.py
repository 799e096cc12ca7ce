"""An audit for readers: its tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown
from pandas.io.formats.style import Styler

from bn_memorization import audit
from bn_memorization.audit import Audited
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, Saved
from bn_memorization.audit_sentences import ATTACK, NO_BN, PLANTED, percent
from bn_memorization.control_claims import told
from bn_memorization.judging import Verdict
from bn_memorization.report import between, number, readable

FPR = 0.01


def given(config: AuditConfig, images: Images, saved: Saved | None, profile: str) -> Styler:
    """Return what is audited, a row a fact."""
    height, width = images.pixels.shape[1:3]
    marks = "none" if images.member is None else f"{images.member.sum()} images marked"
    facts = {
        "network": config.factory,
        "its code (sha256 of the one file)": config.code_sha256[:12] or "no file",
        "images": f"{len(images.labels)} of {images.available}, {height} x {width} pixels",
        "classes": str(len(images.classes)),
        "saved weights": "none" if saved is None else "given, and they fit",
        "marks of members": marks,
        "profile": profile,
    }
    return readable(pd.DataFrame({"given": facts.keys(), "value": facts.values()}))


def ratios(
    audited: Audited, saved: Saved | None, names: Sequence[str], profile: str
) -> Styler | Markdown:
    """Return gamma/sigma by layer, of all shadow models and of the saved network, if any."""
    if not names:
        return Markdown(NO_BN)
    table = _by_layer(audited.ratio, audited.bn_layer, names, "shadow models")
    if saved is not None:
        own = _by_layer(saved.ratio[None], audited.bn_layer, names, "saved network")
        table = table.join(own.drop(columns=["layer", "channels"]))
    return readable(table.assign(profile=profile))


def _by_layer(
    ratio: np.ndarray, bn_layer: np.ndarray, names: Sequence[str], whose: str
) -> pd.DataFrame:
    found = audit.layers(ratio, bn_layer, names)
    return pd.DataFrame(
        {
            "layer": [f"{place} ({name})" for place, name in enumerate(found.layer, start=1)],
            "channels": found.channels,
            f"median γ/σ, {whose}": [f"{value:.2f}" for value in found["median"]],
            f"above 1, {whose}": [percent(value) for value in found.above],
        }
    )


def largest(
    images: Images, audited: Audited, place: np.ndarray, rows: np.ndarray, profile: str
) -> Styler:
    """Return the images in `rows`, a row each: where it is, its label, and what speaks for it."""
    seen = audit.held_out(audited)
    return readable(
        pd.DataFrame(
            {
                "image": [images.names[row] for row in rows],
                "label in training": [images.classes[audited.given_label[row]] for row in rows],
                "gradient at least that of": [percent(place[row]) for row in rows],
                "so predicted unseen": [percent(seen[row]) for row in rows],
                "planted": ["yes" if audited.planted[row] else "" for row in rows],
                "profile": profile,
            }
        )
    )


def leakage(audited: Audited, profile: str) -> Styler:
    """Return how the shadow models tell of their members, a row a number.

    The attack is scored among the images as they came; accuracies are of the label in training.
    """
    aucs, everyone = audit.attack_aucs(audited), audit.attack_aucs_with_planted(audited)
    found = audit.tpr(audited, FPR)
    beside = {"AUC of LiRA, planted labels among them": f"{everyone.mean():.3f}"}
    rows = {
        "AUC of LiRA, mean over pairs": f"{aucs.mean():.3f}",
        "AUC of LiRA, lowest and highest pair": f"{aucs.min():.3f} and {aucs.max():.3f}",
        **(beside if audited.planted.any() else {}),
        f"members found at {percent(FPR)} false positives": (
            "not resolvable" if found is None else percent(found)
        ),
        "accuracy on members": percent(audit.accuracy(audited, True)),
        "accuracy on the other images": percent(audit.accuracy(audited, False)),
    }
    table = pd.DataFrame({"over shadow models": rows.keys(), "value": rows.values()})
    return readable(table.assign(profile=profile))


def verdicts(found: Sequence[Verdict], profile: str) -> Styler:
    """Return the evidence of the audit's controls, a row each."""
    rows = []
    for verdict in found:
        (item,), claim = verdict.evidence, verdict.claim
        rows.append(
            {
                "control": claim.title,
                "AUC above one half": number(item.estimate, claim.unit),
                f"interval ({item.interval})": between(item.low, item.high, claim.unit),
                "n": item.n,
                "profile": profile,
                "verdict": told(claim.key, verdict.word),
            }
        )
    return readable(pd.DataFrame(rows))


def units(found: Sequence[Verdict]) -> list[str]:
    """Return what the axes of the verdicts' picture show, short enough to stand side by side."""
    short = {ATTACK: "attack (points)", PLANTED: "planted (points)"}
    return [short[verdict.claim.key] for verdict in found]
