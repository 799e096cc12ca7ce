import copy
import math

import numpy as np
import planted
import pytest
import torch
from lived_in import build, images, lived_in
from torch import nn

from bn_memorization import models, ratios, train
from bn_memorization.errors import BadInput

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def by_hand():
    net = nn.Sequential(nn.BatchNorm1d(2, eps=0.25), nn.ReLU(), nn.BatchNorm1d(1, eps=1.0))
    net[0].weight.data = torch.tensor([-3.0, 0.5])
    net[0].running_var = torch.tensor([2.0, 0.0])
    net[2].weight.data = torch.tensor([4.0])
    net[2].running_var = torch.tensor([3.0])
    return net


def test_ratios_by_hand():
    """Sigma holds eps: sqrt(2.25) = 1.5, sqrt(.25) = .5 and sqrt(4) = 2."""
    found = ratios.gamma_sigma(by_hand())
    assert list(found) == ["layer", "channel", "gamma", "sigma", "ratio"]
    assert found.values.tolist() == [
        [1, 0, -3.0, 1.5, 2.0],
        [1, 1, 0.5, 0.5, 1.0],
        [2, 0, 4.0, 2.0, 2.0],
    ]


def test_channels_by_hand():
    found = ratios.channels(by_hand())
    assert found["gamma"].tolist() == [-3.0, 0.5, 4.0]
    assert found["sigma"].tolist() == [1.5, 0.5, 2.0]
    assert found["bn_layer"].tolist() == [1, 1, 2]
    assert {name: a.dtype.name for name, a in found.items()} == {
        "gamma": "float32",
        "sigma": "float32",
        "bn_layer": "int16",
    }


def test_sigma_is_what_eval_mode_divides_by():
    net = lived_in(dtype=torch.float64)
    seen = {}
    for path, layer in ratios.bn_layers(net).items():
        layer.register_forward_hook(lambda m, i, o, path=path: seen.update({path: (m, i[0], o)}))
    net(images(dtype=torch.float64))
    table = ratios.gamma_sigma(net)
    for number, (layer, u, y) in enumerate(seen.values(), 1):
        rows = table[table.layer == number]
        assert list(rows.channel) == list(range(layer.num_features))
        moved = (y[1] - y[0]).flatten(1) if u.ndim > 2 else (y[1] - y[0])[:, None]
        came = (u[1] - u[0]).flatten(1) if u.ndim > 2 else (u[1] - u[0])[:, None]
        slope = torch.tensor((rows.gamma / rows.sigma).to_numpy())[:, None]
        torch.testing.assert_close(moved, slope * came, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("norm", ["none", "group", "layer", "affine"])
def test_without_bn_there_are_no_rows_and_empty_arrays(norm):
    net = build(norm=norm)
    assert len(ratios.gamma_sigma(net)) == 0
    assert list(ratios.gamma_sigma(net)) == list(ratios.COLUMNS)
    assert {name: array.shape for name, array in ratios.channels(net).items()} == {
        "gamma": (0,),
        "sigma": (0,),
        "bn_layer": (0,),
    }
    assert ratios.batch_sigma(net, images()).shape == (0,)


@pytest.mark.parametrize("arch", models.ARCHITECTURES)
def test_every_bn_channel_of_every_architecture_is_there(arch):
    net = build(arch)
    gammas = [m.weight for m in net.modules() if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]
    found = ratios.gamma_sigma(net)
    assert len(found) == sum(gamma.numel() for gamma in gammas) > 0
    assert found.layer.max() == len(gammas)
    assert len(ratios.batch_sigma(net, images(4))) == len(found)


def test_the_probe_is_stacked_over_epochs_and_ends_at_the_trained_network():
    data, config = planted.planted_set(), planted.config()
    run = train.fit(config, data, probes=(ratios.probe,))
    channels = 6 + 16 + 120 + 84
    for name in ("gamma", "sigma", "bn_layer"):
        assert run.arrays[name].shape == (3, channels)
    # Before training: gamma is 1, and the running variance 1 too.
    assert (run.arrays["gamma"][0] == 1).all()
    np.testing.assert_allclose(run.arrays["sigma"][0], math.sqrt(1 + 1e-5))
    net = train.new_model(config, data, torch.device("cpu"))
    sample = train.draw(config, data, torch.device("cpu"))
    train.optimize(net, sample.x, sample.y, config, lambda epoch: None)
    last = ratios.gamma_sigma(net)
    np.testing.assert_array_equal(run.arrays["gamma"][-1], last.gamma.astype(np.float32))
    np.testing.assert_array_equal(run.arrays["sigma"][-1], last.sigma.astype(np.float32))
    np.testing.assert_array_equal(run.arrays["bn_layer"][-1], last.layer)


def test_the_probe_takes_no_part_in_the_training():
    data = planted.planted_set()
    for norm in ("batch", "none"):
        alone = train.fit(planted.config(norm=norm), data)
        probed = train.fit(planted.config(norm=norm), data, probes=(ratios.probe,))
        for name, array in alone.arrays.items():
            assert np.array_equal(array, probed.arrays[name]), name
    assert probed.arrays["gamma"].shape == (3, 0)


def test_batch_sigma_is_that_of_a_training_pass():
    """Each layer's sigma turns its normalized output into the input again, in training mode."""
    net, x = lived_in(dtype=torch.float64), images(dtype=torch.float64)
    found = ratios.batch_sigma(net, x)
    twin, wanted = copy.deepcopy(net).train(), []
    u = x
    with torch.no_grad():
        for module in twin:
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                axes = [0, *range(2, u.ndim)]
                wanted.append(((u - u.mean(axes, keepdim=True)) ** 2).mean(axes) + module.eps)
            u = module(u)
    np.testing.assert_allclose(found, torch.cat(wanted).sqrt(), rtol=1e-6)


def test_batch_sigma_leaves_everything_as_it_was():
    net = lived_in()
    net[0].train()  # a mode of one layer alone
    modes = [module.training for module in net.modules()]
    before = copy.deepcopy(net.state_dict())
    first = ratios.batch_sigma(net, images())
    assert [module.training for module in net.modules()] == modes
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert not any(module._forward_pre_hooks for module in net.modules())
    assert all(parameter.grad is None for parameter in net.parameters())
    assert len(first) == 226


def test_batch_sigma_puts_all_back_after_an_error_too():
    net = lived_in()
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(RuntimeError):
        ratios.batch_sigma(net, torch.zeros(4, 2, 12, 12))  # two colors
    assert not any(module.training for module in net.modules())
    assert not any(module._forward_pre_hooks for module in net.modules())
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_batch_sigma_does_not_depend_on_order_or_mode():
    net, x = lived_in(), images()
    eval_mode = ratios.batch_sigma(net, x)
    np.testing.assert_allclose(ratios.batch_sigma(net, x.flip(0)), eval_mode, rtol=1e-5)
    np.testing.assert_array_equal(ratios.batch_sigma(net.train(), x), eval_mode)
    assert not np.allclose(ratios.batch_sigma(net, x[:8]), eval_mode, rtol=1e-3)


@pytest.mark.parametrize("n", [0, 1])
def test_batch_sigma_needs_a_batch(n):
    with pytest.raises(BadInput, match=f"A batch of {n} has no variance"):
        ratios.batch_sigma(build(), images(n))


@pytest.mark.parametrize("c", [0.25, 0.5, 2.0, 4.0])
def test_rescaling_by_a_power_of_two_changes_no_bit_of_the_output(c):
    net, x = lived_in(), images()
    scaled = ratios.rescaled(net, c)
    assert torch.equal(scaled(x), net(x))
    before, after = ratios.gamma_sigma(net), ratios.gamma_sigma(scaled)
    np.testing.assert_allclose(after.ratio, before.ratio / c, rtol=1e-6)
    assert torch.equal(net[1].weight, scaled[1].weight)


@pytest.mark.parametrize("c", [0.3, 7.0])
def test_rescaling_keeps_training_passes_too(c):
    net, x = lived_in(dtype=torch.float64), images(dtype=torch.float64)
    scaled = ratios.rescaled(net, c)
    torch.testing.assert_close(scaled.train()(x), net.train()(x), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(scaled.eval()(x), net.eval()(x), rtol=1e-9, atol=1e-9)


def test_rescaling_returns_a_copy():
    net = lived_in()
    before = copy.deepcopy(net.state_dict())
    ratios.rescaled(net, 2.0)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(layer.eps == 1e-5 for layer in ratios.bn_layers(net).values())


def test_with_eps_as_it_was_the_output_changes_where_eps_is_felt():
    net, x = lived_in(dtype=torch.float64), images(dtype=torch.float64)
    for layer in ratios.bn_layers(net).values():
        layer.eps = 1e-3
    kept = ratios.rescaled(net, 0.25, scale_eps=False)
    assert (kept(x) - net(x)).abs().max() > 1e-4
    assert all(layer.eps == 1e-3 for layer in ratios.bn_layers(kept).values())
    assert (ratios.rescaled(net, 0.25)(x) - net(x)).abs().max() < 1e-12


@pytest.mark.parametrize("arch", models.ARCHITECTURES)
def test_rescaling_every_architecture(arch):
    """Only layers whose output goes to BN alone are scaled; some BN layers may have none."""
    net, x = lived_in(arch, torch.float64), images(4, torch.float64)
    scaled = ratios.rescaled(net, 2.0)
    torch.testing.assert_close(scaled(x), net(x), rtol=1e-9, atol=1e-9)
    halved = ratios.gamma_sigma(scaled).ratio / ratios.gamma_sigma(net).ratio
    assert set(halved.round(3)) <= {0.5, 1.0}
    assert (halved.round(3) == 0.5).sum() > 0.3 * len(halved)
    if arch in ("lenet", "resnet8", "resnet18"):
        assert (halved.round(3) == 0.5).all()


class Reused(nn.Module):
    """The convolution's output goes to BN and around it."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)

    def forward(self, x):
        u = self.conv(x)
        return self.bn(u) + u


@pytest.mark.parametrize("net", [Reused(), nn.BatchNorm1d(3), nn.Linear(2, 2)])
def test_nothing_to_rescale(net):
    with pytest.raises(BadInput, match="No batch normalization directly follows"):
        ratios.rescaled(nn.Sequential(net), 2.0)


@pytest.mark.parametrize("c", [0, -1, math.nan])
def test_a_factor_that_is_not_above_zero(c):
    with pytest.raises(BadInput, match=rf"c={c} must be above 0"):
        ratios.rescaled(build(), c)


def test_weight_norms_by_hand():
    """Rows (3, 4) and (0, 2) feed the first BN; an activation stands before the second."""
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU(), nn.BatchNorm1d(2))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[3.0, 4.0], [0.0, -2.0]]))
    found = ratios.weight_norms(net)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [5.0, 2.0, np.nan, np.nan])
    convolution = nn.Sequential(nn.Conv2d(1, 1, 2), nn.BatchNorm2d(1))
    with torch.no_grad():
        convolution[0].weight.copy_(torch.tensor([[[[1.0, 1.0], [1.0, 1.0]]]]))
    assert ratios.weight_norms(convolution).tolist() == [2.0]


@pytest.mark.parametrize("norm", ["batch", "batch_fixed_gamma", "batch_cut"])
@pytest.mark.parametrize("arch", models.ARCHITECTURES)
def test_weight_norms_stand_where_the_channels_stand(arch, norm):
    net = build(arch, norm)
    found, layers = ratios.weight_norms(net), ratios.channels(net)["bn_layer"]
    assert found.shape == layers.shape
    modules = dict(net.named_modules())
    fed = {layer: before for before, layer in ratios.fed_by_weights(net)}
    for number, path in enumerate(ratios.bn_layers(net), 1):
        part = found[layers == number]
        if modules[path] in fed:
            weight = fed[modules[path]].weight.detach().flatten(1)
            np.testing.assert_allclose(part, np.linalg.norm(weight.numpy(), axis=1), rtol=1e-5)
        else:
            assert np.isnan(part).all()
    assert np.isnan(found).any() == arch.startswith("densenet")
    assert np.isfinite(found).any()


@pytest.mark.parametrize("norm", ["none", "group", "layer", "affine"])
def test_without_bn_there_are_no_weight_norms(norm):
    assert ratios.weight_norms(build(norm=norm)).shape == (0,)


@pytest.mark.parametrize("c", [0.25, 3.0])
@pytest.mark.parametrize("arch", ["lenet", "resnet8", "densenet22"])
def test_ratio_times_weight_norm_does_not_know_the_scale(arch, c):
    net = lived_in(arch)
    scaled = ratios.rescaled(net, c)
    np.testing.assert_allclose(ratios.weight_norms(scaled), c * ratios.weight_norms(net), rtol=1e-6)
    before, after = (
        ratios.gamma_sigma(each).ratio.to_numpy() * ratios.weight_norms(each)
        for each in (net, scaled)
    )
    np.testing.assert_allclose(after, before, rtol=1e-5)


def test_weight_norms_are_in_a_run_of_every_epoch():
    run = train.fit(planted.config(), planted.planted_set(), probes=(ratios.probe,))
    norms = run.arrays["weight_norm"]
    assert norms.shape == run.arrays["gamma"].shape
    net = train.new_model(planted.config(), planted.planted_set(), torch.device("cpu"))
    np.testing.assert_array_equal(norms[0], ratios.weight_norms(net))
    assert (norms[1:] != norms[0]).all()


@pytest.mark.parametrize("norm", ["batch_fixed_gamma", "batch_cut"])
def test_other_kinds_of_batch_norm_are_measured_as_batch_norm_is(norm):
    """Both start from the same weights, so that one training pass gives the same statistics."""
    nets = [build(norm=each).double().train() for each in ("batch", norm)]
    x = images(dtype=torch.float64)
    with torch.no_grad():
        for net in nets:
            net(x)
    first, second = (ratios.channels(net) | {"s": ratios.batch_sigma(net, x)} for net in nets)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=1e-6)
    before = copy.deepcopy(nets[1].state_dict())
    ratios.batch_sigma(nets[1], x)
    assert all(torch.equal(value, before[name]) for name, value in nets[1].state_dict().items())
