from dataclasses import replace

import numpy as np
import planted
import pytest

from bn_memorization import chapter, plain_settings
from bn_memorization.train import Run

PLACE = ("cifar10", "resnet8")


def run(clean, corrupted=0.5, **changes):
    """Return a run of one epoch that ends with these accuracies."""
    config = planted.config(dataset="cifar10", arch="resnet8", **changes)
    accuracy = np.array([[0.0, 0.0, 0.0], [corrupted, clean, 0.25]])
    return Run(config, {"accuracy": accuracy, "loss": 1 - accuracy})


def test_the_search_takes_each_deep_network_once_at_every_rate():
    values = chapter.plan("01_forced_memorization", "smoke").parameters
    values |= {"arch": ["lenet", "resnet8"], "only": ["*/*/*/*"], "dataset": ["mnist", "cifar10"]}
    values |= {"plain_lr": [0.3, 0.1], "plain_epochs": 7}
    found = plain_settings.search(values)
    assert [(c.dataset, c.arch, c.lr) for c in found] == [
        (dataset, "resnet8", lr) for dataset in ("mnist", "cifar10") for lr in (0.1, 0.3)
    ]
    assert {(c.norm, c.seed, c.epochs) for c in found} == {("none", 0, 7)}
    shared = [
        c
        for c in plain_settings.plan(values)
        if (c.norm, c.arch, c.seed) == ("none", "resnet8", 0) and c.epochs != 7
    ]
    for config in found:  # but for what is searched, runs of the chapter itself
        assert replace(config, lr=values["lr"], epochs=values["deep_epochs"]) in shared


def test_without_a_deep_network_nothing_is_searched_and_that_is_said():
    values = chapter.plan("01_forced_memorization", "smoke").parameters
    values |= {"arch": ["lenet"], "dataset": ["mnist"], "only": ["*/*/*/*"]}
    assert plain_settings.search(values) == []
    assert plain_settings.sentence(plain_settings.tried([], [])) == plain_settings.NO_DEEP


def test_what_was_tried_stands_beside_both_arms_of_the_same_seed():
    shared = [run(0.3, norm="none"), run(1.0, norm="batch"), run(0.4, norm="none", seed=1)]
    searched = [run(0.6, norm="none", lr=0.5), run(0.95, norm="none", lr=0.9)]
    assert plain_settings.tried(shared, searched) == {PLACE: [shared[1], shared[0], *searched]}


def test_the_best_is_the_plain_run_that_fits_most_clean_samples():
    runs = [run(1.0, norm="batch"), run(0.6, norm="none", corrupted=1.0), run(0.7, norm="none")]
    assert plain_settings.best(runs) is runs[2]
    table = plain_settings.table({PLACE: runs})
    assert table["best plain"].tolist() == ["", "", "best"]
    assert table["on clean"].str.startswith("70.0").tolist() == [False, False, True]


@pytest.mark.parametrize(("clean", "word"), [(0.9, " has learned "), (0.89, " has not learned ")])
def test_the_sentence_says_whether_the_network_has_learned_there(clean, word):
    runs = [run(1.0, norm="batch"), run(clean, norm="none", corrupted=0.25, lr=0.5)]
    told = plain_settings.sentence({PLACE: runs})
    assert word in told
    assert "learning rate 0.5" in told
    assert "25\N{NO-BREAK SPACE}%" in told
