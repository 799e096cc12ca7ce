import numpy as np
import pytest
import torch
from torch import nn

from bn_memorization import models
from bn_memorization.errors import BadInput
from bn_memorization.norms import CutBatchNorm1d, CutBatchNorm2d

NORMS = sorted(models.NORMS)
NORMALIZED = [norm for norm in NORMS if norm != models.PLAIN]


def build(norm="batch", arch="lenet", **changes):
    shape = {"in_channels": 1, "image_size": 28, "classes": 10, "seed": 0}
    return models.build(arch, norm, **shape | changes)


def weighted(net):
    return [layer for layer in net if isinstance(layer, nn.Conv2d | nn.Linear)]


def normalizers(net):
    """Return the layers right before the activations."""
    before = [net[i - 1] for i, layer in enumerate(net) if isinstance(layer, nn.ReLU)]
    assert len(before) == 4
    return before


def images(batch=5, channels=1, size=28):
    return torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("norm", NORMALIZED)
@pytest.mark.parametrize(("channels", "size", "classes"), [(1, 28, 10), (3, 32, 100)])
def test_arms_share_every_initial_weight(norm, channels, size, classes):
    shape = {"in_channels": channels, "image_size": size, "classes": classes, "seed": 7}
    pairs = list(zip(weighted(build(norm, **shape)), weighted(build("none", **shape)), strict=True))
    assert len(pairs) == 5
    for layer, plain in pairs:
        assert torch.equal(layer.weight, plain.weight)
        assert torch.equal(layer.bias, plain.bias)


def test_the_seed_decides_the_weights():
    first, again, other = (weighted(build(seed=seed)) for seed in (1, 1, 2))
    for one, same, different in zip(first, again, other, strict=True):
        assert torch.equal(one.weight, same.weight)
        assert not torch.equal(one.weight, different.weight)
        assert not torch.equal(one.bias, different.bias)


@pytest.mark.parametrize("norm", NORMS)
def test_global_random_state_is_neither_read_nor_moved(norm):
    weights = []
    for state in (11, 12):
        torch.manual_seed(state)
        np.random.seed(state)  # noqa: NPY002 - the global generator is what is tested
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        weights.append(weighted(build(norm))[0].weight)
        assert torch.equal(torch.get_rng_state(), before[0])
        assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert torch.equal(*weights)


def test_random_state_of_accelerators_is_not_moved(monkeypatch):
    def moved(seed):
        raise AssertionError("an accelerator's generator was seeded")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", moved)
    build()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("size", [12, 13, 27, 28, 31, 32])
@pytest.mark.parametrize("channels", [1, 3])
def test_output_shape(norm, size, channels):
    net = build(norm, in_channels=channels, image_size=size, classes=100)
    assert net(images(2, channels, size)).shape == (2, 100)


@pytest.mark.parametrize("size", [28, 32])
def test_it_is_lenet_5(size):
    """61,706 weights: the textbook count, the same for 28 and for padded 32 pixel images."""
    net = build("none", image_size=size)
    assert sum(p.numel() for p in net.parameters()) == 61_706
    assert net(images(2, size=size)).shape == (2, 10)


@pytest.mark.parametrize("size", [0, 11, 33])
def test_other_image_sizes_are_refused(size):
    with pytest.raises(BadInput, match=rf"images of 12 to 32 pixels, not {size}\."):
        build(image_size=size)


@pytest.mark.parametrize(
    ("norm", "kinds"),
    [
        ("batch", [nn.BatchNorm2d] * 2 + [nn.BatchNorm1d] * 2),
        ("batch_fixed_gamma", [nn.BatchNorm2d] * 2 + [nn.BatchNorm1d] * 2),
        ("batch_cut", [CutBatchNorm2d] * 2 + [CutBatchNorm1d] * 2),
        ("group", [nn.GroupNorm] * 4),
        ("layer", [nn.GroupNorm] * 4),
        ("affine", [models.ChannelAffine] * 4),
        ("none", [nn.Identity] * 4),
    ],
)
def test_norm_stands_before_each_of_four_activations_and_nowhere_else(norm, kinds):
    net = build(norm)
    layers = normalizers(net)
    assert [type(layer) for layer in layers] == kinds
    assert sum(isinstance(layer, kinds[0] | kinds[-1]) for layer in net) == 4
    for layer, channels in zip(layers, (6, 16, 120, 84), strict=True):
        if norm != models.PLAIN:
            assert torch.equal(layer.weight, torch.ones(channels))
            assert torch.equal(layer.bias, torch.zeros(channels))


def test_plain_arm_has_nothing_but_its_weighted_layers():
    net = build("none")
    kept = sum(p.numel() for layer in weighted(net) for p in layer.parameters())
    assert sum(p.numel() for p in net.parameters()) == kept
    assert not list(net.buffers())


def test_only_batch_norm_keeps_statistics():
    for norm in NORMS:
        assert bool(list(build(norm).buffers())) == norm.startswith("batch"), norm


@pytest.mark.parametrize("norm", ["none", "group", "layer", "affine"])
def test_a_sample_does_not_see_its_batch_without_batch_norm(norm):
    net, x = build(norm).train(), images(4)
    torch.testing.assert_close(net(x)[:1], net(x[:1]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "batch_fixed_gamma", "batch_cut"])
def test_a_sample_sees_its_batch_with_batch_norm(norm):
    net, x = build(norm).train(), images(4)
    assert not torch.allclose(net(x)[:1], net(x[[0, 3]])[:1], rtol=1e-2)


def test_affine_starts_as_the_plain_network():
    x = images()
    assert torch.equal(build("affine")(x), build("none")(x))


@pytest.mark.parametrize("positions", [(), (1, 1), (2, 3)])
def test_channel_affine_by_hand(positions):
    layer = models.ChannelAffine(2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([2.0, -1.0]))
        layer.bias.copy_(torch.tensor([1.0, 0.5]))
    x = torch.zeros(1, 2, *positions)
    x[:, 0], x[:, 1] = 3.0, 4.0
    y = layer(x)
    assert y.shape == x.shape
    assert (y[:, 0] == 7.0).all()
    assert (y[:, 1] == -3.5).all()


def test_layer_norm_takes_all_channels_and_positions_of_one_sample_together():
    layers = normalizers(build("layer"))
    assert [layer.num_groups for layer in layers] == [1] * 4
    x = 5 + 3 * torch.randn(2, 6, 4, 4, generator=torch.Generator().manual_seed(0))
    y = layers[0](x)
    torch.testing.assert_close(y.mean((1, 2, 3)), torch.zeros(2), rtol=0, atol=1e-5)
    torch.testing.assert_close(y.var((1, 2, 3), correction=0), torch.ones(2), rtol=0, atol=1e-3)
    assert y.mean((2, 3)).abs().max() > 0.01  # a single channel is not centered


def test_group_norm_divides_the_channels():
    assert [layer.num_groups for layer in normalizers(build("group"))] == [2, 4, 4, 4]


def test_unknown_architecture():
    with pytest.raises(
        BadInput, match=r"architecture 'lenett'. Did you mean 'lenet'\? .*: .*lenet"
    ):
        build(arch="lenett")


def test_unknown_norm_lists_all():
    listed = r"affine, batch, batch_cut, batch_fixed_gamma, group, layer, none\."
    with pytest.raises(BadInput, match=rf"norm 'bach'.*'batch'.*: {listed}"):
        build("bach")
