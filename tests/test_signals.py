import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from bn_memorization.signals import margin, naive_margin


def test_by_hand():
    """Three equal others at 0: log of their sum is log 3."""
    logits = [[5.0, 0.0, 0.0, 0.0], [0.0, 0.0, -2.0, 0.0]]
    found = margin(logits, [0, 2])
    assert found == pytest.approx([5 - math.log(3), -2 - math.log(3)], abs=1e-15)
    assert found.dtype == np.float64


@pytest.mark.parametrize("size", [0.0, 1.0, 16.0, 17.0, 20.0, 88.0, 104.0, 710.0, 1e4])
@pytest.mark.parametrize("sign", [1, -1])
def test_exact_with_two_classes_however_large(size, sign):
    (found,) = margin(np.array([[sign * size, 0.0]], np.float32), [0])
    assert found == sign * size


@pytest.mark.parametrize("size", [0.0, 20.0, 1e4])
def test_exact_with_ten_classes_however_large(size):
    """Nine others at 0."""
    logits = np.zeros((1, 10), np.float32)
    logits[0, 7] = size
    (found,) = margin(logits, [7])
    assert found == pytest.approx(size - math.log(9), rel=1e-15)


def test_through_probabilities_it_would_be_lost():
    """The control: in float32 log p - log(1 - p) is infinite at a margin of 20."""
    logits = torch.tensor([[20.0, 0.0]])
    p = F.softmax(logits, dim=1)[0, 0]
    assert math.isinf(torch.log(p) - torch.log(1 - p))
    assert margin(logits, [0])[0] == 20


ROWS = st.lists(st.lists(st.floats(-50, 50), min_size=4, max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(ROWS, st.integers(0, 3))
def test_it_is_the_loss_in_other_clothes(rows, label):
    """Cross-entropy = log(1 + exp(-phi))."""
    labels = np.full(len(rows), label)
    loss = F.cross_entropy(
        torch.tensor(rows, dtype=torch.float64), torch.from_numpy(labels), reduction="none"
    )
    np.testing.assert_allclose(np.logaddexp(0, -margin(rows, labels)), loss, rtol=1e-9, atol=1e-12)


@settings(deadline=None)
@given(ROWS, st.floats(-100, 100), st.permutations(range(4)))
def test_invariances(rows, constant, order):
    logits, labels = np.array(rows), np.arange(len(rows)) % 4
    found = margin(logits, labels)
    np.testing.assert_allclose(margin(logits + constant, labels), found, atol=1e-10)
    renamed = np.argsort(order)[labels]
    np.testing.assert_allclose(margin(logits[:, order], renamed), found, atol=1e-10)
    np.testing.assert_array_equal(margin(logits[::-1], labels[::-1]), found[::-1])


def test_positive_where_the_label_has_more_than_half():
    logits = np.log([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25]])
    assert (margin(logits, [0, 0]) > 0).tolist() == [True, False]


def test_logits_are_left_as_they_were():
    logits = np.array([[1.0, 2.0, 3.0]])
    margin(logits, [1])
    assert logits.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_is_named(bad):
    logits = np.zeros((5, 3))
    logits[3, 1] = bad
    with pytest.raises(ValueError, match="1 samples are not finite, the first: 3"):
        margin(logits, np.zeros(5, int))


@pytest.mark.parametrize(
    ("logits", "labels"),
    [
        (np.zeros(3), [0]),
        (np.zeros((2, 1)), [0, 0]),
        (np.zeros((2, 3)), [0]),
        (np.zeros((0, 3)), 0),
    ],
)
def test_shapes_that_do_not_fit_are_refused(logits, labels):
    with pytest.raises(ValueError, match="Need logits"):
        margin(logits, labels)


@pytest.mark.parametrize("labels", [[0, 3], [-1, 0], [0.0, 1.0]])
def test_labels_that_are_no_class_are_refused(labels):
    with pytest.raises(ValueError, match="from 0 to 2"):
        margin(np.zeros((2, 3)), labels)


CEILING = -math.log(np.finfo(np.float32).eps)  # 23 bits: just below 16


@pytest.mark.parametrize("size", [17.0, 20.0, 88.0, 104.0, 1e4])
def test_the_naive_margin_has_a_ceiling(size):
    logits = np.array([[size, 0.0, 0.0], [-size, 0.0, 0.0]], np.float32)
    found = naive_margin(logits, [0, 0])
    assert found.dtype == np.float32
    assert found == pytest.approx([CEILING, -CEILING], rel=1e-5)
    assert np.abs(margin(logits, [0, 0])).min() > CEILING


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(-2, 2), min_size=4, max_size=4), min_size=1, max_size=6))
def test_the_naive_margin_is_the_margin_where_that_is_small(rows):
    labels = np.arange(len(rows)) % 4
    np.testing.assert_allclose(naive_margin(rows, labels), margin(rows, labels), atol=1e-4)


@settings(deadline=None)
@given(ROWS)
def test_the_naive_margin_is_finite_and_below_16(rows):
    found = naive_margin(rows, np.zeros(len(rows), int))
    assert (np.abs(found) < 16).all()


def test_the_naive_margin_ties_samples_that_the_margin_sets_apart():
    logits = [[20.0, 0.0], [30.0, 0.0]]
    assert len(set(naive_margin(logits, [0, 0]))) == 1
    assert len(set(margin(logits, [0, 0]))) == 2
