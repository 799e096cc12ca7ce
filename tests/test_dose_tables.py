import made_shadows
import numpy as np
import pytest
from dosed import DOSES, series

from bn_memorization import dose, dose_attack, dose_tables, membership
from bn_memorization.control_claims import CONTROLS
from bn_memorization.dose_exponents import evidence, exponents, selective
from bn_memorization.judging import NOT_TESTABLE, judge

PLANTED = {"held_power": 1.5, "free_power": 1.5, "moved": -0.5, "by_rate": 0.8}
MINUS, BLANK = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def outcomes():
    """Return the outcomes of runs with planted exponents."""
    return dose.outcomes(series(**PLANTED))


@pytest.fixture(scope="module")
def by_dose():
    """Return pools of two doses, of which the higher gives more away."""
    held = {"penalty": "log", "penalty_weight": 1.0, "hold_weights": True}
    shadows = [
        shadow
        for shift, target in ((0.5, 0.7), (3.0, 2.0))
        for shadow in made_shadows.shadows((0.0, shift), moments=1, penalty_target=target, **held)
    ]
    return dose_attack.pools_by_dose(shadows)


def verdicts(outcomes, by_dose):
    found = evidence(exponents(outcomes, "corrupted", dose.HELD))
    gap = membership.compare(dose_attack.as_arms(by_dose), dose_attack.HIGHER)
    return (
        judge(CONTROLS["dose_exponent"], found),
        judge(CONTROLS["dose_square"], found),
        judge(CONTROLS["dose_selective"], selective(outcomes, dose.HELD)),
        judge(CONTROLS["dose_attack"], gap),
    )


def cell(table, column="exponent", **where):
    rows = table
    for name, value in where.items():
        rows = rows[rows[name.replace("_", " ")] == value]
    (value,) = rows[column]
    return value


def test_responses_name_the_series_and_the_response(outcomes):
    table = dose_tables.responses(outcomes)
    assert len(table) == 2 * len(dose_tables.RESPONSES)
    held = table[table["γ/σ set in"] == dose.HELD]
    assert cell(held, response="speed, corrupted") == "+1.50"
    assert cell(held, response="squared gradient norm, corrupted") == "+2.00"
    free = table[table["γ/σ set in"] == dose.FREE]
    assert cell(free, response="speed, corrupted") == "+1.90"
    assert set(table["runs without"]) == {"0 of 9"}


def test_stretches_have_a_line_each(outcomes):
    table = dose_tables.by_stretch(outcomes)
    assert table.doses.tolist() == ["0.5 to 1", "1 to 2"] * 2
    assert table.exponent.tolist() == ["+1.50"] * 2 + ["+1.90"] * 2


def test_moves_tell_gamma_and_sigma(outcomes):
    table = dose_tables.moves(outcomes)
    free = table[table["γ/σ set in"] == dose.FREE]
    assert cell(free, what_moved="γ") == "+0.75"
    assert cell(free, what_moved="σ") == f"{MINUS}0.25"
    assert cell(free, what_moved="norm of the weights before BN") == f"{MINUS}0.25"


def test_how_the_dose_was_met_with_weights_held(outcomes):
    assert "the exponent of γ is +1.00 and that of σ +0.00." in dose_tables.met(outcomes)
    turned = outcomes.assign(sigma=outcomes.achieved**-0.75, gamma=outcomes.achieved**0.25)
    text = dose_tables.met(turned)
    assert f"the exponent of γ is +0.25 and that of σ {MINUS}0.75." in text


def test_layers_tell_the_next_one_where_there_is_one(outcomes):
    table = dose_tables.layers(outcomes, {dose.layer_series(1): "layer 1"})
    assert table.response.tolist() == ["speed, corrupted", "speed, clean", "γ/σ of the next"]
    runs = [r for r in series(**PLANTED) if r.config.penalty_layer is None]
    alone = dose.outcomes(runs)
    assert dose_tables.layers(alone, {dose.layer_series(1): "layer 1"}).empty


def test_split_and_its_reading(outcomes):
    table = dose_tables.split(outcomes)
    assert table.exponent.tolist() == ["+1.90", "+0.40", "+1.50", "+1.50", "+0.00"]
    free = outcomes[outcomes.series == dose.FREE]
    spread = outcomes.copy()  # seeds differ in what is left over, or its interval has no width
    spread.loc[free.index, "corrupted"] *= free.achieved ** (0.05 * (free.seed - 1))
    assert "do not show that the parts fail to add up" in dose_tables.reading(spread)
    other = dose.outcomes(series(held_power=1.0, free_power=1.5, moved=-0.5))
    assert "so the parts do not add up" in dose_tables.reading(other)


def test_nothing_to_split():
    nothing = dose.outcomes(series(held_power=5.0))
    assert dose_tables.split(nothing).empty
    assert dose_tables.reading(nothing) == "No seed has all exponents that a split needs."


def test_censoring_counts_and_says_what_the_bound_gives(outcomes):
    assert "0 never fitted a quarter" in dose_tables.censoring(outcomes)
    assert "bound" not in dose_tables.censoring(outcomes)
    slow = dose.outcomes(series(doses=(0.25, *DOSES)))
    lost = int(slow.corrupted.isna().sum())
    text = dose_tables.censoring(slow)
    assert f"{lost} never fitted a quarter" in text
    assert "With the bound" in text


def test_distance_from_a_square(outcomes, by_dose):
    text = dose_tables.distance(verdicts(outcomes, by_dose)[0])
    assert f"is {MINUS}0.50; the interval holds 2 in 0 of 1{BLANK}setting".replace(
        BLANK, " "
    ) in text.replace(BLANK, " ")


def test_controls_in_one_table(outcomes, by_dose):
    more = outcomes.assign(clean=outcomes.clean * outcomes.achieved**0.5)
    table = dose_tables.controls(verdicts(more, by_dose)[:3], "smoke")
    assert table["holds above"].tolist() == ["+0.00", "+1.00", "+0.00"]
    assert table.verdict.tolist() == ["holds", "holds", "not shown"]
    assert set(table.profile) == {"smoke"}


def test_the_answer_says_every_verdict_and_both_powers(outcomes, by_dose):
    text = dose_tables.answer(*verdicts(outcomes, by_dose), outcomes)
    assert "to the power of +1.50 (holds; steeper than proportional: holds)" in text
    assert "the power is +1.90, of which the change of the effective learning rate" in text
    assert "would give +0.40 alone" in text
    assert "$" not in text


def test_without_an_exponent_nothing_is_claimed(by_dose):
    nothing = dose.outcomes(series(held_power=5.0))
    found = verdicts(nothing, by_dose)
    assert [v.word for v in found[:2]] == [NOT_TESTABLE] * 2
    assert "no response to γ/σ was measured" in dose_tables.answer(*found, nothing)
    assert "not measured" in dose_tables.controls(found[:1], "smoke").exponent.tolist()
    assert "not compared" in dose_tables.distance(found[0])
    assert np.isnan(found[0].evidence[0].low)
