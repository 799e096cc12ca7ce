import pytest
from dosed import pools, series, verdicts

from bn_memorization import dose, dose_tables

PLANTED = {"held_power": 1.5, "free_power": 1.5, "moved": -0.5, "by_rate": 0.8}
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def outcomes():
    """Return the outcomes of runs with planted exponents."""
    return dose.outcomes(series(**PLANTED))


def cell(table, column="exponent", **where):
    rows = table
    for name, value in where.items():
        rows = rows[rows[name.replace("_", " ")] == value]
    (value,) = rows[column]
    return value


def test_responses_name_the_series_and_the_response(outcomes):
    table = dose_tables.responses(outcomes)
    assert len(table) == 2 * (len(dose_tables.RESPONSES) + 1)
    held = table[table["γ/σ set in"] == dose.HELD]
    assert cell(held, response="speed, corrupted") == "+1.50"
    assert cell(held, response="squared gradient norm, corrupted") == "+2.00"
    free = table[table["γ/σ set in"] == dose.FREE]
    assert cell(free, response="speed, corrupted") == "+1.90"
    assert set(table["runs without"]) == {"0 of 9"}


def test_the_exponent_of_the_value_set_stands_beside_that_of_the_achieved(outcomes):
    table = dose_tables.responses(outcomes.assign(achieved=outcomes.achieved**0.5))
    held = table[table["γ/σ set in"] == dose.HELD]
    assert cell(held, response="speed, corrupted") == "+3.00"
    assert cell(held, response=dose_tables.SET) == "+1.50"


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


def test_layers_tell_the_next_one_where_there_is_one(outcomes):
    table = dose_tables.layers(outcomes, {dose.layer_series(1): "layer 1"})
    assert table.response.tolist() == list(dose_tables.OF_LAYER.values())
    assert cell(table, response="γ of the layer") == "+1.00"
    runs = [r for r in series(**PLANTED) if r.config.penalty_layer is None]
    alone = dose.outcomes(runs)
    assert dose_tables.layers(alone, {dose.layer_series(1): "layer 1"}).empty


def test_split(outcomes):
    table = dose_tables.split(outcomes)
    assert table.exponent.tolist() == ["+1.90", "+0.40", "+1.50", "+1.50", "+0.00"]


def test_nothing_to_split():
    nothing = dose.outcomes(series(held_power=5.0))
    assert dose_tables.split(nothing).empty


def test_controls_in_one_table(outcomes):
    more = outcomes.assign(clean=outcomes.clean * outcomes.achieved**0.5)
    table = dose_tables.controls(verdicts(more, pools())[:3], "smoke")
    assert table["holds above"].tolist() == ["+0.00", "+1.00", "+0.00"]
    assert table.verdict.tolist() == ["holds", "holds", "not shown"]
    assert set(table.profile) == {"smoke"}


def test_a_control_without_an_exponent():
    nothing = dose.outcomes(series(held_power=5.0))
    (row,) = dose_tables.controls(verdicts(nothing, pools())[:1], "smoke").to_dict("records")
    assert (row["exponent"], row["95 % t interval"], row["n"]) == ("not measured", "none", 0)
