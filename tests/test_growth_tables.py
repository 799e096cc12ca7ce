import numpy as np
import pandas as pd
import pytest

from bn_memorization import growth, growth_tables


def test_agreement_by_hand():
    rng = np.random.default_rng(0)
    by_layer = pd.DataFrame(
        {"layer": np.repeat([1, 2, 3, 4], 10), "predicted": rng.uniform(size=40)}
    )
    by_sample = pd.DataFrame({"subset": ["corrupted"] * 5 + ["clean"] * 5})
    by_sample["predicted"] = rng.uniform(size=10)
    by_layer["measured"] = 3 * by_layer.predicted
    by_sample["changed"] = -by_sample.predicted
    by_sample["whole"] = by_sample.predicted.mean()
    by_sample.loc[0, "whole"] = 2 * by_sample.predicted.mean()
    table = growth_tables.agreement(by_layer, by_sample).set_index("measured")
    assert table.n.tolist() == [10] * 5 + [5] * 2
    for layer in (1, 2, 3, 4):
        row = table.loc[f"own step, weights before BN layer {layer}"]
        assert row[growth_tables.AGREEMENT].tolist() == pytest.approx([1, 3, 3, 3])
    for subset in ("corrupted", "clean"):
        row = table.loc[f"training step, {subset} samples"]
        assert row[growth_tables.AGREEMENT].tolist() == pytest.approx([-1, -1, -1, -1])
    remark = growth_tables.remark(by_layer, by_sample)
    assert "3.00 times the predicted growth" in remark
    assert "by -1.00 times it" in remark


def test_factors_are_told_by_layer():
    frame = pd.DataFrame({"layer": [1, 1, 2, 2], "factor": [0.5, 0.75, 0.5, 4.0]})
    text = growth_tables.factors(frame)
    assert "0.50 to 0.75 at layer 1; 0.50 to 4.00 at layer 2" in text
    assert "In 1 of 2 layers it is below one" in text


def test_wrong_powers_show_and_the_right_one_does_not():
    table = growth_tables.wrong_powers(growth.check_against_autograd(20, 0))
    errors = dict(table.to_numpy().tolist())
    assert errors.keys() == {"0", "1", "1.99", "2", "2.01"}
    assert errors.pop("2") < 1e-10
    assert min(errors.values()) > 1e-3


def test_whole_range_is_judged_by_the_worst_case():
    check = pd.DataFrame({"relative_error": [1e-3, 0.5, 2e-3]})
    (found,) = growth_tables.whole_range(check, {"network": "one"})
    assert (found.estimate, found.low, found.high, found.n) == (0.5, 1e-3, 0.5, 3)
    assert found.where == {"network": "one"}


def corrected(kinds):
    frame = pd.DataFrame(
        {"kind": kinds, "subset": "corrupted", "m": [65, 65, 10, 401][: len(kinds)]}
    )
    return frame.assign(z=2.0, room=0.75, mean_only=0.5, correction=0.25)


def test_the_exact_answer_says_what_was_found():
    check = pd.DataFrame({"relative_error": [2e-14, 1e-14]})
    frame = corrected(["fully connected", "fully connected", "convolutional", "convolutional"])
    words = {"exact_convolution": "not shown", "exact_outliers": "holds"}
    text = growth_tables.exact_answer(check, frame, words)
    assert "on 2 random batches equal to autograd up to 2.0e-14" in text
    assert "in fully connected layers |z| is 2.0 and its bound 8.0 or more" in text
    assert "in convolutional layers |z| is 2.0 and its bound 3.0 or more" in text
    assert "own terms leave 0.75 of the growth, and mean and variance together 0.25" in text
    assert "nearly exact in convolutions: not shown." in text
    assert text.endswith("fully connected layers: holds.")
    full = growth_tables.exact_answer(check, corrected(["fully connected"]), {})
    assert "convolutional" not in full


def test_all_layers_are_told_by_layer():
    frame = pd.DataFrame({"layer": [1, 1, 2, 2], "sample": [4, 9, 4, 9],
                          "one": [1.0, 2.0, 3.0, 3.0], "all": [0.5, 0.5, 1.0, 1.0]})  # fmt: skip
    text = growth_tables.all_layers(frame)
    assert "for 2 corrupted samples" in text
    assert "1.50 and 0.50 at layer 1; 3.00 and 1.00 at layer 2." in text
