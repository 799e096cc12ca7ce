import copy

import numpy as np
import planted
import pytest
import torch
from torch import nn

from bn_memorization import models, ratios, train
from bn_memorization.errors import BadInput
from bn_memorization.hold import weight_holder

BATCH = [norm for norm in models.NORMS if norm.startswith("batch")]


def network(norm="batch", arch="lenet", dtype=torch.float64):
    """Return a network whose running statistics are of real batches."""
    net = models.build(arch, norm, in_channels=1, image_size=12, classes=3, seed=0).to(dtype)
    with torch.no_grad():
        for seed in range(3):
            net.train()(images(seed, dtype))
    return net


def images(seed=0, dtype=torch.float64):
    return torch.randn(8, 1, 12, 12, generator=torch.Generator().manual_seed(seed)).to(dtype)


@torch.no_grad()
def moved(net):
    """Move the weights and biases before BN, each channel's norm by a factor of its own.

    Returns a copy whose running statistics are of the moved weights.
    """
    generator = torch.Generator().manual_seed(1)
    for before, _ in ratios.fed_by_weights(net):
        for value in before.parameters():
            value.add_(0.3 * torch.randn(value.shape, generator=generator, dtype=value.dtype))
    for seed in range(3):
        net.train()(images(seed))
    return copy.deepcopy(net)


@pytest.mark.parametrize("norm", BATCH)
@pytest.mark.parametrize("arch", ["lenet", "resnet8", "densenet22"])
def test_each_channel_gets_its_norm_back(norm, arch):
    net = network(norm, arch)
    started, hold = ratios.weight_norms(net), weight_holder(net)
    drifted = ratios.weight_norms(moved(net))
    held = np.isfinite(started)
    assert held.any()
    assert (np.abs(drifted / started - 1)[held] > 1e-3).mean() > 0.9
    hold()
    np.testing.assert_allclose(ratios.weight_norms(net), started, rtol=1e-6)


@pytest.mark.parametrize("norm", BATCH)
@pytest.mark.parametrize("arch", ["lenet", "resnet8", "densenet22"])
def test_no_output_changes_in_either_mode(norm, arch):
    """Without eps not at all: what BN makes of a layer does not depend on its scale."""
    net = network(norm, arch)
    for layer in ratios.bn_layers(net).values():
        layer.eps = 1e-30
    hold = weight_holder(net)
    free = moved(net)
    hold()
    x = images(5)
    torch.testing.assert_close(net.eval()(x), free.eval()(x), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(net.train()(x), free.train()(x), rtol=1e-8, atol=1e-8)


def test_with_the_usual_eps_outputs_change_by_little():
    net = network()
    hold = weight_holder(net)
    free = moved(net)
    hold()
    torch.testing.assert_close(net.eval()(images(5)), free.eval()(images(5)), rtol=1e-3, atol=1e-3)


def test_by_hand():
    """Weights (3, 4) of norm 5 became (6, 8): all of the channel is halved, its variance twice."""
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        hold = weight_holder(net)
        net[0].weight.copy_(torch.tensor([[6.0, 8.0], [0.0, 1.0]]))
        net[0].bias.copy_(torch.tensor([2.0, 3.0]))
        net[1].running_mean.copy_(torch.tensor([4.0, 5.0]))
        net[1].running_var.copy_(torch.tensor([8.0, 9.0]))
    hold()
    assert net[0].weight.tolist() == [[3.0, 4.0], [0.0, 1.0]]
    assert net[0].bias.tolist() == [1.0, 3.0]
    assert net[1].running_mean.tolist() == [2.0, 5.0]
    assert net[1].running_var.tolist() == [2.0, 9.0]
    assert net[1].weight.tolist() == [1.0, 1.0]


def test_layers_that_feed_no_bn_are_left_alone():
    net = network()
    hold = weight_holder(net)
    with torch.no_grad():
        net[-1].weight.mul_(2)
    before = net[-1].weight.clone()
    hold()
    assert torch.equal(net[-1].weight, before)


@pytest.mark.parametrize("norm", sorted(set(models.NORMS) - set(BATCH)))
def test_without_batch_normalization_there_is_nothing_to_hold(norm):
    with pytest.raises(BadInput, match=r"no weights to hold\. Use norm=batch, or hold_weights"):
        weight_holder(models.build("lenet", norm, in_channels=1, image_size=12, classes=3, seed=0))


def fit(**changes):
    return train.fit(planted.config(**changes), planted.planted_set(), probes=(ratios.probe,))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("penalty", ["none", "square"])
def test_a_run_keeps_its_norms_only_where_it_is_asked_to(optimizer, penalty):
    settings = {"optimizer": optimizer, "lr": 0.02, "penalty": penalty, "penalty_weight": 1.0}
    free, held = (fit(**settings, hold_weights=hold).arrays["weight_norm"] for hold in (0, 1))
    np.testing.assert_array_equal(free[0], held[0])
    np.testing.assert_allclose(held, held[[0] * len(held)], rtol=1e-5)
    assert np.abs(free[-1] / free[0] - 1).max() > 1e-2


def test_a_run_without_batch_normalization_cannot_hold():
    with pytest.raises(BadInput, match="no weights to hold"):
        fit(norm="none", hold_weights=True)
