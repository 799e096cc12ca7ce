import copy
from itertools import product

import numpy as np
import planted
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from bn_memorization import gradnorm, models, train
from bn_memorization.errors import BadInput
from bn_memorization.gradnorm import gradients_in_batch, per_sample_norms

pytestmark = pytest.mark.usefixtures("one_thread")

N, CLASSES = 7, 3


def batch(*shape, seed=0, n=N):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, *shape, generator=generator)
    return x, torch.randint(0, CLASSES, (n,), generator=generator)


def settled(model, seed=0):
    """Give every parameter and buffer a value of its own, as training would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1 * torch.randn(value.shape, generator=generator))
        for value in model.buffers():
            if value.is_floating_point():
                value.add_(0.3 * torch.rand(value.shape, generator=generator))
    return model


def one_by_one(model, x, y):
    """Return each sample's norm from a batch of one, by plain backward: what must come out."""
    model = copy.deepcopy(model).eval()
    norms = []
    for i in range(len(x)):
        model.zero_grad()
        F.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
        squares = [p.grad.double().square().sum() for p in model.parameters() if p.grad is not None]
        norms.append(float(torch.stack(squares).sum().sqrt()))
    return np.array(norms)


def lenet(norm):
    return models.build("lenet", norm, in_channels=1, image_size=12, classes=CLASSES, seed=0)


class Residual(nn.Module):
    """A block whose output has two ways back, and an activation that overwrites its input."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(2)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)) + x) * 1.0


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(2), nn.Conv2d(2, 3, 1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(F.relu(self.norm(x)))], 1)


def head(channels):
    return nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, CLASSES)


def frozen(*layers):
    for layer in layers:
        layer.requires_grad_(False)
    return layers


# Each layer kind with the settings that its rule must know, then whole networks.
NETWORKS = {
    "linear": (lambda: nn.Linear(5, CLASSES), (5,)),
    "linear, no bias": (lambda: nn.Linear(5, CLASSES, bias=False), (5,)),
    "batch norm 1d": (lambda: nn.Sequential(nn.BatchNorm1d(CLASSES)), (CLASSES,)),
    "batch norm 2d": (lambda: nn.Sequential(nn.BatchNorm2d(2), *head(2)), (2, 4, 4)),
    "group norm": (lambda: nn.Sequential(nn.GroupNorm(2, 4), *head(4)), (4, 3, 3)),
    "layer norm on a vector": (lambda: nn.Sequential(nn.GroupNorm(1, CLASSES)), (CLASSES,)),
    "fixed gamma": (
        lambda: nn.Sequential(models.NORMS["batch_fixed_gamma"](CLASSES, False)),
        (CLASSES,),
    ),
    "cut statistics": (
        lambda: nn.Sequential(models.NORMS["batch_cut"](2, True), *head(2)),
        (2, 4, 4),
    ),
    "affine": (lambda: nn.Sequential(models.ChannelAffine(2), *head(2)), (2, 3, 3)),
    "affine on a vector": (lambda: models.ChannelAffine(CLASSES), (CLASSES,)),
    "in place": (
        lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(inplace=True), nn.Linear(4, CLASSES)),
        (5,),
    ),
    "residual": (
        lambda: nn.Sequential(nn.Conv2d(1, 2, 1), Residual(), Residual(), *head(2)),
        (1, 6, 6),
    ),
    "dense": (lambda: nn.Sequential(nn.Conv2d(1, 2, 1), Dense(), *head(5)), (1, 6, 6)),
}
for stride, padding, dilation, kernel in product((1, 2), (0, 1), (1, 2), (2, (3, 1))):
    convolution = {"stride": stride, "padding": padding, "dilation": dilation}
    NETWORKS[f"convolution {kernel} {convolution}"] = (
        lambda k=kernel, c=convolution: nn.Sequential(nn.Conv2d(2, 3, k, **c), *head(3)),
        (2, 7, 6),
    )
NETWORKS |= {f"lenet, {norm}": (lambda n=norm: lenet(n), (1, 12, 12)) for norm in models.NORMS}


@pytest.mark.parametrize("norm", ["batch", "none"])
@pytest.mark.parametrize("arch", ["resnet8", "densenet22"])
def test_deep_networks_too(arch, norm):
    model = models.build(arch, norm, in_channels=3, image_size=32, classes=CLASSES, seed=0)
    model = model.to(memory_format=torch.channels_last)
    x, y = batch(3, 32, 32, n=3)
    found = per_sample_norms(model, x, y, bn_mode="running")
    np.testing.assert_allclose(found, one_by_one(model, x, y), rtol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
def test_running_mode_equals_a_batch_of_one(name, form):
    build, shape = NETWORKS[name]
    if form == torch.channels_last and len(shape) < 3:
        pytest.skip("vectors have one memory format")
    model = settled(build()).to(memory_format=form)
    x, y = batch(*shape)
    found = per_sample_norms(model, x.contiguous(memory_format=form), y, bn_mode="running")
    assert found.dtype == np.float64
    assert found.shape == (N,)
    np.testing.assert_allclose(found, one_by_one(model, x, y), rtol=1e-5)


@pytest.mark.parametrize("name", ["lenet, batch", "lenet, none", "residual", "dense"])
def test_in_double_precision_they_agree_to_the_last_digits(name):
    build, shape = NETWORKS[name]
    model = settled(build()).double()
    x, y = batch(*shape)
    found = per_sample_norms(model, x.double(), y, bn_mode="running")
    np.testing.assert_allclose(found, one_by_one(model, x.double(), y), rtol=1e-12)


def test_by_hand():
    """Two classes, equal logits: the logits' gradient is (-1/2, 1/2), outer (3, 4), plus bias."""
    model = nn.Linear(2, 2)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    found = per_sample_norms(
        model, torch.tensor([[3.0, 4.0]]), torch.tensor([0]), bn_mode="running"
    )
    assert found == pytest.approx([np.sqrt(0.5 * (25 + 1))])


def test_a_fitted_sample_keeps_its_digits():
    """Where p rounds to 1 in float32 the gradient is not 0: it is 1 - p = e^-20."""
    model = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[20.0], [0.0]]))
    found = per_sample_norms(model, torch.ones(1, 1), torch.tensor([0]), bn_mode="running")
    assert found == pytest.approx([np.sqrt(2) * np.exp(-20) / (1 + np.exp(-20))], rel=1e-6)


@pytest.mark.parametrize("chunk", [1, 3, N, 100])
def test_the_size_of_a_pass_does_not_matter(chunk, monkeypatch):
    model, (x, y) = settled(lenet("batch")), batch(1, 12, 12)
    whole = per_sample_norms(model, x, y, bn_mode="running")
    monkeypatch.setattr(gradnorm, "CHUNK", chunk)
    np.testing.assert_allclose(per_sample_norms(model, x, y, bn_mode="running"), whole, rtol=1e-5)


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(N)))
def test_running_norms_follow_their_samples(order):
    model, (x, y) = settled(lenet("batch")), batch(1, 12, 12)
    found = per_sample_norms(model, x[order], y[order], bn_mode="running")
    whole = per_sample_norms(model, x, y, bn_mode="running")
    np.testing.assert_allclose(found, whole[list(order)], rtol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_frozen_weights_count_in_running_mode(norm):
    model, (x, y) = settled(lenet(norm)), batch(1, 12, 12)
    wanted = per_sample_norms(model, x, y, bn_mode="running")
    frozen(*(layer for layer in model if isinstance(layer, nn.Linear | nn.Conv2d)))
    np.testing.assert_array_equal(per_sample_norms(model, x, y, bn_mode="running"), wanted)


def test_of_a_fixed_gamma_only_beta_counts():
    """With gamma 1, and with the gradient of every logit that of a softmax less its label."""
    layer, (x, y) = models.NORMS["batch_fixed_gamma"](CLASSES, False), batch(CLASSES)
    found = per_sample_norms(nn.Sequential(layer), x, y, bn_mode="running")
    slope = F.softmax(layer.eval()(x).detach(), 1) - F.one_hot(y, CLASSES)
    np.testing.assert_allclose(found, slope.norm(dim=1), rtol=1e-5)
    free = models.NORMS["batch"](CLASSES, False)
    assert (per_sample_norms(nn.Sequential(free), x, y, bn_mode="running") > found).all()


def test_cut_statistics_are_seen_in_batch_mode_alone():
    x, y = batch(1, 12, 12)
    cut, whole = settled(lenet("batch_cut")), settled(lenet("batch"))
    running = [per_sample_norms(net, x, y, bn_mode="running") for net in (cut, whole)]
    np.testing.assert_array_equal(*running)
    in_batch = [per_sample_norms(net, x, y, bn_mode="batch") for net in (cut, whole)]
    assert (np.abs(in_batch[0] / in_batch[1] - 1) > 1e-3).all()


def test_no_sample_has_no_norm():
    x, y = batch(1, 12, 12)
    found = per_sample_norms(lenet("batch"), x[:0], y[:0], bn_mode="running")
    assert found.shape == (0,)


@pytest.mark.parametrize("norm", models.NORMS)
def test_batch_gradients_sum_to_the_gradient_of_the_batch(norm):
    model, (x, y) = settled(lenet(norm)).double(), batch(1, 12, 12)
    x = x.double()
    found = gradients_in_batch(model, x, y)
    assert found.shape == (N, sum(p.numel() for p in model.parameters() if p.requires_grad))
    reference = copy.deepcopy(model).train()
    F.cross_entropy(reference(x), y, reduction="sum").backward()
    wanted = torch.cat([p.grad.flatten() for p in reference.parameters() if p.requires_grad])
    torch.testing.assert_close(found.sum(0), wanted, rtol=1e-9, atol=1e-12)
    norms = per_sample_norms(model, x, y, bn_mode="batch")
    np.testing.assert_allclose(norms, found.norm(dim=1).numpy(), rtol=1e-12)


def test_a_batch_gradient_is_what_its_loss_changes():
    """Central differences of one sample's loss in train mode, along a random direction."""
    model, (x, y) = settled(lenet("batch")).double().train(), batch(1, 12, 12)
    x, i, step = x.double(), 2, 1e-6
    parameters = list(model.parameters())
    direction = [torch.randn_like(p) for p in parameters]
    row = gradients_in_batch(model, x, y)[i]
    wanted = row @ torch.cat([d.flatten() for d in direction])
    losses = []
    with torch.no_grad():
        for side in (1, -2):
            for p, d in zip(parameters, direction, strict=True):
                p.add_(d, alpha=side * step)
            losses.append(F.cross_entropy(model(x), y, reduction="none")[i])
    assert float((losses[0] - losses[1]) / (2 * step)) == pytest.approx(float(wanted), rel=1e-5)


def test_running_norms_do_not_sum_like_that_and_batch_norms_do_not_stand_alone():
    """The two modes are two quantities under BN, and one without it."""
    x, y = batch(1, 12, 12)
    model = settled(lenet("batch"))
    modes = {mode: per_sample_norms(model, x, y, bn_mode=mode) for mode in gradnorm.MODES}
    assert (np.abs(modes["running"] / modes["batch"] - 1) > 1e-3).all()
    part = per_sample_norms(model, x[:4], y[:4], bn_mode="batch")
    assert (np.abs(part / modes["batch"][:4] - 1) > 1e-3).all()
    plain = lenet("none")
    np.testing.assert_allclose(
        per_sample_norms(plain, x, y, bn_mode="running"),
        per_sample_norms(plain, x, y, bn_mode="batch"),
        rtol=1e-5,
    )


def state(model):
    """Return all that a measurement could leave behind."""
    return {
        "values": [v.numpy().tobytes() for v in model.state_dict().values()],
        "modes": [m.training for m in model.modules()],
        "grads": [None if p.grad is None else p.grad.numpy().tobytes() for p in model.parameters()],
        "frozen": [p.requires_grad for p in model.parameters()],
        "hooks": [(len(m._forward_hooks), len(m._backward_hooks)) for m in model.modules()],
        "seed": torch.get_rng_state().numpy().tobytes(),
    }


def mixed(model):
    """Put the model into modes and gradients that no measurement would choose."""
    model.train()
    model[1].eval()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    model[0].register_forward_hook(lambda *_: None)
    return model


@pytest.mark.parametrize("mode", gradnorm.MODES)
def test_the_model_stays_as_it_was(mode):
    model, (x, y) = mixed(settled(lenet("batch"))), batch(1, 12, 12)
    before = state(model)
    with torch.no_grad():
        first = per_sample_norms(model, x, y, bn_mode=mode)
    assert state(model) == before
    assert not x.requires_grad
    np.testing.assert_array_equal(per_sample_norms(model, x, y, bn_mode=mode), first)


@pytest.mark.parametrize("mode", gradnorm.MODES)
def test_the_model_stays_as_it_was_when_the_pass_fails(mode):
    model, (x, y) = mixed(settled(lenet("batch"))), batch(1, 12, 12)
    before = state(model)
    with pytest.raises(IndexError):
        per_sample_norms(model, x, y + CLASSES, bn_mode=mode)
    assert state(model) == before
    with pytest.raises(RuntimeError):
        per_sample_norms(model, x[:, :, :11, :11], y, bn_mode=mode)  # fails in the middle
    assert state(model) == before


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, CLASSES)

    def forward(self, x):
        return self.layer(self.layer(x))


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.scale * x


class Sub(nn.Linear):
    """Might compute something else."""


def tied():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    return model


@pytest.mark.parametrize(
    ("build", "shape", "words"),
    [
        (Twice, (3,), "layer .*used twice"),
        (lambda: nn.Sequential(nn.Identity(), Bare()), (3,), "Layer 1 .*no per-sample rule"),
        (lambda: nn.Sequential(Sub(3, 3)), (3,), "Layer 0 .*no per-sample rule.*Linear"),
        (lambda: nn.LayerNorm(3), (3,), "the model .*no per-sample rule"),
        (lambda: nn.Sequential(nn.Conv2d(2, 2, 1, groups=2)), (2, 3, 3), "Layer 0 .*one group"),
        (lambda: nn.Conv2d(2, 2, 3, padding="same"), (2, 3, 3), "padded with zeros"),
        (
            lambda: nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular"),
            (2, 3, 3),
            "padded with zeros",
        ),
        (
            lambda: nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False)),
            (3,),
            "Layer 0 .*no statistics",
        ),
        (tied, (3,), "Layer 1 .*shares a parameter"),
        (
            lambda: nn.Sequential(nn.Linear(3, 3), nn.Flatten()),
            (2, 3),
            "only inputs .N, features.",
        ),
    ],
)
def test_what_the_fast_path_cannot_do_is_refused_by_name(build, shape, words):
    model, (x, y) = build(), batch(*shape)
    before = [m.training for m in model.modules()]
    with pytest.raises(BadInput, match=words):
        per_sample_norms(model, x, y, bn_mode="running")
    assert [m.training for m in model.modules()] == before
    assert not any(m._forward_hooks for m in model.modules())


def test_modes_are_named():
    x, y = batch(5)
    with pytest.raises(BadInput, match="bn_mode"):
        per_sample_norms(nn.Linear(5, 3), x, y, bn_mode="eval")


def test_one_sample_is_no_batch():
    x, y = batch(5, n=1)
    with pytest.raises(BadInput, match="at least 2 samples, not 1"):
        per_sample_norms(nn.Linear(5, 3), x, y, bn_mode="batch")


def test_the_probe_measures_the_first_samples_of_both_subsets(monkeypatch):
    monkeypatch.setattr(gradnorm, "PROBED", 5)
    sample = train.draw(planted.config(), planted.planted_set(), torch.device("cpu"))
    model = settled(lenet("batch"))
    found = gradnorm.probe(model, sample)
    assert found.keys() == {"norm_corrupted", "norm_clean"}
    for subset in ("corrupted", "clean"):
        x, y = sample.subsets[subset]
        wanted = one_by_one(model, x[:5], y[:5])
        assert found[f"norm_{subset}"].dtype == np.float32
        np.testing.assert_allclose(found[f"norm_{subset}"], wanted, rtol=1e-5)


def test_the_probe_changes_no_run():
    config, data = planted.config(), planted.planted_set()
    bare, probed = train.fit(config, data), train.fit(config, data, probes=(gradnorm.probe,))
    for name, values in bare.arrays.items():
        np.testing.assert_array_equal(probed.arrays[name], values)
    assert probed.arrays["norm_corrupted"].shape == (3, 12)  # 2 epochs; a quarter of 48
    assert probed.arrays["norm_clean"].shape == (3, 24)
