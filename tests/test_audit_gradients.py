import made_audit
import numpy as np
import pytest
import torch
from made_audit import CLASSES, SIZE
from torch import nn

from bn_memorization import audit_network
from bn_memorization.audit_gradients import norms, one_by_one

FAST = [made_audit.NET, made_audit.PLAIN, "bn_memorization.audit_example.small_net"]


def batch(n=7, size=SIZE):
    made = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, size, size, generator=made)
    return x, torch.arange(n) % CLASSES


def test_one_by_one_by_hand():
    """A linear layer's gradient is the outer product of p - e_y and (x, 1)."""
    model, x, y = nn.Linear(5, CLASSES), torch.randn(4, 5), torch.arange(4) % CLASSES
    with torch.no_grad():
        left = torch.softmax(model(x).double(), 1) - nn.functional.one_hot(y, CLASSES)
    wanted = left.norm(dim=1) * (1 + x.double().square().sum(1)).sqrt()
    np.testing.assert_allclose(one_by_one(model, x, y), wanted, rtol=1e-5)


@pytest.mark.parametrize("dotted", FAST)
def test_the_fast_way_agrees(dotted):
    model = audit_network.build(dotted, CLASSES, 0)
    x, y = batch()
    found, fast = norms(model, x, y)
    assert fast
    np.testing.assert_allclose(found, one_by_one(model, x, y), rtol=1e-4)


def test_resnet18_of_torchvision_takes_the_fast_way():
    model = audit_network.build("torchvision.models.resnet18", CLASSES, 0)
    x, y = batch(4, 32)
    found, fast = norms(model, x, y)
    assert fast
    np.testing.assert_allclose(found, one_by_one(model, x, y), rtol=1e-4)


def test_a_layer_without_a_rule_goes_one_by_one():
    model = audit_network.build(made_audit.GROUPED, CLASSES, 0)
    x, y = batch()
    found, fast = norms(model, x, y)
    assert not fast
    np.testing.assert_array_equal(found, one_by_one(model, x, y))


def test_inputs_that_a_rule_does_not_take_go_one_by_one():
    model = nn.Sequential(nn.Linear(SIZE, 2), nn.Flatten(), nn.Linear(6 * SIZE, CLASSES))
    assert not norms(model, *batch())[1]  # a linear layer on images


def test_a_weight_used_outside_its_layer_is_noticed():
    model, x, y = made_audit.Twice(), torch.randn(5, 4), torch.arange(5) % 4
    found, fast = norms(model, x, y)
    assert not fast
    np.testing.assert_array_equal(found, one_by_one(model, x, y))


def test_frozen_weights_do_not_count():
    model, (x, y) = made_audit.net(CLASSES), batch()
    whole = norms(model, x, y)[0]
    model[4].requires_grad_(False)
    found, fast = norms(model, x, y)
    assert not fast
    assert (found < whole).all()


def test_the_model_stays_as_it_was():
    for dotted in (made_audit.NET, made_audit.GROUPED):
        model = audit_network.build(dotted, CLASSES, 0).train()
        model[1].eval()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        norms(model, *batch())
        assert model.training
        assert not model[1].training
        assert all(torch.equal(before[name], v) for name, v in model.state_dict().items())
        assert all(p.grad is None for p in model.parameters())
