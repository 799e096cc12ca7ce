"""An audit for readers: the sentences that say what was found."""

from collections.abc import Callable, Sequence
from pathlib import PurePath

from bn_memorization import audit
from bn_memorization.audit import Audited
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, Saved
from bn_memorization.judging import NOT_TESTABLE, PARTLY, REPRODUCED, Verdict
from bn_memorization.report import NO_BREAK, count
from bn_memorization.stats import Gap, auc, share_interval

ATTACK, PLANTED = "audit_attack", "audit_planted"
# Members are said to be given away where the whole interval of the attack's AUC lies above this.
STRONG = 0.6
NO_BN = (
    "The network has no batch normalization layer with gamma and running statistics, so there is "
    "no γ/σ to report. The other parts of the audit do not need one."
)
_MUCH = "Trained so, such a network gives its members away"
_LEAKS = {
    REPRODUCED: "Trained so, such a network says more about who is a member than guessing does",
    PARTLY: "Trained so, such a network may say more about who is a member than guessing does; the "
    "interval reaches guessing",
    NOT_TESTABLE: "Too few shadow models to decide whether members are told from others",
}
_NO_LEAK = "No leak was found with this budget, which does not show that there is none"


def percent(share: float) -> str:
    """Return a share as text, in percent."""
    return f"{100 * share:.0f}{NO_BREAK}%"


def where(config: AuditConfig) -> dict[str, str]:
    """Return the setting that the audit's verdicts are about, its names cut to their ends."""
    images = PurePath(config.images).name or config.images
    return {"network": ".".join(config.factory.split(".")[-2:]), "images": images}


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
    aucs = audit.planted_aucs(audited)
    if not len(aucs):
        return f"{told} Too few are among the members of each model to check the list."
    told += (
        " Among the members, their gradients are larger than another member's with a chance of "
        f"{_interval(share_interval(aucs), '{:.2f}'.format)}."
    )
    if _of(found, PLANTED) is None:
        told += " Every label of a member is fitted, and of that the control says nothing."
    return told


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
    low, high = max(audit.GUESS - reach, 0.0), min(audit.GUESS + reach, 1.0)
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
        "Does such a network give its members away?": leaks(audited, found),
        "Does the saved network?": saved_attack(audited, images, saved),
    }
    return "\n".join(f"- **{question}** {finding}" for question, finding in answers.items())


def leaks(audited: Audited, found: Sequence[Verdict]) -> str:
    """Return a sentence on the attack's verdict, and its AUC without and with planted labels."""
    verdict = _of(found, ATTACK)
    told = _LEAKS.get(verdict.word, _NO_LEAK)
    if verdict.word == REPRODUCED and audit.GUESS + verdict.evidence[0].low > STRONG:
        told = _MUCH
    aucs = audit.attack_aucs(audited)
    told += f": AUC of LiRA {_interval(share_interval(aucs), '{:.2f}'.format)}"
    if not audited.planted.any():
        return f"{told}."
    return f"{told}, and {audit.attack_aucs_with_planted(audited).mean():.2f} with planted labels."


def answer(config: AuditConfig, audited: Audited, found: Sequence[Verdict]) -> str:
    """Return the chapter's answer in plain text."""
    models, n = audited.keep.shape
    return (
        f"Audited: {where(config)['network']}, {models} shadow models on halves of {n} "
        f"images. {leaks(audited, found)} {planted(audited, found)}"
    )


def _of(found: Sequence[Verdict], key: str) -> Verdict | None:
    return next((verdict for verdict in found if verdict.claim.key == key), None)


def _above(audited: Audited, saved: Saved | None) -> str:
    told = f"{_interval(audit.share_above_one(audited), percent)} in the shadow models"
    own = "" if saved is None else f", {percent((saved.ratio > 1).mean())} in the saved network"
    return f"{told}{own}."


def _interval(gap: Gap, text: Callable[[float], str]) -> str:
    ends = f"{text(gap.low)} to {text(gap.high)}"
    return f"{text(gap.estimate)} ({ends}, 95 % t over {count(gap.n, 'pair')})"
