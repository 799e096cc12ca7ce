import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bn_memorization import figures_exact
from bn_memorization.figures import TREATED_COLOR
from bn_memorization.gradient_share import BETA, GAMMA, OTHER

WHERE = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    assert not plt.get_fignums()


def samples(n_clean=100, n_corrupted=3):
    subset = ["clean"] * n_clean + ["corrupted"] * n_corrupted
    frames = [
        pd.DataFrame({"subset": subset, "layer": layer, "kind": kind, "m": m, "z": 1.5,
                      "room": 1 - 3 / m, "correction": 0.4})
        for layer, kind, m in ((1, "convolutional", 6400), (2, "fully connected", 64))
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


CASES = pd.DataFrame({"room": [0.5, 0.01], "correction": [0.3, 0.0]})


def drawn(axis, ink):
    return [line for line in axis.get_lines() if line.get_color() == ink]


def test_samples_stand_on_the_map_beside_their_own_number_of_terms():
    figure = figures_exact.correction_map(CASES, samples(), "smoke")
    left, right = figure.axes[:2]
    places = [line.get_xdata() for line in drawn(left, TREATED_COLOR)]
    for place, m in zip(places, (6400, 64), strict=True):
        assert len(place) == 3
        assert (place < m).all()  # corrupted ones to the left of it
        assert (place > m / 3).all()
    right_lines = drawn(right, TREATED_COLOR)
    np.testing.assert_allclose(right_lines[1].get_xdata(), 3 / 64)
    assert set(right_lines[1].get_ydata()) == {0.4}


def test_the_many_clean_samples_are_thinned_and_the_corrupted_ones_are_not():
    figure = figures_exact.correction_map(CASES, samples(300, 200), "smoke")
    sizes = sorted(len(line.get_xdata()) for line in figure.axes[0].get_lines())
    sizes.remove(figures_exact.STEPS)  # the bound
    assert sizes == [figures_exact.CLEAN, figures_exact.CLEAN, 200, 200]


def test_the_bound_is_drawn_and_random_batches_too():
    figure = figures_exact.correction_map(CASES, samples(), "smoke")
    left, right = figure.axes[:2]
    (bound,) = [line for line in left.get_lines() if len(line.get_xdata()) == figures_exact.STEPS]
    np.testing.assert_allclose(bound.get_ydata() ** 2, bound.get_xdata() - 1)
    dots = right.get_lines()[0]
    np.testing.assert_allclose(dots.get_xdata(), [0.5, 0.99])
    assert dots.get_ydata().tolist() == [0.3, 0.0]


def test_layers_and_subsets_are_named_and_told_apart():
    figure = figures_exact.correction_map(CASES, samples(), "smoke")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "BN layer 1, conv.",
        "BN layer 2, full",
        "clean (n = 160)",
        "corrupted (n = 6)",
        "random batches (n = 2)",
    ]
    first, second = drawn(figure.axes[1], TREATED_COLOR)
    assert first.get_marker() != second.get_marker()


def test_shares_of_all_groups_stand_in_each_row():
    frame = pd.DataFrame(
        {"moment": ["a third"] * 2 + ["end"] * 2, GAMMA: [4.0, 6, 7, 7], BETA: 2.0, OTHER: 3.0}
    ).assign(**WHERE)
    figure = figures_exact.pull_shares(frame, "smoke")
    (axis,) = figure.axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == [
        "MNIST, LeNet, 5\xa0% flipped,\nend (n = 2)",
        "MNIST, LeNet, 5\xa0% flipped,\na third (n = 2)",
    ]
    points = [line for line in drawn(axis, TREATED_COLOR) if len(line.get_xdata()) == 1]
    assert [point.get_xdata()[0] for point in points] == [7, 5]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [GAMMA, BETA, OTHER]
