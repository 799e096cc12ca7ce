import copy

import numpy as np
import pytest
import torch
from lived_in import build, images, lived_in
from torch import nn

from bn_memorization import invariant, ratios

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def batch(n=16):
    return images(n), torch.arange(n) % 3


def test_rho_by_hand():
    """Rows (3, 4) and (0, 2), gammas -3 and .5, sigmas 1.5 and .5; the second BN has no weights."""
    net = nn.Sequential(
        nn.Linear(2, 2), nn.BatchNorm1d(2, eps=0.25), nn.ReLU(), nn.BatchNorm1d(1, eps=1.0)
    )
    net[0].weight.data = torch.tensor([[3.0, 4.0], [0.0, -2.0]])
    net[1].weight.data, net[1].running_var = torch.tensor([-3.0, 0.5]), torch.tensor([2.0, 0.0])
    np.testing.assert_allclose(invariant.rho(net), [10.0, 2.0, np.nan])


@pytest.mark.parametrize("c", [0.25, 3.0])
@pytest.mark.parametrize("arch", ["lenet", "resnet8", "densenet22"])
def test_rescaling_moves_gamma_over_sigma_and_not_rho(arch, c):
    net = lived_in(arch, torch.float64)
    scaled = ratios.rescaled(net, c)
    rho = invariant.rho(net)
    np.testing.assert_allclose(invariant.rho(scaled), rho, rtol=1e-5)
    fed = np.isfinite(rho)
    quotient = ratios.gamma_sigma(scaled).ratio / ratios.gamma_sigma(net).ratio
    np.testing.assert_allclose(quotient[fed], 1 / c, rtol=1e-5)


def test_rho_is_gamma_over_sigma_with_weights_of_length_one():
    net = lived_in(dtype=torch.float64)
    rho = invariant.rho(net)
    with torch.no_grad():
        for before, layer in ratios.fed_by_weights(net):
            norms = before.weight.flatten(1).norm(dim=1)
            before.weight.div_(norms.view(-1, *[1] * (before.weight.ndim - 1)))
            layer.running_var.div_(norms.square())
            layer.eps = 0.0
    np.testing.assert_allclose(ratios.gamma_sigma(net).ratio, rho, rtol=1e-3)


def test_moved_is_the_step_taken_by_torch_and_leaves_the_model():
    net, (x, y) = lived_in(), batch()
    before = copy.deepcopy(net.state_dict())
    found = invariant.moved(net, x, y, 0.1)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert not net.training
    twin = copy.deepcopy(net).double().train()
    weights = [layer.weight for layer, _ in ratios.fed_by_weights(twin)]
    first = twin(x.double())
    optimizer = torch.optim.SGD(weights, 0.1)
    nn.functional.cross_entropy(first, y).backward()
    optimizer.step()
    moved = (twin(x.double()) - first).detach()
    assert found == pytest.approx(float(moved.square().mean().sqrt()), rel=1e-12)
    assert found > 1e-3


@pytest.mark.parametrize("arch", ["lenet", "resnet8"])
def test_a_step_of_equal_effective_rate_is_the_same_step(arch):
    net, (x, y) = lived_in(arch), batch()
    table = invariant.steps(net, x, y, 1e-4, [0.5, 1, 4])
    scaled, kept = table[table["ε"] == "scaled"], table[table["ε"] == "kept"]
    assert scaled.c.tolist() == kept.c.tolist() == [0.5, 1, 4]
    np.testing.assert_allclose(scaled["a step of rate c²η"], 1, rtol=1e-6)
    # To first order; what is left is the curvature of so small a step.
    np.testing.assert_allclose(scaled["a step of rate η"], [4, 1, 1 / 16], rtol=0.02)
    np.testing.assert_allclose(scaled["median γ|w|/σ"], scaled["median γ|w|/σ"].iloc[1], rtol=1e-5)
    ratio = scaled["median γ/σ"].to_numpy()
    np.testing.assert_allclose(ratio / ratio[1], [2, 1, 0.25], rtol=1e-5)


def test_with_eps_kept_all_moves_where_eps_is_felt():
    net, (x, y) = lived_in(), batch()
    for layer in ratios.bn_layers(net).values():
        layer.eps = 0.1
    table = invariant.steps(net, x, y, 1e-4, [0.25])
    scaled, kept = table.iloc[0], table.iloc[1]
    assert scaled["a step of rate c²η"] == pytest.approx(1, rel=1e-6)
    assert abs(kept["a step of rate c²η"] - 1) > 0.05
    assert kept["median γ|w|/σ"] < 0.9 * scaled["median γ|w|/σ"]


def test_rho_is_not_invariant_when_gamma_is_traded_for_what_follows():
    """Gamma and beta times 4 behind a ReLU: outputs stay; rho is 4 times, the next a quarter."""
    net, x = build().double(), images(dtype=torch.float64)
    layers = list(ratios.bn_layers(net).values())
    for layer in layers:
        layer.eps, layer.momentum = 1e-12, 1.0  # the running statistics are the last batch's
    first, rho = net.train()(x), invariant.rho(net)
    with torch.no_grad():
        layers[0].weight.mul_(4)
        layers[0].bias.mul_(4)
    torch.testing.assert_close(net(x), first, rtol=1e-6, atol=1e-6)
    quotient = invariant.rho(net) / rho
    number = ratios.channels(net)["bn_layer"]
    for layer, wanted in ((1, 4), (2, 0.25), (3, 1), (4, 1)):
        np.testing.assert_allclose(quotient[number == layer], wanted, rtol=1e-4)
