import math
import re

import pandas as pd
import pytest
from remedied import grid
from verdicts import evidence, verdict

from bn_memorization import tradeoff
from bn_memorization import tradeoff_tables as tables


def numbers(text):
    return [float(found) for found in re.findall(r"[+-]?\d+(?:\.\d+)?", text.replace("−", "-"))]


def test_means_for_readers():
    found = tables.means(grid([[0.2, 0.4]], [[0.0, 0.1]]))
    assert found.setting.tolist() == ["planted, LeNet, 25\xa0% flipped"] * 2
    assert found.remedy.tolist() == [tradeoff.NOTHING, "log"]
    assert found.strength.tolist() == ["", "weight 1, target 1"]
    accuracies = found[found.columns[3:]].map(lambda text: numbers(text)[0])
    assert accuracies.values.tolist() == [[90, 90, 90], [60, 60, 85]]


def test_comparison_for_readers():
    outcomes = grid([[0.2, 0.2], [0.3, 0.3]], [[0.0, 0.0], [0.005, 0.005]])
    penalty = tradeoff.chosen(outcomes, ["log"], tradeoff.PENALTY)
    decay = penalty.assign(remedy=tradeoff.DECAY, method=tradeoff.DECAY, setting="0.01", gain=0.1)
    found = tables.comparison(pd.concat([penalty, decay]))
    assert found.remedy.tolist() == [tradeoff.PENALTY, tradeoff.DECAY]
    assert found["strength, seed by seed"].tolist() == [
        "log weight 1, target 2; log weight 1, target 2",
        "0.01; 0.01",
    ]
    assert [numbers(text)[0] for text in found.gain] == [30, 10]
    assert [numbers(text)[0] for text in found.cost] == [0.5, 0.5]
    assert found.n.tolist() == [2, 2]


def test_beyond_pairs_by_seed_whatever_the_order():
    """Gains .9, .2 and .4 against .4, .1 and .1: differences .5, .1 and .3, mean .3, s .2."""
    first, second = grid([[0.9, 0.2, 0.4]], [[0.0] * 3]), grid([[0.4, 0.1, 0.1]], [[0.0] * 3])
    rows = first[first.method == "log"].assign(remedy="one")
    rival = second[second.method == "log"].assign(remedy="other", reached=[True, False, True])[::-1]
    text = tables.beyond(rows, rival)
    reach = 100 * 4.302652729911275 * 0.2 / math.sqrt(3)
    assert text.startswith("Gain of one minus other: planted, LeNet, 25\xa0% flipped: ")
    found = numbers(text)
    assert found[-6:] == pytest.approx([30, 30 - reach, 30 + reach, 3, 2, 3], abs=0.06)


def test_choices_at_the_edge_of_the_grid_are_counted():
    """Targets 1 to 3 were tried, all with one weight; the square has no target."""
    outcomes = pd.concat([grid([[0.1, 0.1, 0.1]] * 3, [[0.0] * 3] * 3)] * 2, ignore_index=True)
    outcomes.loc[len(outcomes) // 2 :, "weight"] *= 2
    inner = outcomes[(outcomes.target == 2) & (outcomes.method == "log")][:3]
    assert numbers(tables.at_edge(inner, outcomes)) == [3, 3, 3, 0]
    assert numbers(tables.at_edge(inner.assign(weight=1.5), outcomes)) == [3, 0, 0, 0]
    assert numbers(tables.at_edge(inner.assign(target=[1, 2, 3]), outcomes)) == [3, 3, 3, 2]
    square = outcomes.replace({"log": "square"})
    assert numbers(tables.at_edge(inner.assign(method="square", target=1.0), square))[3] == 0


def test_the_answer_follows_its_evidence():
    gain = verdict(evidence(0.2, 0.3, 0.4), threshold=0.1)
    cost = verdict(evidence(-0.03, 0.02, 0.05), direction="below", threshold=0.01)
    outcomes = grid([[0.3, 0.4, 0.5]], [[0.0] * 3])
    penalty = outcomes[outcomes.method == "log"].assign(remedy=tradeoff.PENALTY)
    early = penalty.assign(remedy=tradeoff.STOPPING, gain=[0.1, 0.4, 0.4], reached=[True, False, 1])
    decay = penalty.assign(remedy="decay", gain=-0.05)
    text = tables.answer(gain, cost, penalty, pd.concat([decay, early]))
    # Beyond early stopping: .2, 0 and .1, mean .1, s .1.
    reach = 100 * 4.302652729911275 * 0.1 / math.sqrt(3)
    wanted = [30, 2, -5, 30, 10, 95, 10 - reach, 10 + reach, 0, 1, 2, 3]
    assert numbers(text) == pytest.approx(wanted, abs=0.06)
    assert text.index("(reproduced)") < text.index("(not reproduced)")
