import math
from dataclasses import replace
from functools import partial

import numpy as np
import planted
import pytest
from remedied import grid
from verdicts import evidence, verdict

from bn_memorization import chapter, experiments, fingerprint, tradeoff
from bn_memorization import reparametrized as held
from bn_memorization.invariant_tables import UNKNOWN
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


def pairs(*makers):
    """Return the runs that each maker makes on three seeds."""
    return [make(seed=seed) for seed in range(3) for make in makers]


def test_reached_by_hand():
    """The penalty takes the ratios from 2 to 1/2: log 4, of which |w| from 1 to 2 is log 2."""
    runs = pairs(partial(ended, [4, -4], [1, 1]), partial(ended, [1, 1], [2, 2], **LOG))
    without, penalized = held.reached(runs).to_dict("records")
    assert (without["penalty"], without["weights"]) == ("none", held.FREE)
    assert math.isnan(without["through |w|"])
    assert penalized["penalty"] == "log weight 1, target 0.5"
    assert [penalized[n] for n in ("γ/σ", "γ|w|/σ", "|w|")] == [0.5, 1, 2]
    assert penalized["effective rate"] == 0.25
    assert penalized["through |w|"] == pytest.approx(0.5)
    assert "fell" not in penalized


def test_with_weights_held_nothing_goes_through_their_size():
    on = {"hold_weights": True}
    runs = pairs(partial(ended, [4], [1], **on), partial(ended, [1], [1], **on, **LOG))
    row = held.reached(runs).iloc[1]
    assert (row.weights, row["through |w|"], row["|w|"]) == (held.HELD, 0, 1)


def test_a_penalty_met_by_growing_weights_alone_is_all_through_size():
    """Planted: gamma as it was, |w| and sigma three times."""
    runs = pairs(partial(ended, [4], [1]), partial(ended, [4], [3], sigma=6.0, **LOG))
    row = held.reached(runs).iloc[1]
    assert row["through |w|"] == pytest.approx(1)
    assert row["γ|w|/σ"] == pytest.approx(2)


def test_channels_without_weights_have_no_part_in_it():
    runs = pairs(partial(ended, [4, 400], [1, np.nan]), partial(ended, [1, 1], [2, np.nan], **LOG))
    assert held.reached(runs).iloc[1]["through |w|"] == pytest.approx(0.5)


def through(gammas, sizes):
    """Return through |w| with these ends on seeds 0, 1, ...; without the penalty 4 and 1."""
    runs = [ended([4], [1], seed=seed) for seed in range(len(gammas))]
    runs += [
        ended([gamma], [size], seed=seed, **LOG)
        for seed, (gamma, size) in enumerate(zip(gammas, sizes, strict=True))
    ]
    return held.reached(runs).iloc[1]["through |w|"]


def test_through_size_is_a_quotient_of_means():
    """Log ratios fall by 2, 3 and 4, of which 2, 0 and 1 by |w|; mean of quotients 5/12."""
    gammas = 4 * np.exp([-2.0, -3.0, -4.0])
    assert through(gammas, np.exp([2.0, 0.0, 1.0])) == pytest.approx(3 / 9, rel=1e-5)


def test_through_size_is_blank_where_the_penalty_changed_nothing_for_sure():
    assert math.isnan(through([3, 4.5, 4], [2, 2, 2]))
    assert math.isnan(through([1], [2]))  # one seed has no interval


def test_sides_and_seeds_have_twins_of_their_own():
    both = [ended([4], [1]), ended([1], [2], **LOG)]
    for changes in ({"seed": 1}, {"hold_weights": True}):
        with pytest.raises(ValueError, match="no run without a penalty beside it"):
            held.reached([*both, ended([1], [2], **LOG, **changes)])
    # Each seed's twin is another, and the ratio falls by log 4 on both.
    runs = [*both, ended([8], [1], seed=1), ended([2], [4], **LOG, seed=1)]
    row = held.reached(runs).iloc[1]
    assert row["|w|"] == 3  # over both seeds
    assert row["through |w|"] == pytest.approx((0.5 + 1) / 2)


def sides(free, own):
    """Return outcomes and chosen rows of two sides from their gains, a list a seed."""
    outcomes = {held.FREE: grid([free], [[0.0] * 3]), held.HELD: grid([own], [[0.0] * 3])}
    rows = {side: tradeoff.chosen(frame, ["log"], "penalty") for side, frame in outcomes.items()}
    return outcomes, rows


def test_both_sides_are_compared_under_the_same_penalty():
    """.9 without a penalty; with it .1 with weights free, and .2, .3 and .4 with weights held."""
    outcomes, _ = sides([0.8, 0.8, 0.8], [0.7, 0.6, 0.5])
    none, log = held.apart(outcomes).to_dict("records")
    assert (none["penalty"], log["penalty"]) == ("none", "log weight 1, target 1")
    assert [none[n] for n in ("free", "held", "gap", "n")] == pytest.approx([0.9, 0.9, 0, 3])
    assert math.isnan(none["removed, free"])
    assert [log[n] for n in ("free", "held", "gap")] == pytest.approx([0.1, 0.3, -0.2])
    assert log["high"] - log["gap"] == pytest.approx(4.302652729911275 * 0.1 / math.sqrt(3))
    assert log["removed, free"] == pytest.approx(0.8 / 0.9)
    assert log["removed, held"] == pytest.approx(0.6 / 0.9)


def test_a_share_removed_is_of_the_sides_own_baseline():
    """Planted: held memorizes half of free without a penalty, and loses the same share of it."""
    outcomes, _ = sides([0.6, 0.6, 0.6], [0.6, 0.6, 0.6])
    halved = ["corrupted", "gain"]
    outcomes[held.HELD][halved] /= 2
    none, log = held.apart(outcomes).to_dict("records")
    assert none["gap"] == pytest.approx(0.45)
    assert log["removed, free"] == pytest.approx(log["removed, held"]) == pytest.approx(2 / 3)


def test_settings_are_matched_by_name_and_not_by_order():
    gains = [[0.1, 0.1, 0.1], [0.7, 0.7, 0.7]]
    frame = grid(gains, [[0.0] * 3] * 2)
    gap = held.apart({held.FREE: frame, held.HELD: frame[::-1]})
    assert len(gap) == 3
    assert (gap.gap == 0).all()


def test_a_side_that_memorizes_nothing_has_no_share_removed():
    outcomes, _ = sides([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    for frame in outcomes.values():
        frame.corrupted = 0.0
    gap = held.apart(outcomes)
    assert gap["removed, held"].isna().all()
    shown = held.split(gap)
    assert shown["share removed, free"].tolist() == ["", ""]


def test_the_split_is_readable():
    outcomes, _ = sides([0.8, 0.8, 0.8], [0.7, 0.6, 0.5])
    shown = held.split(held.apart(outcomes))
    assert shown["corrupted, held"].tolist() == [
        "90.0\N{NO-BREAK SPACE}%",
        "30.0\N{NO-BREAK SPACE}%",
    ]
    assert shown["share removed, held"].tolist() == ["", "0.67"]
    (gap,) = (column for column in shown if "95 % t" in column)
    assert shown[gap].iloc[1].startswith("−20.0")


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
    for part in ("Another", "+20.0", "partly", "not reproduced", "smoke", "MNIST, LeNet, 10\xa0%"):
        assert part in html


def test_the_answer_follows_its_evidence():
    outcomes, _ = sides([0.8, 0.8, 0.8], [0.5, 0.5, 0.5])
    gain = verdict(evidence(0.4, 0.5, 0.6), threshold=0.1)
    cost = verdict(evidence(-0.1, 0.02, 0.1), direction="below", threshold=0.01)
    ends = held.reached(pairs(partial(ended, [4], [1]), partial(ended, [1], [2], **LOG)))
    text = held.answer([gain, cost], held.apart(outcomes), ends)
    order = (
        "+50.0",
        "reproduced",
        "+2.0",
        "not reproduced",
        "+0.0",
        "−30.0",
        "0.89",
        "0.56",
        "0.50",
    )
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_answer_says_what_is_not_known():
    outcomes, _ = sides([0.8, 0.8, 0.8], [0.5, 0.5, 0.5])
    gain, cost = verdict(evidence(0.4, 0.5, 0.6)), verdict(evidence(0.4, 0.5, 0.6))
    ends = held.reached([ended([4], [1]), ended([1], [2], **LOG)])
    assert f"a share of {UNKNOWN} of" in held.answer([gain, cost], held.apart(outcomes), ends)
