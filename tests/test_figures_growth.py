import matplotlib.pyplot as plt
import pandas as pd
import pytest

from bn_memorization import figures_growth
from bn_memorization.figures import TREATED_COLOR


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    assert not plt.get_fignums()


def lines(axis):
    return {line.get_label(): line for line in axis.get_lines() if line.get_label()[0] != "_"}


def test_growth_is_drawn_by_layer():
    frame = pd.DataFrame(
        {
            "layer": [1, 1, 2],
            "predicted": [1.0, 2, 3],
            "measured": [1.5, 2.5, 3.5],
            "factor": [0.5, 1, 2],
            "ratio": [0.6, 1.1, 2.2],
        }
    )
    figure = figures_growth.growth_by_layer(frame, "smoke")
    left, right = (lines(axis) for axis in figure.axes)
    assert set(left) == {"BN layer 1 (n = 2)", "BN layer 2 (n = 1)", "equal"}
    assert left["BN layer 1 (n = 2)"].get_ydata().tolist() == [1.5, 2.5]
    assert right["BN layer 2 (n = 1)"].get_ydata().tolist() == [2.2]
    assert left["BN layer 1 (n = 2)"].get_marker() != left["BN layer 2 (n = 1)"].get_marker()


def test_a_training_step_is_drawn_with_its_sign():
    frame = pd.DataFrame(
        {"subset": ["clean", "corrupted"], "predicted": [0.1, 1.0], "changed": [-0.5, 0.7]}
    )
    figure = figures_growth.training_step(frame, "smoke")
    found = lines(figure.axes[0])
    assert found["clean (n = 1)"].get_ydata().tolist() == [-0.5]
    assert found["corrupted (n = 1)"].get_color() == TREATED_COLOR


def test_solutions_are_drawn_in_both_panels():
    solution = pd.DataFrame({"time": [0, 1], "gamma": [1, 2], "margin": [-2, 3]})
    solutions = {"moves": solution, "held": solution.assign(gamma=1, margin=[-2, 0])}
    figure = figures_growth.gamma_feedback(solutions, "smoke")
    left, right = figure.axes
    assert [line.get_ydata().tolist() for line in left.get_lines()] == [[1, 2], [1, 1]]
    assert [line.get_ydata().tolist() for line in right.get_lines()[:2]] == [[-2, 3], [-2, 0]]
    assert left.get_lines()[0].get_linestyle() != left.get_lines()[1].get_linestyle()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["moves", "held"]
