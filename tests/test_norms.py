import numpy as np
import planted
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import ratios, train
from bn_memorization.norms import NORMS, CutBatchNorm1d, CutBatchNorm2d

SHAPES = [(12, 5), (4, 5, 3, 2)]  # vectors and images of five channels
TIGHT = {"rtol": 1e-6, "atol": 1e-6}


def drawn(shape, seed=0):
    """Return values in float64 whose mean and variance differ by channel."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    spread = torch.arange(1.0, 6.0, dtype=torch.float64).view(1, -1, *[1] * (len(shape) - 2))
    return x * spread + 3 * spread


def layer(norm, shape):
    """Return the layer in float64 with a gamma and a beta for each channel."""
    made = NORMS[norm](shape[1], len(shape) == 4).double()
    with torch.no_grad():
        made.weight.copy_(torch.linspace(0.5, 2.0, 5))
        made.bias.copy_(torch.linspace(-1.0, 1.0, 5))
    return made


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("momentum", [0.1, 0.5])
def test_cut_statistics_are_those_of_batch_normalization(shape, momentum):
    """Forward pass, running statistics and eval mode, over several batches."""
    cut, whole = layer("batch_cut", shape), layer("batch", shape)
    cut.momentum = whole.momentum = momentum
    assert type(cut) is (CutBatchNorm2d if len(shape) == 4 else CutBatchNorm1d)
    for seed in range(3):
        x = drawn(shape, seed)
        torch.testing.assert_close(cut(x), whole(x), **TIGHT)
        assert cut.state_dict().keys() == whole.state_dict().keys()
        for name, value in whole.state_dict().items():
            torch.testing.assert_close(cut.state_dict()[name], value, **TIGHT)
    assert cut.num_batches_tracked == 3
    before = {name: value.clone() for name, value in cut.state_dict().items()}
    torch.testing.assert_close(cut.eval()(x), whole.eval()(x), **TIGHT)
    assert all(torch.equal(value, cut.state_dict()[name]) for name, value in before.items())


def gradients(made, x, weights):
    """Return the gradients of sum(weights * y) by input, gamma and beta."""
    x = x.clone().requires_grad_()
    return torch.autograd.grad((made(x) * weights).sum(), (x, made.weight, made.bias))


@pytest.mark.parametrize("shape", SHAPES)
def test_no_gradient_flows_through_cut_statistics(shape):
    """It is that of gamma (u - mu)/sigma + beta with mu and sigma numbers, in training mode."""
    cut, x, weights = layer("batch_cut", shape), drawn(shape), drawn(shape, 7)

    class ByHand(nn.Module):
        weight, bias = cut.weight, cut.bias

        def forward(self, u):
            axes = [0, *range(2, u.ndim)]
            mu = u.mean(axes, keepdim=True).detach()
            sigma = ((u - mu).square().mean(axes, keepdim=True) + cut.eps).sqrt().detach()
            form = (1, -1, *[1] * (u.ndim - 2))
            return self.weight.view(form) * (u - mu) / sigma + self.bias.view(form)

    found, wanted = gradients(cut, x, weights), gradients(ByHand(), x, weights)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)
    whole = gradients(layer("batch", shape), x, weights)
    torch.testing.assert_close(found[1:], whole[1:], rtol=1e-9, atol=1e-9)
    assert (found[0] - whole[0]).abs().max() > 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_a_loss_that_the_batch_norm_cancels_has_a_gradient_only_with_cut_statistics(shape):
    """Shifting a channel's input changes no output of BN: the sum of its gradients is 0."""
    x, weights = drawn(shape), drawn(shape, 7)
    axes = [0, *range(2, len(shape))]
    through = gradients(layer("batch", shape), x, weights)[0].sum(axes)
    cut = gradients(layer("batch_cut", shape), x, weights)[0].sum(axes)
    torch.testing.assert_close(through, torch.zeros(5, dtype=torch.float64), rtol=0, atol=1e-8)
    assert (cut.abs() > 1).all()


def test_in_eval_mode_both_pass_the_same_gradient():
    cut, whole = layer("batch_cut", SHAPES[1]).eval(), layer("batch", SHAPES[1]).eval()
    found, wanted = (
        gradients(made, drawn(SHAPES[1]), drawn(SHAPES[1], 7)) for made in (cut, whole)
    )
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "shape"), [(CutBatchNorm1d, SHAPES[1]), (CutBatchNorm2d, SHAPES[0])]
)
@pytest.mark.parametrize("mode", [True, False])
def test_vectors_and_images_are_not_taken_for_each_other(kind, shape, mode):
    with pytest.raises(ValueError, match="expected"):
        kind(5).train(mode)(torch.zeros(shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_fixed_gamma_is_batch_normalization_with_gamma_at_1(shape):
    fixed = NORMS["batch_fixed_gamma"](5, len(shape) == 4)
    assert torch.equal(fixed.weight, torch.ones(5))
    assert (fixed.weight.requires_grad, fixed.bias.requires_grad) == (False, True)
    x = drawn(shape).float()
    assert torch.equal(fixed(x), NORMS["batch"](5, len(shape) == 4)(x))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_gamma_stays_1_in_training_where_it_is_fixed_and_nowhere_else(optimizer):
    settings = {"optimizer": optimizer, "lr": 0.01, "weight_decay": 0.1, "epochs": 3}
    gamma = {}
    for norm in ("batch_fixed_gamma", "batch", "batch_cut"):
        config = planted.config(norm=norm, **settings)
        run = train.fit(config, planted.planted_set(), probes=(ratios.probe,))
        gamma[norm] = run.arrays["gamma"]
        assert len(np.unique(run.arrays["sigma"][-1])) > 100
    assert (gamma["batch_fixed_gamma"] == 1).all()
    assert (gamma["batch"][-1] != 1).all()
    assert (gamma["batch_cut"][-1] != 1).all()


@pytest.mark.parametrize("norm", ["batch_cut", "batch_fixed_gamma"])
def test_the_arms_of_batch_normalization_start_as_one(norm):
    """Same seed: same weights and outputs. With cut statistics the first step is another."""
    first, second = (
        train.new_model(planted.config(norm=n), planted.planted_set(), torch.device("cpu")).double()
        for n in ("batch", norm)
    )
    x = torch.randn(6, 1, 12, 12, generator=torch.Generator().manual_seed(0)).double()
    torch.testing.assert_close(first.train()(x), second.train()(x), rtol=1e-9, atol=1e-9)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    steps = []
    for net in (first, second):
        F.cross_entropy(net(x), y).backward()
        steps.append(net[0].weight.grad)
    same = torch.allclose(*steps, rtol=1e-6, atol=1e-9)
    assert same == (norm == "batch_fixed_gamma")
