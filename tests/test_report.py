import html
import json
import re
from dataclasses import replace

import pandas as pd
import planted
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdicts import NOT, PARTLY, REPRODUCED, UNTESTED, evidence, verdict

from bn_memorization import __version__, report
from bn_memorization.judging import Evidence
from bn_memorization.report import MINUS, NO_BREAK
from bn_memorization.train import Run


def spaced(text: str) -> str:
    """Return the text as typed: a plain space and a plain minus."""
    return text.replace(NO_BREAK, " ").replace(MINUS, "-")


def cells(styler) -> list[list[str]]:
    """Return the head and the rows of a table as its reader sees them."""
    rows = re.findall(r"<tr>(.*?)</tr>", styler.to_html(), re.S)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[spaced(html.unescape(text.strip())) for text in row] for row in found]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.1234, "accuracy", "+12.3 points"),
        (-0.005, "AUC", "-0.5 points"),
        (1.0, "accuracy", "+100.0 points"),
        (0.0, "accuracy", "+0.0 points"),
        (-0.0001, "accuracy", "+0.0 points"),  # rounds to zero, which has no minus
        (2.25, "epochs", "+2.2 epochs"),
        (-3, "epochs", "-3.0 epochs"),
        (-0.125, "nats", "-0.12 nats"),
        (1.5, "nats", "+1.50 nats"),
        (0.123, "share", "0.12"),
        (-0.5, "Cliff's delta", "-0.50"),
        (-0.001, "ratio", "0.00"),
        (1.234e-13, "relative error", "1.2e-13"),
        (0.0, "relative error", "0"),
    ],
)
def test_number(value, unit, text):
    assert spaced(report.number(value, unit)) == text


@given(st.floats(-1e6, 1e6), st.sampled_from(["accuracy", "epochs", "ratio", "relative error"]))
def test_no_number_breaks_across_lines_or_has_a_hyphen(value, unit):
    text = report.number(value, unit)
    assert " " not in text
    assert "-" not in text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (0.01, 0.125, "accuracy", "+1.0 to +12.5 points"),
        (-0.02, 0.03, "AUC", "-2.0 to +3.0 points"),
        (0.01, 0.01, "accuracy", "+1.0 points"),
        (0.01, 0.010001, "accuracy", "+1.0 points"),  # no range that reads as none
        (1, 2, "epochs", "+1.0 to +2.0 epochs"),
        (0.5, 0.75, "share", "0.50 to 0.75"),
        (0.0, 1e-12, "relative error", "0 to 1.0e-12"),
        (float("nan"), float("nan"), "epochs", report.NO_INTERVAL),
    ],
)
def test_between(low, high, unit, text):
    assert spaced(report.between(low, high, unit)) == text


def test_span_runs_over_the_estimates_not_the_intervals():
    assert spaced(report.span([PARTLY, NOT, REPRODUCED], "accuracy")) == "-20.0 to +20.0 points"
    assert spaced(report.span([PARTLY], "accuracy")) == "+10.0 points"


def test_span_leaves_out_what_was_not_measured():
    nothing = Evidence({}, 0.0, float("nan"), float("nan"), 0)
    found = Evidence({}, 0.5, 0.4, 0.6, 3)
    assert report.span([nothing, found], "exponent") == "+0.50"
    assert report.span([nothing], "exponent") == report.span([], "exponent") == "not measured"


def test_count():
    assert [report.count(n, "model") for n in (0, 1, 2)] == ["0 models", "1 model", "2 models"]


def test_names_are_those_readers_know():
    assert report.name("fashion_mnist") == "Fashion-MNIST"
    assert report.name("none") == "plain"
    assert report.name("something new") == "something new"
    assert report.setting(dict(NOT.where)) == "CIFAR-10, LeNet, 5\xa0% flipped"
    assert report.setting({"noise_rate": 0.07}) == "7\xa0% flipped"  # not 7.000000000000001
    assert report.setting({"noise_rate": 0.001, "network": "one channel"}) == (
        "0.1\xa0% flipped, one channel"
    )
    assert report.setting({}) == ""
    where = {"dataset": "cifar10", "arch": "densenet40", "corruption": "ood", "noise_rate": 0.01}
    assert report.setting(where) == "CIFAR-10, DenseNet-BC-40, 1\xa0% foreign images"
    assert report.setting(where | {"corruption": "noise"}).endswith("1\xa0% noise images")
    assert report.setting(where | {"corruption": "flip"}).endswith("1\xa0% flipped")


def test_table_has_a_row_a_setting():
    made = verdict(REPRODUCED, PARTLY, NOT, UNTESTED)
    head, *rows = cells(report.table(made, "smoke"))
    interval = f"interval ({REPRODUCED.interval})"
    assert head == ["setting", "effect", interval, "n", "profile", "verdict"]
    assert rows == [
        ["MNIST, LeNet, 5 % flipped", "+20.0 points", "+10.0 to +30.0 points", "4", "smoke",
         "reproduced"],
        ["Fashion-MNIST, LeNet, 1 % flipped", "+10.0 points", "-10.0 to +30.0 points", "4", "smoke",
         "partly"],
        ["CIFAR-10, LeNet, 5 % flipped", "-20.0 points", "-30.0 to -10.0 points", "4", "smoke",
         "not reproduced"],
        ["MNIST, LeNet, 5 % flipped", "+20.0 points", "+10.0 to +30.0 points", "2", "smoke",
         "not testable at this scale"],
    ]  # fmt: skip


def test_intervals_of_two_kinds_are_told_row_by_row():
    made = verdict(REPRODUCED, replace(PARTLY, interval="lower bound"))
    head, *rows = cells(report.table(made, "smoke"))
    assert head == ["setting", "effect", "interval", "interval is", "n", "profile", "verdict"]
    assert [row[2:5] for row in rows] == [
        ["+10.0 to +30.0 points", REPRODUCED.interval, "4"],
        ["-10.0 to +30.0 points", "lower bound", "4"],
    ]


def test_table_speaks_the_claims_unit():
    made = verdict(evidence(1, 2, 3), unit="epochs")
    assert cells(report.table(made, "quick"))[1][1:3] == ["+2.0 epochs", "+1.0 to +3.0 epochs"]


def test_accuracies_are_in_percent():
    means = pd.DataFrame(
        {
            "dataset": ["mnist"],
            "arch": ["lenet"],
            "noise_rate": [0.05],
            "norm": ["none"],
            "corrupted": [0.0625],
            "clean": [1.0],
            "test": [0.98765],
        }
    )
    assert cells(report.accuracies(means, "smoke")) == [
        ["setting", "arm", "accuracy on corrupted", "on clean", "on test", "profile"],
        ["MNIST, LeNet, 5 % flipped", "plain", "6.2 %", "100.0 %", "98.8 %", "smoke"],
    ]  # fmt: skip
    assert "profile" not in means  # the table given stays as it was


def test_equal_tables_have_equal_html_and_others_other_ids():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    html = report.readable(frame).to_html()
    assert html == report.readable(frame.copy()).to_html()
    other = report.readable(frame.assign(a=[1, 3])).to_html()
    identifier = r'<table id="(T_\w+)"'
    assert re.search(identifier, html)[1] != re.search(identifier, other)[1]


def test_tables_show_no_index():
    head, *rows = cells(report.readable(pd.DataFrame({"a": ["x"], "b": ["y"]}, index=["i"])))
    assert head == ["a", "b"]
    assert rows == [["x", "y"]]


@pytest.fixture
def published(monkeypatch) -> dict[str, object]:
    """Keep what is glued, and take nothing that shows as well."""
    kept = {}

    def glue(key, value, display):
        assert display is False
        kept[key] = value

    monkeypatch.setattr(report, "glue", glue)
    return kept


def test_publish_glues_one_answer_in_three_forms(published):
    report.publish([verdict(REPRODUCED), verdict(REPRODUCED)], "It fits more.", "smoke")
    assert set(published) == {"answer", "answer_text", "verdicts"}
    assert published["answer_text"] == "Reproduced (smoke profile). It fits more."
    assert published["answer"].data == "**Reproduced** (smoke profile). It fits more."


@pytest.mark.parametrize(
    ("verdicts", "head"),
    [
        ([verdict(NOT)], "Not reproduced (quick profile)."),
        ([verdict(UNTESTED), verdict(UNTESTED)], "Not testable at this scale (quick profile)."),
        ([verdict(REPRODUCED), verdict(NOT)], "Mixed: reproduced, not reproduced (quick profile)."),
        ([verdict(NOT), verdict(REPRODUCED)], "Mixed: not reproduced, reproduced (quick profile)."),
        ([verdict(REPRODUCED, NOT)], "Partly (quick profile)."),
    ],
)
def test_publish_never_hides_a_verdict(published, verdicts, head):
    report.publish(verdicts, "S.", "quick")
    assert published["answer_text"] == f"{head} S."


def test_published_verdicts_are_json_that_says_all(published):
    made = verdict(REPRODUCED, NOT)
    report.publish([made], "S.", "smoke")
    (read,) = json.loads(published["verdicts"])
    assert read == {
        "claim": made.claim.key,
        "word": "partly",
        "profile": "smoke",
        "rows": [
            {"where": dict(item.where), "estimate": item.estimate, "low": item.low,
             "high": item.high, "n": 4, "interval": item.interval, "verdict": word}
            for item, word in [(REPRODUCED, "reproduced"), (NOT, "not reproduced")]
        ],
    }  # fmt: skip


def run(
    seconds: float = 1.25, commit: str | None = "c" * 40, dirty: bool = False, **changes
) -> Run:
    meta = {
        "seconds": seconds,
        "device": "cpu",
        "threads": 1,
        "machine": "x86_64",
        "versions": {"python": "3.11.7", "torch": "2.0"},
        "data_sha256": "d" * 64,
        "git": {"commit": commit, "dirty": dirty},
    }
    return Run(planted.config(), {}, meta | changes)


def test_trained_counts_models_and_seconds():
    text = report.trained([run(1.25), run(2.5)], "smoke").data
    assert text == (
        "Profile smoke: 2 models, each on 48 images for 2 epochs; training took 4 s, added over "
        "models."
    )


def test_trained_names_every_size():
    deep = run()
    deep = Run(planted.config(train_size=50, epochs=7, arch="resnet8"), {}, deep.meta)
    assert "each on 48 images for 2 epochs or 50 images for 7 epochs;" in (
        report.trained([run(), deep, run()], "smoke").data
    )


def test_provenance_names_every_fact_once():
    runs = [run(), run(device="cuda", commit=None), run(dirty=True)]
    head, *rows = cells(report.provenance(runs))
    assert head == ["fact", "value"]
    facts = dict(rows)
    assert len(facts) == len(rows)
    assert facts == {
        "package": f"bn_memorization {__version__}",
        "trained models": "3",
        "training time": "4 s over all models",
        "device": "cpu, cuda",
        "threads": "1",
        "machine": "x86_64",
        "python": "3.11.7",
        "torch": "2.0",
        "data (sha256)": "d" * 12,
        "commit": f"{'c' * 12}, {'c' * 12} with changes, not in a repository",
    }


def test_provenance_without_runs():
    assert cells(report.provenance())[1:] == [["package", f"bn_memorization {__version__}"]]


def test_a_fact_is_text_and_no_markup():
    made = report.provenance([run(machine="<img src=x onerror=alert(1)>")]).to_html()
    assert "<img" not in made
    assert "&lt;img src=x onerror=alert(1)&gt;" in made


def test_provenance_is_the_same_for_the_same_records():
    runs = [run(), run(dirty=True)]
    assert report.provenance(runs).to_html() == report.provenance(iter(runs)).to_html()
