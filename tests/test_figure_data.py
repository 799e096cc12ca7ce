import io
import json

import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter
from verdicts import PARTLY, REPRODUCED, verdict

from bn_memorization import figure_data, figures
from bn_memorization.figure_data import Drawn, interval, numbers, pixels
from bn_memorization.stats import Gap


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def test_rows_stand_below_each_other_and_lack_what_they_were_not_given():
    figure = Drawn()
    figure.keep(arm="BN", epoch=[0, 1], accuracy=np.array([0.25, 0.5]))
    figure.keep(arm="plain", accuracy=0.125)
    assert figure.csv() == "arm,epoch,accuracy\nBN,0,0.25\nBN,1,0.5\nplain,,0.125\n"


def test_the_index_of_a_series_is_no_part_of_it():
    figure = Drawn()
    figure.keep(x=pd.Series([1, 2], index=[7, 9]), y=pd.Series([3, 4], index=[0, 1]))
    assert figure.csv() == "x,y\n1,3\n2,4\n"


def test_numbers_have_six_digits_and_four_where_there_are_many(monkeypatch):
    figure = Drawn()
    figure.keep(x=[1 / 3, 2e-9])
    assert figure.csv() == "x\n0.333333\n2e-09\n"
    monkeypatch.setattr(figure_data, "MOST", 10)
    assert figure.csv() == "x\n0.3333\n2e-09\n"


def test_text_is_for_programs():
    figure = Drawn()
    figure.keep(setting="5\N{NO-BREAK SPACE}% flipped", gap="\N{MINUS SIGN}1")
    assert figure.csv() == "setting,gap\n5 % flipped,-1\n"


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="length"):
        Drawn().keep(x=[1, 2], y=[1, 2, 3])


def test_the_data_come_with_the_output_of_a_cell():
    figure, _ = figures.canvas(height=1)
    figure.keep(x=[1])
    _, metadata = DisplayFormatter().format(figures.signed(figure, "smoke"))
    assert metadata["csv"] == "x\n1\n"
    json.dumps(metadata)


def test_a_figure_that_keeps_nothing_is_not_signed():
    figure, _ = figures.canvas(height=1)
    with pytest.raises(ValueError, match="kept"):
        figures.signed(figure, "smoke")
    figure.keep(x=1)
    figures.signed(figure, "smoke")


def test_intervals_as_columns():
    assert interval([Gap(0.25, 0.125, 0.5, 3)], 100) == {
        "mean": [25],
        "low": [12.5],
        "high": [50],
        "n": [3],
    }


@pytest.mark.parametrize(
    ("counts", "told"), [([3, 3], "n = 3"), ([5, 3, 4], "n = 3 to 5"), ([], "n = 0")]
)
def test_numbers_tell_where_they_differ(counts, told):
    assert numbers(counts) == told


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 3)])
def test_pixels_give_the_image_back(shape):
    image = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    told = pixels(image)
    assert (told["height_pixels"], told["width_pixels"]) == shape[:2]
    assert told["bytes_a_pixel"] == (3 if len(shape) == 3 else 1)
    back = np.frombuffer(bytes.fromhex(told["pixels_hex"]), np.uint8)
    np.testing.assert_array_equal(back.reshape(shape), image)


def test_a_forest_by_hand():
    """Evidence of 0.1, 0.2, 0.3 and -0.1, 0.1, 0.3, in points, against a threshold of 0.05."""
    gaps = verdict(REPRODUCED, PARTLY, threshold=0.05)
    found = read(figures.forest([gaps], [100], ["points"], "smoke").csv())
    assert found.setting.tolist() == [
        "Fashion-MNIST, LeNet, 1 % flipped",
        "MNIST, LeNet, 5 % flipped",
    ]
    assert found[["mean", "low", "high", "n"]].to_numpy().tolist() == [
        [10, -10, 30, 4],
        [20, 10, 30, 4],
    ]
    assert set(found.threshold) == {5}
