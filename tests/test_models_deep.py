"""ResNet and DenseNet, each beside what is known of it."""

from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import models
from bn_memorization.densenet import DenseLayer
from bn_memorization.errors import BadInput
from bn_memorization.resnet import Block

pytestmark = pytest.mark.usefixtures("one_thread")

DEEP = ["resnet8", "resnet18", "densenet22", "densenet40"]
SMALL = ["resnet8", "densenet22"]
NORMS = sorted(models.NORMS)
NORM_LAYERS = nn.BatchNorm2d | nn.GroupNorm | models.ChannelAffine
every_deep = pytest.mark.parametrize("arch", DEEP)
every_small = pytest.mark.parametrize("arch", SMALL)


def build(arch, norm="batch", **changes):
    shape = {"in_channels": 3, "image_size": 32, "classes": 10, "seed": 0}
    return models.build(arch, norm, **shape | changes)


def images(batch=4, channels=3, size=32):
    return torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(1))


def count(net):
    return sum(parameter.numel() for parameter in net.parameters())


def layers(net, kind):
    return [module for module in net.modules() if isinstance(module, kind)]


@pytest.mark.parametrize(
    ("arch", "published"),
    [
        ("resnet18", 11_173_962),  # the CIFAR form, as widely reported: 11.17 million
        ("densenet40", 176_122),  # DenseNet-BC-40, k = 12: 0.18 million
    ],
)
def test_weights_are_as_many_as_published(arch, published):
    assert count(build(arch)) == published


def resnet8_by_hand():
    """Weights of each convolution, then 2 for each channel that is normalized."""
    stem = 3 * 16 * 9 + 2 * 16
    first = 2 * (16 * 16 * 9 + 2 * 16)
    second = (16 * 32 * 9 + 2 * 32) + (32 * 32 * 9 + 2 * 32) + (16 * 32 + 2 * 32)
    third = (32 * 64 * 9 + 2 * 64) + (64 * 64 * 9 + 2 * 64) + (32 * 64 + 2 * 64)
    return stem + first + second + third + 64 * 10 + 10


def densenet22_by_hand():
    """Three blocks of three layers: 24 channels grow to 60, 30 to 66 and 33 to 69."""

    def layer(channels):
        return 2 * channels + channels * 48 + 2 * 48 + 48 * 12 * 9

    def block(channels):
        return sum(layer(channels + 12 * i) for i in range(3))

    transitions = (2 * 60 + 60 * 30) + (2 * 66 + 66 * 33)
    return 3 * 24 * 9 + block(24) + block(30) + block(33) + transitions + 2 * 69 + 69 * 10 + 10


def test_weights_by_hand():
    assert count(build("resnet8")) == resnet8_by_hand() == 78_042
    assert count(build("densenet22")) == densenet22_by_hand() == 71_686


@every_deep
def test_depth_is_in_the_name(arch):
    """Layers with weights on the longest way: convolutions but shortcuts, and the classifier."""
    net = build(arch)
    on_the_way = [c for c in layers(net, nn.Conv2d) if "res" not in arch or c.kernel_size != (1, 1)]
    depth = len(on_the_way) + len(layers(net, nn.Linear))
    assert arch.endswith(str(depth))


@every_deep
@pytest.mark.parametrize(("channels", "size", "classes"), [(1, 28, 10), (3, 32, 100)])
def test_output_shape(arch, channels, size, classes):
    net = build(arch, in_channels=channels, image_size=size, classes=classes)
    assert net(images(2, channels, size)).shape == (2, classes)


@every_small
@pytest.mark.parametrize(("channels", "size"), [(3, 28), (1, 32), (3, 8), (3, 12)])
@pytest.mark.parametrize("norm", NORMS)
def test_output_shape_of_every_norm(arch, norm, channels, size):
    net = build(arch, norm, in_channels=channels, image_size=size)
    assert net(images(2, channels, size)).shape == (2, 10)


@every_deep
def test_images_too_small_are_refused(arch):
    with pytest.raises(BadInput, match="at least 8 pixels, not 7"):
        build(arch, image_size=7)


@every_deep
@pytest.mark.parametrize("norm", ["none", "group", "layer", "affine"])
def test_arms_share_every_weight(arch, norm):
    with_bn, other = build(arch, seed=7), build(arch, norm, seed=7)
    weighted = nn.Conv2d | nn.Linear
    pairs = list(zip(layers(with_bn, weighted), layers(other, weighted), strict=True))
    assert len(pairs) > 8
    for first, second in pairs:
        assert torch.equal(first.weight, second.weight)
        if isinstance(first, nn.Linear):
            assert torch.equal(first.bias, second.bias)


@every_small
def test_another_seed_has_other_weights(arch):
    first, second = (layers(build(arch, seed=seed), nn.Conv2d) for seed in (0, 1))
    assert not any(torch.equal(a.weight, b.weight) for a, b in zip(first, second, strict=True))


@every_deep
@pytest.mark.parametrize("norm", NORMS)
def test_convolutions_have_a_bias_in_the_plain_arm_alone_and_it_starts_at_zero(arch, norm):
    net = build(arch, norm)
    biases = [convolution.bias for convolution in layers(net, nn.Conv2d)]
    if norm == models.PLAIN:
        assert all((bias == 0).all() for bias in biases)
    else:
        assert biases == [None] * len(biases)


@every_deep
def test_plain_has_its_weighted_layers_and_nothing_else(arch):
    net = build(arch, "none")
    assert not layers(net, NORM_LAYERS)
    assert not list(net.buffers())
    assert count(net) == sum(count(layer) for layer in layers(net, nn.Conv2d | nn.Linear))


@every_small
@pytest.mark.parametrize(
    ("norm", "kind"),
    [("batch", nn.BatchNorm2d), ("group", nn.GroupNorm), ("layer", nn.GroupNorm),
     ("affine", models.ChannelAffine)],
)  # fmt: skip
def test_norm_layers_are_of_one_kind_and_as_many_in_every_arm(arch, norm, kind):
    net = build(arch, norm)
    assert len(layers(net, kind)) == len(layers(net, NORM_LAYERS))
    assert len(layers(net, kind)) == {"resnet8": 9, "densenet22": 21}[arch]


@every_deep
def test_every_weighted_and_norm_layer_is_used_once_in_a_pass(arch):
    net, calls = build(arch).eval(), Counter()
    used = layers(net, nn.Conv2d | nn.Linear | nn.BatchNorm2d)
    for layer in used:
        layer.register_forward_hook(lambda layer, *_: calls.update([layer]))
    net(images(2))
    assert calls == Counter(used)


@every_small
@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_trains_a_step_and_every_weight_gets_a_gradient(arch, norm):
    net, x, y = build(arch, norm).train(), images(8, size=16), torch.arange(8)
    optimizer = torch.optim.SGD(net.parameters(), 0.02)
    before = F.cross_entropy(net(x), y)
    before.backward()
    for name, parameter in net.named_parameters():
        if not parameter.requires_grad:  # gamma where it is fixed
            assert norm == "batch_fixed_gamma", name
            continue
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name
    optimizer.step()
    assert F.cross_entropy(net(x), y) < before


@every_deep
def test_a_plain_network_starts_with_logits_of_ordinary_size(arch):
    """Neither lost on the way through all blocks nor blown up: what lets it train."""
    with torch.no_grad():
        spread = build(arch, "none")(images(16)).std()
    assert 0.05 < spread < 2


@pytest.mark.parametrize(("arch", "blocks"), [("resnet8", 3), ("resnet18", 8)])
def test_the_last_convolution_of_each_branch_starts_smaller_in_all_arms(arch, blocks):
    for norm in ("batch", "none"):
        net = build(arch, norm)
        assert len(layers(net, Block)) == blocks
        for block in layers(net, Block):
            first, second = layers(block.branch, nn.Conv2d)
            for convolution, factor in ((first, 1), (second, blocks**-0.5)):
                fan_in = convolution.weight[0].numel()
                he = (2 / fan_in) ** 0.5
                assert convolution.weight.std().item() == pytest.approx(factor * he, rel=0.05)


def test_a_block_adds_its_branch_to_its_shortcut():
    block = layers(build("resnet8", "none"), Block)[0]
    x = images(2, 16, 8)
    torch.testing.assert_close(block(x), F.relu(x + block.branch(x)))
    block.shrink_branch(0.0)
    assert torch.equal(block(x), F.relu(x))


@pytest.mark.parametrize("norm", ["none", "affine"])
def test_a_dense_layer_keeps_its_input(norm):
    layer = layers(build("densenet22", norm), DenseLayer)[0]
    x = images(2, 24, 8)
    assert layer(x).shape == (2, 36, 8, 8)
    assert torch.equal(layer(x)[:, :24], x)


@every_small
def test_affine_starts_as_the_plain_network(arch):
    x = images(2)
    assert torch.equal(build(arch, "affine")(x), build(arch, "none")(x))
