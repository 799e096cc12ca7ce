import math
from dataclasses import replace

import numpy as np
import planted
import pytest
from remedied import grid
from verdicts import evidence, verdict

from bn_memorization import chapter, experiments, fingerprint, tradeoff
from bn_memorization import reparametrized as held
from bn_memorization.train import Run

NAME = "06b_reparametrization"
LOG = {"penalty": "log", "penalty_weight": 1.0, "penalty_target": 0.5}


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_both_halves_share_their_runs_with_chapters_1_5_and_6(profile):
    planned = chapter.plan(NAME, profile)
    fifth = chapter.plan("05_gamma_sigma", profile).configs
    sixth = chapter.plan("06_regularization", profile).configs
    free, own = held.free(planned.parameters), held.held(planned.parameters)
    assert planned.configs == [*fifth, *free, *own]
    assert set(free) <= set(sixth)
    assert own == [replace(config, hold_weights=True) for config in free]
    assert not any(config.hold_weights for config in free)


def test_the_free_side_has_sizes_and_settings_of_its_own():
    parameters = chapter.plan(NAME, "quick").parameters
    own = {"penalty_only": ["mnist/lenet/flip/0.01"], "penalty_train_size": 700}
    found = held.free(parameters | own | {"penalty_epochs": 7, "seeds": 2})
    changes = [{}, *experiments.penalties(parameters)]
    assert len(found) == 2 * len(changes)
    assert {(c.train_size, c.epochs, c.noise_rate, c.dataset) for c in found} == {
        (700, 7, 0.01, "mnist")
    }
    assert {c.norm for c in found} == {"batch"}


def ended(gamma, size, sigma=2.0, **changes):
    """Return a run of one layer whose |w| starts at 1; all that is given is of the end."""
    gamma = np.array([[1.0] * len(gamma), gamma], np.float32)
    arrays = {"gamma": gamma, "sigma": np.full_like(gamma, sigma)}
    arrays["weight_norm"] = np.array([[1.0] * len(size), size], np.float32)
    return Run(planted.config(epochs=1, **changes), arrays)


def test_reached_by_hand():
    """The penalty takes the ratios from 2 to 1/2: log 4, of which |w| from 1 to 2 is log 2."""
    runs = [ended([4, -4], [1, 1]), ended([1, 1], [2, 2], **LOG)]
    without, penalized = held.reached(runs).to_dict("records")
    assert (without["penalty"], without["weights"]) == ("none", held.FREE)
    assert math.isnan(without["through |w|"])
    assert penalized["penalty"] == "log weight 1, target 0.5"
    assert [penalized[n] for n in ("γ/σ", "γ|w|/σ", "|w|")] == [0.5, 1, 2]
    assert penalized["effective rate"] == 0.25
    assert penalized["through |w|"] == pytest.approx(0.5)


def test_with_weights_held_nothing_goes_through_their_size():
    runs = [ended([4], [1], hold_weights=True), ended([1], [1], hold_weights=True, **LOG)]
    row = held.reached(runs).iloc[1]
    assert (row.weights, row["through |w|"], row["|w|"]) == (held.HELD, 0, 1)


def test_a_penalty_met_by_growing_weights_alone_is_all_through_size():
    """Planted: gamma as it was, |w| and sigma three times."""
    runs = [ended([4], [1]), ended([4], [3], sigma=6.0, **LOG)]
    row = held.reached(runs).iloc[1]
    assert row["through |w|"] == pytest.approx(1)
    assert row["γ|w|/σ"] == pytest.approx(2)


def test_channels_without_weights_have_no_part_in_it():
    runs = [ended([4, 400], [1, np.nan]), ended([1, 1], [2, np.nan], **LOG)]
    assert held.reached(runs).iloc[1]["through |w|"] == pytest.approx(0.5)


def test_sides_and_seeds_have_twins_of_their_own():
    both = [ended([4], [1]), ended([1], [2], **LOG)]
    for changes in ({"seed": 1}, {"hold_weights": True}):
        with pytest.raises(ValueError, match="no run without a penalty beside it"):
            held.reached([*both, ended([1], [2], **LOG, **changes)])
    runs = [*both, ended([4], [1], seed=1), ended([1], [4], **LOG, seed=1)]
    row = held.reached(runs).iloc[1]
    assert row["|w|"] == 3  # over both seeds
    assert row["through |w|"] == pytest.approx((0.5 + 1) / 2)


def sides(free, own):
    """Return outcomes and chosen rows of two sides from their gains, a list a seed."""
    outcomes = {held.FREE: grid([free], [[0.0] * 3]), held.HELD: grid([own], [[0.0] * 3])}
    rows = {side: tradeoff.chosen(frame, ["log"], "penalty") for side, frame in outcomes.items()}
    return outcomes, rows


def test_the_difference_of_gains_falls_into_two_parts():
    """Without a penalty .9 on either side, less .2 with weights held."""
    outcomes, rows = sides([0.8, 0.8, 0.8], [0.7, 0.6, 0.5])
    without = outcomes[held.HELD].method == tradeoff.NOTHING
    outcomes[held.HELD].loc[without, "corrupted"] -= 0.2
    gap = held.apart(outcomes, rows)
    (first,), (second,) = gap["without"], gap["with"]
    assert first.estimate == pytest.approx(0.2)
    assert second.estimate == pytest.approx(-0.2)
    assert second.low < -0.2 < second.high
    assert "+20.0" in held.split(gap)
    assert "−20.0" in held.split(gap)


def test_comparison_names_the_sides():
    _, rows = sides([0.8, 0.8, 0.8], [0.7, 0.6, 0.5])
    found = held.comparison(rows)
    assert found.weights.tolist() == ["free", "held"]
    assert found.remedy.tolist() == ["penalty", "penalty"]


def test_the_table_has_a_row_a_setting_of_each_statement():
    one = verdict(evidence(0.1, 0.2, 0.3), evidence(-0.1, 0.1, 0.3, noise_rate=0.1))
    two = verdict(evidence(-0.3, -0.2, -0.1), title="Another")
    html = held.table([one, two], "smoke").to_html()
    assert html.count("<tr>") == 1 + 3
    for part in ("Another", "+20.0", "partly", "not reproduced", "smoke", "MNIST, LeNet, 10 %"):
        assert part in html


def test_the_answer_follows_its_evidence():
    outcomes, rows = sides([0.8, 0.8, 0.8], [0.5, 0.5, 0.5])
    gain = verdict(evidence(0.4, 0.5, 0.6), threshold=0.1)
    cost = verdict(evidence(-0.1, 0.02, 0.1), direction="below", threshold=0.01)
    lost = verdict(evidence(-0.1, 0.3, 0.7))
    ends = held.reached([ended([4], [1]), ended([1], [2], **LOG)])
    text = held.answer([gain, cost, lost], rows, held.apart(outcomes, rows), ends)
    order = [text.index(word) for word in ("reproduced", "not reproduced", "partly")]
    assert order == sorted(order)
    for part in ("+50.0", "+2.0", "+80.0", "−30.0", "0.50"):
        assert part in text
