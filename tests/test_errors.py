import pytest

from bn_memorization.errors import BadInput, Failure, check_choice


@pytest.mark.parametrize("value", ["batch", "group", "none"])
def test_a_valid_choice_comes_back(value):
    assert check_choice("norm", value, ("none", "batch", "group")) == value


def test_the_message_names_all_there_is_to_know():
    with pytest.raises(BadInput) as caught:
        check_choice("norm", "bach", ("none", "group", "batch"))
    assert str(caught.value) == (
        "Unknown norm 'bach'. Did you mean 'batch'? Choose from: batch, group, none."
    )


def test_nothing_near_gives_no_hint():
    with pytest.raises(BadInput) as caught:
        check_choice("norm", "xyz", ("none", "batch"))
    assert str(caught.value) == "Unknown norm 'xyz'. Choose from: batch, none."


@pytest.mark.parametrize("value", ["", "Batch", " batch", None, 3, ["batch"]])
def test_near_misses_and_other_types_are_refused(value):
    with pytest.raises(BadInput, match="Unknown norm"):
        check_choice("norm", value, {"batch": 1, "none": 2})


def test_the_two_kinds_of_error_are_told_apart():
    """The command line's exit status depends on it: BadInput 2, Failure 1."""
    assert issubclass(BadInput, ValueError)
    assert issubclass(Failure, RuntimeError)
    assert not issubclass(BadInput, Failure)
    assert not issubclass(Failure, BadInput)


def test_a_long_value_is_cut_in_the_message():
    for value in ("9" * 5000, ["9" * 5000]):
        with pytest.raises(BadInput) as caught:
            check_choice("profile", value, ["quick"])
        assert "999..." in str(caught.value)
        assert len(str(caught.value)) < 300
