import numpy as np
import pytest
from dosed import DOSES, LR, pools, series, verdicts

from bn_memorization import dose, dose_levels, dose_sentences
from bn_memorization.judging import NOT_TESTABLE

PLANTED = {"held_power": 1.5, "free_power": 1.5, "moved": -0.5, "by_rate": 0.8}
MINUS = "\N{MINUS SIGN}"
LOW = (0.25, *DOSES)  # with a power of 2 no run at 0.25 is fast enough


@pytest.fixture(scope="module")
def outcomes():
    """Return the outcomes of runs with planted exponents."""
    return dose.outcomes(series(**PLANTED))


@pytest.fixture(scope="module")
def by_dose():
    """Return pools of two doses, of which the higher gives more away."""
    return pools()


def answer(runs, by_dose):
    outcomes = dose.outcomes(runs)
    by_level = dose_levels.sentence(dose_levels.readings(runs))
    return dose_sentences.answer(verdicts(outcomes, by_dose), by_level, outcomes, by_dose)


def test_how_the_dose_was_met_with_weights_held(outcomes):
    assert "the exponent of γ is +1.00 and that of σ +0.00." in dose_sentences.met(outcomes)
    turned = outcomes.assign(sigma=outcomes.achieved**-0.75, gamma=outcomes.achieved**0.25)
    text = dose_sentences.met(turned)
    assert f"the exponent of γ is +0.25 and that of σ {MINUS}0.75." in text


def test_how_single_layers_met_it(outcomes):
    text = dose_sentences.met_in_layers(outcomes, {dose.layer_series(1): "layer 1"})
    assert "is +1.00 (layer 1);" in text
    text = dose_sentences.met_in_layers(outcomes, {dose.layer_series(7): "layer 7"})
    assert "not measured (layer 7)" in text


def test_the_reading_of_a_split_names_its_doses(outcomes):
    free = outcomes[outcomes.series == dose.FREE]
    spread = outcomes.copy()  # seeds differ in what is left over, or its interval has no width
    spread.loc[free.index, "corrupted"] *= free.achieved ** (0.05 * (free.seed - 1))
    text = dose_sentences.reading(spread)
    assert "do not show that the parts fail to add up" in text
    assert "at doses of 0.5, 1, 2," in text
    other = dose.outcomes(series(held_power=1.0, free_power=1.5, moved=-0.5))
    assert "so the parts do not add up" in dose_sentences.reading(other)
    lost = dose.outcomes(series(free_power=1.0, doses=LOW))
    assert "at doses of 0.5, 1, 2," in dose_sentences.reading(lost)


def test_one_seed_has_no_interval_and_no_finding():
    text = dose_sentences.reading(dose.outcomes(series(seeds=1, **PLANTED)))
    assert "there is no interval" in text
    assert "add up:" not in text
    assert "leaves zero out" not in text


def test_nothing_to_split():
    nothing = dose.outcomes(series(held_power=5.0))
    assert dose_sentences.reading(nothing) == "No seed has all exponents that a split needs."


def test_censoring_counts_and_names_the_doses_that_are_lost(outcomes):
    assert "0 never fitted a quarter" in dose_sentences.censoring(outcomes)
    assert dose_sentences.silent(outcomes) == ""
    slow = dose.outcomes(series(doses=LOW))
    lost = int(slow.corrupted.isna().sum())
    text = dose_sentences.censoring(slow)
    assert f"{lost} never fitted a quarter" in text
    assert "no run at a dose of 0.25 fitted a quarter" in text
    one = slow.copy()  # one run of three at that dose: the dose is there
    one.loc[one.index[(one.series == dose.HELD) & (one.dose == 0.25)][0], "corrupted"] = 0.01
    assert dose_sentences.silent(one) == ""


def test_distance_from_a_square(outcomes, by_dose):
    text = dose_sentences.distance(verdicts(outcomes, by_dose)[0], outcomes)
    assert text.endswith(
        f"is {MINUS}0.50; the interval holds 2 in 0 of 1 setting with an interval."
    )


def test_an_exponent_without_its_low_doses_is_too_small(by_dose):
    steep = dose.outcomes(series(doses=LOW))
    flat = steep.copy()  # but at 0.25 no run gets there: the line bends
    known = (flat.series == dose.HELD) & (flat.dose > 0.25)
    flat.loc[known, "corrupted"] = 0.125 * flat.dose[known] ** 0.2
    text = dose_sentences.distance(verdicts(flat, by_dose)[0], flat)
    assert "The exponent is too small, as 3 of 12 runs with weights held are left out" in text
    assert "it is at least +" in text
    # Of a steep line the bound is so far above the speed that it takes from it: no word on that.
    text = dose_sentences.distance(verdicts(steep, by_dose)[0], steep)
    assert "The exponent is not over all doses, as 3 of 12 runs" in text
    assert "it is at least +" in text


def test_a_high_dose_that_is_lost_makes_no_bound_from_below(by_dose):
    frame = dose.outcomes(series(held_power=1.0, doses=LOW))
    frame.loc[(frame.series == dose.HELD) & (frame.dose == 2.0), "corrupted"] = np.nan
    text = dose_sentences.distance(verdicts(frame, by_dose)[0], frame)
    assert "not over all doses" in text
    assert "at least" not in text


def test_the_distance_without_an_interval_counts_no_setting(by_dose):
    frame = dose.outcomes(series(seeds=1, **PLANTED))
    text = dose_sentences.distance(verdicts(frame, by_dose)[0], frame)
    assert "holds 2 in 0 of 0 settings with an interval" in text


def test_runs_without_a_penalty_beside_the_nearest_dose(outcomes):
    frame = outcomes.copy()
    natural = (frame.series == dose.RATE) & (frame.lr == LR)
    frame.loc[natural, ["achieved", "corrupted"]] = [1.8, 0.25]
    near = frame.dose == 2.0
    frame.loc[near & (frame.series == dose.HELD), "corrupted"] = 0.125
    frame.loc[near & (frame.series == dose.FREE), "corrupted"] = np.nan
    text = dose_sentences.natural(frame, LR)
    assert "without a penalty γ/σ is 1.80" in text
    assert "At the nearest dose, 2," in text
    of_corrupted = (
        "corrupted samples, 0.50 (0.50) with weights held and not measured with weights free"
    )
    assert of_corrupted in text


def test_the_answer_says_every_verdict_and_both_powers(by_dose):
    text = answer(series(**PLANTED), by_dose)
    assert "to the power κ = +1.50 (holds; steeper than proportional: holds)" in text
    assert "κ is +1.90 with free weights and +1.50 with held ones" in text
    assert "would give +0.40 alone" in text
    assert f"the verdicts hold for the rate here ({LR:g}) only" in text
    assert "from 0.7 to 2; training loss" in text
    assert "no run at a dose" not in text
    assert "$" not in text
    assert "nan" not in text


def test_the_answer_compares_free_and_held_over_the_same_doses(by_dose):
    runs = series(free_power=1.0, doses=LOW)
    text = answer(runs, by_dose)
    assert "no run at a dose of 0.25 fitted" in text
    outcomes = dose.outcomes(runs)
    free = (outcomes.series == dose.FREE) & (outcomes.dose == 0.25)
    outcomes.loc[free, "corrupted"] *= 100  # held has no speed there: it must not count
    changed = dose_sentences.answer(verdicts(outcomes, by_dose), "", outcomes, by_dose)
    assert "κ is +1.00 with free weights and +2.00 with held ones" in text
    assert "κ is +1.00 with free weights and +2.00 with held ones" in changed


def test_a_setting_without_an_exponent_is_no_zero(by_dose):
    both = [*series(**PLANTED), *series(held_power=5.0, noise_rate=0.5)]
    text = answer(both, by_dose)
    assert "to the power κ = +1.50 (" in text


def test_without_an_exponent_nothing_is_claimed(by_dose):
    runs = series(held_power=5.0)
    nothing = dose.outcomes(runs)
    found = verdicts(nothing, by_dose)
    assert [v.word for v in found[:2]] == [NOT_TESTABLE] * 2
    text = answer(runs, by_dose)
    assert "no response to γ/σ was measured" in text
    assert "AUC of membership inference" in text
    assert "not compared" in dose_sentences.distance(found[0], nothing)
