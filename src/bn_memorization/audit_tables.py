"""An audit for readers: its tables, and the sentences that say what they mean."""

from collections.abc import Callable, Sequence
from pathlib import PurePath

import numpy as np
import pandas as pd
from IPython.display import Markdown
from pandas.io.formats.style import Styler

from bn_memorization import audit
from bn_memorization.audit import Audited
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, Saved
from bn_memorization.control_claims import told
from bn_memorization.judging import NOT_TESTABLE, PARTLY, REPRODUCED, Verdict
from bn_memorization.report import NO_BREAK, between, count, number, readable
from bn_memorization.stats import auc

FPR = 0.01
ATTACK, PLANTED = "audit_attack", "audit_planted"
NO_BN = (
    "The network has no batch normalization layer with gamma and running statistics, so there is "
    "no γ/σ to report. The other parts of the audit do not need one."
)
_LEAKS = {
    REPRODUCED: "Trained so, such a network gives its members away",
    PARTLY: "Trained so, such a network may give its members away; the interval reaches guessing",
    NOT_TESTABLE: "Too few shadow models to decide whether members are given away",
}
_NO_LEAK = "No leak was found with this budget, which does not show that there is none"


def percent(share: float) -> str:
    """Return a share as text, in percent."""
    return f"{100 * share:.0f}{NO_BREAK}%"


def where(config: AuditConfig) -> dict[str, str]:
    """Return the setting that the audit's verdicts are about, its names cut to their ends."""
    images = PurePath(config.images).name or config.images
    return {"network": ".".join(config.factory.split(".")[-2:]), "images": images}


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
    return _escaped(pd.DataFrame({"given": facts.keys(), "value": facts.values()}))


def _escaped(frame: pd.DataFrame) -> Styler:
    # Names of files and folders come from a reader's disk and are shown as they stand.
    return readable(frame).format(escape="html")


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
            "layer": found.layer,
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
    return _escaped(
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
    """Return how the shadow models give their members away, a row a number."""
    aucs = audit.attack_aucs(audited)
    found = audit.tpr(audited, FPR)
    rows = {
        "AUC of LiRA, mean over pairs": f"{aucs.mean():.3f}",
        "AUC of LiRA, lowest and highest pair": f"{aucs.min():.3f} and {aucs.max():.3f}",
        f"members found at {percent(FPR)} false positives": (
            "not resolvable" if found is None else percent(found)
        ),
        "accuracy on members": percent(audit.accuracy(audited, True)),
        "accuracy on the other images": percent(audit.accuracy(audited, False)),
    }
    table = pd.DataFrame({"over shadow models": rows.keys(), "value": rows.values()})
    return readable(table.assign(profile=profile))


def how_measured(audited: Audited) -> str:
    """Return a sentence on how the gradient norms were found."""
    if audited.fast:
        return "The norms come from one pass for many images: every layer has a rule for that."
    return (
        "A layer of this network has no rule for norms of many images in one pass, so each image "
        "had a pass of its own, which is slower and gives the same numbers."
    )


def planted(audited: Audited, found: Sequence[Verdict]) -> str:
    """Return a sentence on the labels that were flipped on purpose."""
    number = int(audited.planted.sum())
    if not number:
        return "No label was flipped on purpose (planted_rate is 0), so nothing checks the list."
    told = f"{count(number, 'label')} of {len(audited.planted)} were flipped on purpose."
    verdict = _of(found, PLANTED)
    if verdict is None:
        return f"{told} Too few are among the members of each model to check the list."
    return (
        f"{told} Among the members, their gradients are larger than another member's with a chance "
        f"of {_auc(verdict)}."
    )


def saved_attack(audited: Audited, images: Images, saved: Saved | None) -> str:
    """Return what the attack finds on the reader's own network, or why there is no answer."""
    kind = "a network of this kind, trained so, gives away."
    if saved is None:
        return (
            "No saved network was given (weights is none), so the shadow models alone are "
            f"attacked. They say how much {kind}"
        )
    found = audit.of_saved(audited, saved.phi, images.member)
    if found is None:
        return (
            "Nothing tells the images that the saved network was trained on from others, so an "
            "attack on it cannot be scored. An array named member in the .npz file would; the "
            f"shadow models say how much {kind}"
        )
    score, member = found
    value, reach = auc(score, member), audit.by_chance(member)
    low, high = audit.GUESS - reach, audit.GUESS + reach
    beyond = "inside" if low <= value <= high else "outside"
    return (
        f"The attack on the saved network has an AUC of {value:.2f} over "
        f"{count(len(member), 'image')}. An attack that finds nothing stays within {low:.2f} and "
        f"{high:.2f} for 95 % of images so marked: this one is {beyond}."
    )


def page(audited: Audited, images: Images, saved: Saved | None, found: Sequence[Verdict]) -> str:
    """Return the verdict on one page: a question and what was found, one under the other."""
    above = _above(audited, saved) if audited.bn_layer.size else NO_BN
    answers = {
        "How many channels have γ/σ above 1?": above,
        "Are wrong labels among the largest gradients?": planted(audited, found),
        "Does such a network give its members away?": leaks(found),
        "Does the saved network?": saved_attack(audited, images, saved),
    }
    return "\n".join(f"- **{question}** {finding}" for question, finding in answers.items())


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


def leaks(found: Sequence[Verdict]) -> str:
    """Return a sentence on the attack's verdict."""
    verdict = _of(found, ATTACK)
    return f"{_LEAKS.get(verdict.word, _NO_LEAK)}: AUC of LiRA {_auc(verdict)}."


def answer(config: AuditConfig, audited: Audited, found: Sequence[Verdict]) -> str:
    """Return the chapter's answer in plain text."""
    models, n = audited.keep.shape
    return (
        f"Audited: {where(config)['network']}, {models} shadow models on halves of {n} "
        f"images. {leaks(found)} {planted(audited, found)}"
    )


def _of(found: Sequence[Verdict], key: str) -> Verdict | None:
    return next((verdict for verdict in found if verdict.claim.key == key), None)


def _auc(verdict: Verdict) -> str:
    (item,) = verdict.evidence
    ends = (audit.GUESS + value for value in (item.estimate, item.low, item.high))
    return _interval(*ends, item.n, "{:.2f}".format)


def _above(audited: Audited, saved: Saved | None) -> str:
    gap = audit.share_above_one(audited)
    told = f"{_interval(gap.estimate, gap.low, gap.high, gap.n, percent)} in the shadow models"
    own = "" if saved is None else f", {percent((saved.ratio > 1).mean())} in the saved network"
    return f"{told}{own}."


def _interval(estimate: float, low: float, high: float, n: int, text: Callable) -> str:
    low, high = max(low, 0.0), min(high, 1.0)  # no share and no AUC lies beyond
    return f"{text(estimate)} ({text(low)} to {text(high)}, 95 % t over {count(n, 'pair')})"
