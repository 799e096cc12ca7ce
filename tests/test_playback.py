from dataclasses import replace

import numpy as np
import planted
import pytest

from bn_memorization import live, playback
from bn_memorization.sample import corrupt
from bn_memorization.train import Run

EPOCHS = 3


def run(norm, seed=0, **changes):
    """Return a run of which the epoch k fits every sample but each (k + 2)-th one."""
    config = planted.config(norm=norm, seed=seed, epochs=EPOCHS, **changes)
    count = len(corrupt(config, planted.planted_set()).index)
    shift = 0 if norm == "batch" else 1
    fitted = [[(i + shift) % (k + 2) != 0 for i in range(count)] for k in range(EPOCHS + 1)]
    return Run(config, {"fitted": np.array(fitted)})


@pytest.fixture
def pair():
    return run("batch"), run("none")


@pytest.fixture
def picture(pair):
    return playback.picture(pair, planted.planted_set())


def test_both_arms_of_the_first_pair_at_the_highest_rate():
    runs = [
        run(norm, seed, noise_rate=rate)
        for rate in (0.1, 0.25)
        for seed in (3, 4)
        for norm in ("none", "batch")
    ]
    treated, plain = playback.arms(runs, "batch")
    assert (treated.config.norm, treated.config.seed, treated.config.noise_rate) == (
        "batch",
        3,
        0.25,
    )
    assert plain.config == replace(treated.config, norm="none")


def test_a_run_without_its_twin_is_an_error(pair):
    with pytest.raises(ValueError, match="no plain run beside"):
        playback.arms([pair[0], run("none", seed=1)], "batch")


def test_every_epoch_says_who_is_fitted(pair, picture):
    assert (picture["epochs"], picture["samples"]) == (EPOCHS, 12)
    for arm, one, name in zip(picture["arms"], pair, ("BN", "plain"), strict=True):
        assert arm["name"] == name
        assert arm["count"] == one.arrays["fitted"].sum(1).tolist()
        found = [[bit == "1" for bit in row] for row in arm["fitted"]]
        np.testing.assert_array_equal(found, one.arrays["fitted"])


def test_all_are_counted_and_the_first_are_shown(pair, monkeypatch):
    monkeypatch.setattr(playback, "SHOWN", 5)
    found = playback.picture(pair, planted.planted_set())
    assert found["samples"] == 12
    assert found["arms"][0]["count"] == pair[0].arrays["fitted"].sum(1).tolist()
    assert {len(row) for arm in found["arms"] for row in arm["fitted"]} == {5}
    assert len(found["titles"]) == 5


def test_titles_name_the_given_and_the_true_label(picture):
    data = planted.planted_set()
    corrupted = corrupt(planted.config(), data)
    given = corrupted.labels[corrupted.index]
    assert picture["titles"] == [
        f"{data.classes[one]} ({data.classes[true]})"
        for one, true in zip(given, corrupted.true_label, strict=True)
    ]


def test_the_page_takes_it(picture):
    assert len(live.embed("playback", "fig-x", picture).data) < live.MOST
