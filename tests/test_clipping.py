import numpy as np
import planted
import pytest
import torch
from made_shadows import config
from torch import nn

from bn_memorization import clipping, train
from bn_memorization.sample import draw

DATA, CPU = planted.planted_set(), torch.device("cpu")
pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def moved(norm, clip=1.0):
    return clipping.by_norm(config(), DATA, [norm], clip)[norm]


@pytest.mark.parametrize("norm", ["none", "group", "layer", "affine"])
def test_without_batch_statistics_no_sample_moves_the_sum_by_more_than_the_clipping_norm(norm):
    found = moved(norm)
    assert found.shape == (clipping.FEW,)
    np.testing.assert_allclose(found, 1.0, atol=1e-4)  # every gradient is longer than clip
    assert 0 < moved(norm, clip=100.0).max() < 1  # none is


@pytest.mark.parametrize("norm", ["batch", "batch_cut", "batch_fixed_gamma"])
def test_with_batch_statistics_it_may_move_by_more(norm):
    assert moved(norm).max() > 1.5


def test_movement_by_hand():
    """One weight, f = w x with two classes, w = 0: the gradients are -x/2 and x/2."""
    model = nn.Linear(1, 2, bias=False)
    nn.init.zeros_(model.weight)
    x, y = torch.tensor([[1.0], [2.0], [6.0]]), torch.tensor([0, 1, 0])
    norms = np.sqrt(2) * np.array([0.5, 1.0, 3.0])  # of the gradient over both weights
    np.testing.assert_allclose(clipping.movement(model, x, y, 100.0), norms / 100, rtol=1e-6)
    np.testing.assert_allclose(clipping.movement(model, x, y, 1.0), [norms[0], 1.0, 1.0], rtol=1e-6)


def test_the_network_is_left_as_it_was():
    model = train.new_model(config().recipe, DATA, CPU).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    drawn = draw(config().pool, DATA, CPU)
    clipping.movement(model, drawn.x[:4], drawn.y[:4], 1.0)
    assert not model.training
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())
    assert all(p.grad is None for p in model.parameters())
