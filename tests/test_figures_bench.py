import numpy as np

from bn_memorization import figures_bench
from bn_memorization.exponents import QUANTITIES

CURVES = [
    {"what": "one", "varied": "models", "at": [1, 10], "seconds": [2, 20], "bytes": [2**20, 2**21]},
    {"what": "two", "varied": "blocks", "at": [1, 2], "seconds": [3, 4], "bytes": [2**20, 2**20]},
    {"what": "three", "varied": "blocks", "at": [1, 4], "seconds": [5, 6], "bytes": [2**22, 2**23]},
]


def test_each_curve_lies_at_its_values_in_the_column_of_what_varies():
    figure = figures_bench.curves(CURVES, QUANTITIES)
    times, memory = np.array(figure.axes).reshape(2, 2)
    assert [len(axis.lines) for axis in times] == [1, 2]
    assert list(times[1].lines[1].get_ydata()) == [5, 6]
    assert list(memory[0].lines[0].get_ydata()) == [1, 2]  # MiB
    assert [axis.get_xlabel() for axis in memory] == ["models", "blocks"]
    assert all(axis.get_xscale() == axis.get_yscale() == "log" for axis in figure.axes)
    names = [text.get_text() for text in times[1].get_legend().get_texts()]
    assert names == ["two", "three"]
    marks = {line.get_marker() for line in times[1].lines}
    assert len(marks) == 2  # told apart without color
