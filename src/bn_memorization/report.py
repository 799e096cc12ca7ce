"""What a chapter tells of its verdicts: the answer, the table, and how it was made.

Numbers reach the prose through here, as computed strings.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import pandas as pd
from IPython.display import Markdown
from myst_nb import glue
from pandas.io.formats.style import Styler

from bn_memorization import __version__
from bn_memorization.config import SETTING, WORDS
from bn_memorization.control_claims import told
from bn_memorization.corrupt import FLIP
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.train import Run

MINUS, NO_BREAK = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
NO_INTERVAL = "none"
NOT_MEASURED = "not measured"
NAMES = {
    "batch": "BN",
    "none": "plain",
    "group": "group norm",
    "layer": "layer norm",
    "affine": "scale and shift",
    "batch_fixed_gamma": "BN, gamma fixed at 1",
    "batch_cut": "BN, statistics as constants",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "lenet": "LeNet",
    "resnet8": "ResNet-8",
    "resnet18": "ResNet-18",
    "densenet22": "DenseNet-BC-22",
    "densenet40": "DenseNet-BC-40",
    "flip": "flipped labels",
    "ood": "foreign images",
    "noise": "noise images",
    "dataset": "data set",
    "arch": "architecture",
    "noise_rate": "share corrupted",
    "norm": "arm",
    "corrupted": "accuracy on corrupted",
    "clean": "on clean",
    "test": "on test",
}


def name(key: str) -> str:
    """Return how a data set, an architecture, a norm or a column is written for readers."""
    return NAMES.get(key, key)


def number(value: float, unit: str) -> str:
    """Return an effect as text: accuracies and AUCs in points, tiny errors in powers of ten."""
    if unit in ("accuracy", "AUC"):
        text = f"{100 * value:+z.1f} points"
    elif unit == "relative error":
        text = f"{value:.1e}" if value else "0"
    elif unit == "nats":
        text = f"{value:+z.2f} nats"
    elif unit == "exponent":
        text = f"{value:+z.2f}"
    elif unit in ("share", "ratio", "Cliff's delta"):
        text = f"{value:z.2f}"
    else:
        text = f"{value:+z.1f} {unit}"
    return text.replace("-", MINUS).replace(" ", NO_BREAK)


def between(low: float, high: float, unit: str) -> str:
    """Return two ends as text, with the unit once; the one number where they read the same.

    Ends that are NaN are no interval, and are told so.
    """
    if math.isnan(low) or math.isnan(high):
        return NO_INTERVAL
    first, last = number(low, unit), number(high, unit)
    return last if first == last else f"{first.partition(NO_BREAK)[0]} to {last}"


def unsigned(text: str) -> str:
    """Return the text of a size, which has no sign to tell."""
    return text.replace("+", "")


def span(evidence: Sequence[Evidence], unit: str) -> str:
    """Return the range of the estimates over settings as text; n = 0 is no estimate."""
    estimates = [item.estimate for item in evidence if item.n]
    return between(min(estimates), max(estimates), unit) if estimates else NOT_MEASURED


def count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural but for one."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def table(verdict: Verdict, profile: str) -> Styler:
    """Return a claim's evidence for readers: a row a setting, with interval, n and verdict.

    What the intervals are stands in the head, or in a column of its own where they differ.
    """
    unit = verdict.claim.unit
    kinds = {item.interval for item in verdict.evidence}
    head = f"interval ({kinds.pop()})" if len(kinds) == 1 else "interval"
    rows = []
    for item, word in zip(verdict.evidence, verdict.words, strict=True):
        rows.append(
            {
                "setting": setting(item.where),
                "effect": number(item.estimate, unit),
                head: between(item.low, item.high, unit),
                **({"interval is": item.interval} if kinds else {}),
                "n": item.n,
                "profile": profile,
                "verdict": told(verdict.claim.key, word),
            }
        )
    return readable(pd.DataFrame(rows))


def accuracies(means: pd.DataFrame, profile: str) -> Styler:
    """Return a table of accuracies for readers from that of `memorization.final_accuracies`."""
    where = means[[column for column in SETTING if column in means]]
    shown = {"setting": [setting(row) for row in where.to_dict("records")]}
    for column in means.columns.difference(SETTING, sort=False):
        shown[name(column)] = [cell(column, value) for value in means[column]]
    return readable(pd.DataFrame(shown).assign(profile=profile))


def readable(frame: pd.DataFrame) -> Styler:
    """Return the frame as a table without its index, with the same HTML for the same content.

    Text stays text: a parameter or a file's name may hold what a browser takes for markup.
    """
    digest = hashlib.sha256(frame.to_json().encode()).hexdigest()
    return frame.style.hide(axis="index").set_uuid(digest[:8]).format(escape="html")


def cell(key: str, value: object) -> str:
    """Return a table cell's text: shares in percent, names as readers know them."""
    if key == "noise_rate":
        return f"{100 * value:g}{NO_BREAK}%"
    return f"{100 * value:.1f}{NO_BREAK}%" if isinstance(value, float) else name(str(value))


def publish(verdicts: Sequence[Verdict], sentence: str, profile: str, norm: str = "batch") -> None:
    """Glue a chapter's answer for its first paragraph and the intro, and its verdicts as JSON.

    `sentence` is plain text: it also stands where no markup can. The claims are about BN; with
    another `norm` in its place the answer says so and gives no verdict.
    """
    words = list(dict.fromkeys(told(verdict.claim.key, verdict.word) for verdict in verdicts))
    word = words[0].capitalize() if len(words) == 1 else "Mixed: " + ", ".join(words)
    if norm != "batch":
        word = f"No verdict: the claims are about BN, and {name(norm)} stands in its place"
    glue("answer", Markdown(f"**{word}** ({profile} profile). {sentence}"), display=False)
    glue("answer_text", f"{word} ({profile} profile). {sentence}", display=False)
    glue("verdicts", json.dumps([plain(v) | {"profile": profile} for v in verdicts]), display=False)


def plain(verdict: Verdict) -> dict:
    """Return a verdict as JSON values: the claim's key, the word and a row for each setting."""
    rows = [
        asdict(item) | {"where": dict(item.where), "verdict": word}
        for item, word in zip(verdict.evidence, verdict.words, strict=True)
    ]
    return {"claim": verdict.claim.key, "word": verdict.word, "rows": rows}


def setting(where: Mapping[str, object]) -> str:
    """Return one line that names a setting, such as "MNIST, LeNet, 5 % flipped"."""
    corrupted = WORDS[where.get("corruption", FLIP)]
    return ", ".join(
        f"{100 * value:g}{NO_BREAK}% {corrupted}" if key == "noise_rate" else name(str(value))
        for key, value in where.items()
        if key != "corruption"  # said with its share
    )


def trained(runs: Sequence[Run], profile: str) -> Markdown:
    """Return a sentence on what was trained: how many models, on how many images and epochs."""
    sizes = dict.fromkeys((run.config.train_size, run.config.epochs) for run in runs)
    each = " or ".join(f"{images} images for {count(n, 'epoch')}" for images, n in sizes)
    seconds = sum(run.meta["seconds"] for run in runs)
    return Markdown(
        f"Profile {profile}: {count(len(runs), 'model')}, each on {each}; training took "
        f"{seconds:.0f} s, added over models."
    )


def provenance(runs: Iterable[Run] = ()) -> Styler:
    """Return what a chapter was made with, a row a fact: the package and the runs' records.

    Nothing here changes when the same records are read again.
    """
    facts = {"package": f"bn_memorization {__version__}"}
    metas = [run.meta for run in runs]
    if metas:
        facts["trained models"] = str(len(metas))
        facts["training time"] = f"{sum(meta['seconds'] for meta in metas):.0f} s over all models"
        for field in ("device", "threads", "machine"):
            facts[field] = _distinct(meta[field] for meta in metas)
        for package in ("python", "torch"):
            facts[package] = _distinct(meta["versions"][package] for meta in metas)
        facts["data (sha256)"] = _distinct(meta["data_sha256"][:12] for meta in metas)
        facts["commit"] = _distinct(_commit(meta["git"]) for meta in metas)
    return readable(pd.DataFrame(list(facts.items()), columns=["fact", "value"]))


def _distinct(values: Iterable[object]) -> str:
    return ", ".join(sorted({str(value) for value in values}))


def _commit(git: dict) -> str:
    if git["commit"] is None:
        return "not in a repository"
    return git["commit"][:12] + (" with changes" if git["dirty"] else "")
