import pytest
from dosed import SPEED, run, series

from bn_memorization import dose, dose_levels

BLANK = "\N{NO-BREAK SPACE}"


def drop(runs, dose_of_drop):
    """Return the runs, corrupted shares of those at a dose back at 0 in epoch 30 of 40."""
    for one in runs:
        if one.config.penalty_target == dose_of_drop:
            one.arrays["accuracy"][30, 0] = 0.0
    return runs


def test_a_reading_by_hand():
    (one,) = dose_levels.readings([run(1.0)])[0.5, "first"].to_dict("records")
    assert one["corrupted"] == pytest.approx(SPEED / 2)  # a quarter at SPEED, a half takes twice
    assert one["clean_0.7"] == pytest.approx(1.5 * SPEED * 9 / 7)
    assert one["clean_0.9"] == pytest.approx(1.5 * SPEED)


def test_every_level_and_crossing_of_the_held_runs_is_read():
    found = dose_levels.readings(series())
    assert list(found) == [(level, way) for level in (0.25, 0.4, 0.5) for way in ("first", "last")]
    for frame in found.values():
        assert set(frame.series) == {dose.HELD}
        assert len(frame) == 9


def test_a_power_is_the_same_at_every_level_where_curves_are_straight():
    found = dose_levels.readings(series(held_power=1.0))
    for frame in found.values():
        (item,) = dose_levels.response(frame)
        assert item.estimate == pytest.approx(1.0)
    (gap,) = dose_levels.minus_clean(found[0.25, "first"], 0.7)
    assert gap.estimate == pytest.approx(0.0, abs=1e-9)


def test_a_curve_that_falls_again_moves_the_last_crossing_alone():
    found = dose_levels.readings(drop(series(held_power=1.0), 2.0))
    first, last = (dose_levels.response(found[0.25, way])[0] for way in ("first", "last"))
    assert first.estimate == pytest.approx(1.0)
    assert last.estimate < 0  # at the highest dose it is fitted for good after epoch 30
    frame = found[0.25, "last"]
    times = 1 / frame.corrupted[frame.dose == 2.0]
    assert times.between(30, 30.2).all()


def test_the_table_and_the_sentence_count_readings():
    found = dose_levels.readings(drop(series(held_power=1.5), 2.0))
    table = dose_levels.table(found)
    assert len(table) == 6
    assert table.fitted.tolist() == ["25 %", "25 %", "40 %", "40 %", "50 %", "50 %"]
    assert table.crossing.tolist() == ["first", "last"] * 3
    assert table["κ"][0].startswith("+1.50 (")
    assert set(table["runs without"][:1]) == {"0 of 9"}
    text = dose_levels.sentence(found)
    above = [
        sum(i.low > t for f in found.values() for i in dose_levels.response(f)) for t in (0, 1)
    ]
    assert 0 < above[1] < 6
    assert f"above 0 in {above[0]} of 6 readings and above 1 in {above[1]} of 6" in text
    assert "first crossing of 25 % of the corrupted and of 90 % of the clean" in text


def test_a_reading_that_no_seed_has_is_not_measured():
    table = dose_levels.table(dose_levels.readings(series(held_power=5.0)))
    assert set(table["κ"]) == {"not measured"}
    text = dose_levels.sentence(dose_levels.readings(series(held_power=5.0)))
    assert "κ is not measured; its interval is above 0 in 0 of 6 readings" in text
    assert "nan" not in text.replace(BLANK, " ")


def test_settings_have_lines_of_their_own():
    both = [*series(held_power=1.0), *series(held_power=2.0, noise_rate=0.5)]
    table = dose_levels.table(dose_levels.readings(both))
    assert [text[:5] for text in table["κ"][:2]] == ["+1.00", "+2.00"]
    assert table.setting[0] != table.setting[1]
