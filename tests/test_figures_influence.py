import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bn_memorization import figures_influence
from bn_memorization.figures import PLAIN_COLOR, TREATED_COLOR
from bn_memorization.stats import mean_interval

WHERE = {"dataset": "mnist", "arch": "lenet", "corruption": "flip"}


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    assert not plt.get_fignums()


def lines(axis):
    return {line.get_label(): line for line in axis.get_lines() if line.get_label()[0] != "_"}


def norms(rates=(0.05,)):
    rng = np.random.default_rng(0)
    rows = [
        WHERE
        | {"noise_rate": rate, "norm": norm, "subset": subset, "moment": moment, "seed": 0}
        | {"value": value}
        for rate in rates
        for norm in ("batch", "none")
        for subset in ("corrupted", "clean")
        for moment in ("before training", "end of training")
        for value in rng.lognormal(size=4)
    ]
    return pd.DataFrame(rows)


def test_distributions_are_the_shares_of_samples_below():
    frame = norms()
    figure = figures_influence.norm_distributions(frame, "smoke")
    assert [axis.get_title() for axis in figure.axes] == ["before training", "end of training"]
    found = lines(figure.axes[1])
    assert set(found) == {
        f"{arm}, {subset} samples (n = 1 models)"
        for arm in ("BN", "plain")
        for subset in ("corrupted", "clean")
    }
    line = found["plain, clean samples (n = 1 models)"]
    part = frame[
        (frame.norm == "none") & (frame.subset == "clean") & (frame.moment == "end of training")
    ]
    np.testing.assert_array_equal(line.get_xdata(), np.sort(part.value))
    np.testing.assert_array_equal(line.get_ydata(), [0.25, 0.5, 0.75, 1])
    assert line.get_color() == PLAIN_COLOR
    assert found["BN, corrupted samples (n = 1 models)"].get_color() == TREATED_COLOR
    assert found["BN, corrupted samples (n = 1 models)"].get_linestyle() != line.get_linestyle()
    assert "profile: smoke" in [text.get_text() for text in figure.texts]


def test_each_setting_has_its_row():
    figure = figures_influence.norm_distributions(norms((0.01, 0.05)), "smoke")
    names = [axis.get_ylabel() for axis in figure.axes[::2]]
    assert [
        "1\xa0% flipped" in names[0],
        "5\xa0% flipped" in names[1],
    ] == [True, True]


def test_a_norm_of_zero_is_drawn_off_the_axis():
    frame = norms()
    frame.loc[0, "value"] = 0.0
    figure = figures_influence.norm_distributions(frame, "smoke")
    assert figure.axes[0].get_xlim()[0] > 0


@pytest.mark.parametrize("rates", [(0.01,), (0.01, 0.05), (0.01, 0.05, 0.1)])
def test_delta_curves_are_means_with_intervals(rates):
    rows = [
        WHERE | {"noise_rate": rate, "comparison": comparison, "seed": seed, "epoch": epoch}
        | {"delta": rate + seed / 10 + epoch / 100}
        for rate in rates
        for comparison in ("over plain", "over clean")
        for seed in range(3)
        for epoch in range(4)
    ]  # fmt: skip
    figure = figures_influence.delta_curves(pd.DataFrame(rows), "smoke")
    assert len(figure.axes) == len(rates)
    found = lines(figure.axes[-1])
    assert set(found) == {"over plain (n = 3)", "over clean (n = 3)"}
    for line in found.values():
        wanted = [mean_interval([rates[-1] + s / 10 + e / 100 for s in range(3)]).estimate
                  for e in range(4)]  # fmt: skip
        np.testing.assert_allclose(line.get_ydata(), wanted)


def test_modes_are_drawn_sample_by_sample():
    frame = pd.DataFrame(
        {"subset": ["clean", "corrupted", "clean"], "running": [1, 2, 3], "batch": [4, 5, 6]}
    )
    figure = figures_influence.mode_scatter(frame, "smoke")
    found = lines(figure.axes[0])
    assert set(found) == {"clean samples (n = 2)", "corrupted samples (n = 1)", "equal"}
    clean = found["clean samples (n = 2)"]
    assert (clean.get_xdata().tolist(), clean.get_ydata().tolist()) == ([1, 3], [4, 6])
    equal = found["equal"]
    np.testing.assert_array_equal(equal.get_xdata(), equal.get_ydata())
    assert "running" in figure.axes[0].get_xlabel()
    assert "batch" in figure.axes[0].get_ylabel()
