import copy
import math

import planted
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import models, train
from bn_memorization.errors import BadInput, Failure
from bn_memorization.regularize import FORMS, gamma_sigma_penalty

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def small(dtype=torch.float64):
    """Return a network with a two-dimensional and a one-dimensional BN layer."""
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8, 3),
        nn.BatchNorm1d(3),
    )
    return net.to(dtype)


def images(n=5, dtype=torch.float64):
    return torch.randn(n, 1, 4, 4, dtype=dtype)


def hooks(model):
    return sum(len(module._forward_pre_hooks) for module in model.modules())


# Of the batch -1, 1, 5, 7 the mean is 3 and the biased variance 10; of 0, 0, 2, 2 they are 1 and 1.
BATCH = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [5.0, 2.0], [7.0, 2.0]], dtype=torch.float64)
RATIOS = (0.5 / math.sqrt(10 + 1e-5), 3.0 / math.sqrt(1 + 1e-5))
BY_HAND = {
    "square": (RATIOS[0] ** 2 + RATIOS[1] ** 2) / 2,
    "hinge": (RATIOS[1] - 2) ** 2 / 2,  # only the second channel is above the target
    "log": (math.log(RATIOS[0] / 2) ** 2 + math.log(RATIOS[1] / 2) ** 2) / 2,
}


def one_layer():
    layer = nn.BatchNorm1d(2).double()
    layer.weight.data = torch.tensor([-0.5, 3.0], dtype=torch.float64)  # the sign has no part
    return layer


@pytest.mark.parametrize("form", FORMS)
def test_values_by_hand(form):
    layer = one_layer()
    with gamma_sigma_penalty(layer, weight=0.25, target=2.0, form=form) as penalty:
        layer(BATCH)
        assert penalty.value().item() == pytest.approx(0.25 * BY_HAND[form], rel=1e-12)


def test_every_form_is_tested_by_hand():
    assert BY_HAND.keys() == FORMS.keys()


def test_sigma_is_what_the_layer_divides_by():
    """In float64, with space in the batch: the normalized output times sigma is the input again."""
    layer = nn.BatchNorm2d(3, eps=0.5).double()
    u = 2 * torch.randn(4, 3, 5, 6, dtype=torch.float64) + 1
    sigma = gamma_sigma_penalty(layer, weight=1.0).sigma(layer, u)
    centered = u - u.mean((0, 2, 3), keepdim=True)
    torch.testing.assert_close(layer(u) * sigma.view(1, 3, 1, 1), centered)


def test_layers_count_alike_however_many_channels_they_have():
    net, x = small(), images()
    with gamma_sigma_penalty(net, weight=1.0, form="square") as penalty:
        net(x)
        value = penalty.value().item()
    means, u = [], x
    for module in net:
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            axes = [0, *range(2, u.ndim)]
            means.append((1 / (u.var(axes, unbiased=False) + module.eps)).mean().item())
        u = module(u)
    assert value == pytest.approx(sum(means) / 2, rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_gradient_flows_through_sigma(form):
    """Against differences of the penalty, for the weights before BN too: they move only sigma."""
    net, x = small(), images()
    with torch.no_grad():
        net[1].weight.mul_(1.5)
        net[5].weight.mul_(-0.7)
    parameters = [net[0].weight, net[1].weight, net[4].weight, net[5].weight]

    def value():
        with gamma_sigma_penalty(net, weight=0.5, target=0.6, form=form) as penalty:
            net(x)
            return penalty.value()

    value().backward()
    for parameter in parameters:
        gradient = parameter.grad
        assert gradient.abs().max() > 1e-6
        direction = torch.randn_like(parameter)
        moved = []
        for step in (1e-6, -1e-6):
            parameter.data.add_(direction, alpha=step)
            moved.append(value().item())
            parameter.data.add_(direction, alpha=-step)
        numeric = (moved[0] - moved[1]) / 2e-6
        assert (gradient * direction).sum().item() == pytest.approx(numeric, rel=1e-5, abs=1e-9)


def test_scaling_the_weights_before_bn_has_no_gradient_on_the_loss_but_on_the_penalty():
    """Why the penalty can be lowered at no cost: the loss does not see the scale, it does."""
    net, x = small(), images(dtype=torch.float64)
    with gamma_sigma_penalty(net, weight=1.0, form="square") as penalty:
        loss = F.cross_entropy(net(x), torch.tensor([0, 1, 2, 0, 1]))
        value = penalty.value()
    along_scale = [
        (torch.autograd.grad(term, net[0].weight, retain_graph=True)[0] * net[0].weight).sum()
        for term in (loss, value)
    ]
    assert abs(along_scale[0]) < 1e-4  # not 0: eps does not scale
    assert along_scale[1] < -0.1


@pytest.mark.parametrize("form", ["hinge", "log"])
def test_at_its_target_the_penalty_is_zero(form):
    layer = one_layer()
    with torch.no_grad():
        sigma = (BATCH.var(0, unbiased=False) + layer.eps).sqrt()
        layer.weight.copy_(0.75 * sigma)
    with gamma_sigma_penalty(layer, weight=1.0, target=0.75, form=form) as penalty:
        layer(BATCH)
        value = penalty.value()
    assert value.item() == pytest.approx(0, abs=1e-30)


def test_gamma_of_zero_has_a_finite_value_and_gradient():
    for form in FORMS:
        layer = one_layer()
        layer.weight.data[0] = 0
        with gamma_sigma_penalty(layer, weight=1.0, form=form) as penalty:
            layer(BATCH)
            value = penalty.value()
        value.backward()
        assert torch.isfinite(value)
        assert torch.isfinite(layer.weight.grad).all()


def test_hooks_come_with_the_block_and_go_with_it():
    net = small()
    penalty = gamma_sigma_penalty(net, weight=1.0)
    assert hooks(net) == 0
    with penalty:
        assert hooks(net) == 3  # two layers, and the model itself
    assert hooks(net) == 0


def test_hooks_go_on_exceptions_too():
    net = small()
    with pytest.raises(RuntimeError), gamma_sigma_penalty(net, weight=1.0):
        net(torch.zeros(2, 3, 4, 4, dtype=torch.float64))  # three colors where one is expected
    assert hooks(net) == 0


def test_one_after_another_and_one_inside_another():
    net, x = small(), images()
    single = {}
    for form in ("square", "log"):
        with gamma_sigma_penalty(net, weight=1.0, form=form) as penalty:
            net(x)
            single[form] = penalty.value().item()
    first = gamma_sigma_penalty(net, weight=1.0, form="square")
    with first, gamma_sigma_penalty(net, weight=1.0, form="log") as second:
        net(x)
        assert (first.value().item(), second.value().item()) == (single["square"], single["log"])
    with first:  # the same object again
        net(x)
        assert first.value().item() == single["square"]
    assert hooks(net) == 0


def test_entered_twice_at_once_is_an_error_and_leaves_no_hook():
    net = small()
    penalty = gamma_sigma_penalty(net, weight=1.0)
    with pytest.raises(Failure, match="measuring already"), penalty, penalty:
        pass
    assert hooks(net) == 0


def test_passes_that_do_not_train_are_not_measured():
    net, x = small(), images()
    with gamma_sigma_penalty(net, weight=1.0) as penalty:
        with pytest.raises(Failure, match="call the model first"):
            penalty.value()
        net.eval()(x)
        with pytest.raises(Failure, match="call the model first"):
            penalty.value()
        with torch.no_grad():
            net.train()(x)
        with pytest.raises(Failure, match="call the model first"):
            penalty.value()
        net(x)
        expected = penalty.value().item()
        # A look at the model between the pass and its penalty takes no part.
        net(x)
        with torch.no_grad():
            net(3 * x)
        net.eval()(3 * x)
        assert penalty.value().item() == expected


def test_a_value_is_of_the_last_pass_alone():
    net, x = small(), images()
    with gamma_sigma_penalty(net, weight=1.0) as penalty:
        net(x)
        expected = penalty.value().item()
        with pytest.raises(Failure, match="since the last penalty"):
            penalty.value()
        for _ in range(3):
            net(2 * x + 1)  # warm-up without a penalty
        assert len(penalty._measured) == 2
        net(x)
        assert penalty.value().item() == expected


def test_frozen_layers_are_left_out():
    net, x = small(), images()
    net[1].eval()
    with gamma_sigma_penalty(net, weight=1.0, form="square") as penalty:
        net(x)
        value = penalty.value().item()
    sigma = penalty.sigma(net[5], net[:5](x))
    assert value == pytest.approx(sigma.pow(-2).mean().item(), rel=1e-12)


def test_layers_without_gamma_are_left_out():
    net = nn.Sequential(nn.BatchNorm1d(2, affine=False).double(), one_layer())
    with gamma_sigma_penalty(net, weight=1.0, form="square") as penalty:
        net(BATCH)
        value = penalty.value().item()
    alone = one_layer()
    with gamma_sigma_penalty(alone, weight=1.0, form="square") as penalty:
        alone(F.batch_norm(BATCH, None, None, training=True))
        assert value == pytest.approx(penalty.value().item(), rel=1e-12)


class Shared(nn.Module):
    """The same BN layer twice in one pass, on inputs of different scale."""

    def __init__(self):
        super().__init__()
        self.bn = one_layer()

    def forward(self, u):
        self.bn(4 * u)
        return self.bn(u)


def test_a_shared_layer_counts_each_time():
    net = Shared()
    with gamma_sigma_penalty(net, weight=1.0, form="square") as penalty:
        net(BATCH)
        shared = penalty.value().item()
    alone = []
    for scale in (4, 1):
        layer = one_layer()
        with gamma_sigma_penalty(layer, weight=1.0, form="square") as penalty:
            layer(scale * BATCH)
            alone.append(penalty.value().item())
    assert shared == pytest.approx(sum(alone) / 2, rel=1e-12)


def test_part_of_a_larger_model():
    body, x = small(), images()
    whole = nn.Sequential(nn.Sequential(nn.Identity(), body), nn.BatchNorm1d(3).double())
    with gamma_sigma_penalty(body, weight=1.0) as penalty:
        body(x)
        alone = penalty.value().item()
        for _ in range(2):
            whole(x)  # the outer layer is not of the part
        assert penalty.value().item() == alone
    assert hooks(whole) == 0


def test_measuring_changes_neither_output_nor_buffers():
    net, x = small(), images()
    twin = copy.deepcopy(net)
    with gamma_sigma_penalty(net, weight=1.0) as penalty:
        output = net(x)
        penalty.value()
    assert torch.equal(output, twin(x))
    for name, buffer in net.named_buffers():
        assert torch.equal(buffer, dict(twin.named_buffers())[name])


def test_a_batch_of_half_precision_is_measured_in_the_layers_own():
    layer = one_layer().float()
    u = (1000 * BATCH).half()  # whose squares float16 does not hold
    with gamma_sigma_penalty(layer, weight=1.0, form="square") as penalty:
        found = penalty.sigma(layer, u)
    wanted = (1000 * BATCH).var(0, unbiased=False).sqrt().float()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=0)


@pytest.mark.parametrize("norm", ["none", "group", "layer", "affine"])
def test_a_model_without_bn(norm):
    net = models.build("lenet", norm, in_channels=1, image_size=12, classes=3, seed=0)
    with pytest.raises(BadInput, match=r"no batch normalization with gamma.*norm=batch"):
        gamma_sigma_penalty(net, weight=1.0)


@pytest.mark.parametrize(
    ("name", "values"),
    [("weight", [-0.1, math.nan, math.inf]), ("target", [0, -1, math.nan, math.inf])],
)
def test_ranges(name, values):
    for value in values:
        with pytest.raises(BadInput, match=f"^{name}={value} of the penalty must be finite"):
            gamma_sigma_penalty(small(), **{"weight": 1.0, name: value})


def test_an_unknown_form():
    with pytest.raises(BadInput, match=r"Unknown penalty form 'hing'.*hinge, log, square"):
        gamma_sigma_penalty(small(), weight=1.0, form="hing")


def trained_ratios(penalty_type, epochs=30, **settings):
    """Train on the planted set by hand; return |gamma|/sigma of the batch, a tensor a layer."""
    config = planted.config(noise_rate=0)
    data, device = planted.planted_set(), torch.device("cpu")
    sample = train.draw(config, data, device)
    net = train.new_model(config, data, device)
    optimizer = torch.optim.SGD(net.parameters(), 0.05, 0.9)
    seen = {}
    with penalty_type(net, **settings) as penalty:
        for _ in range(epochs):
            for rows in torch.arange(len(sample.y)).split(16):
                optimizer.zero_grad()
                loss = F.cross_entropy(net(sample.x[rows]), sample.y[rows]) + penalty.value()
                loss.backward()
                optimizer.step()

    def note(layer, inputs):
        seen[layer] = layer.weight.detach().abs() / penalty.sigma(layer, inputs[0].detach())

    for layer in [m for m in net.modules() if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]:
        layer.register_forward_pre_hook(note)
    with torch.no_grad():
        net.train()(sample.x)
    return list(seen.values())


@pytest.mark.parametrize("target", [0.3, 1.2])
def test_the_log_form_holds_the_ratio_at_its_target(target):
    ratios = trained_ratios(gamma_sigma_penalty, weight=1.0, target=target, form="log")
    assert len(ratios) == 4
    for layer in ratios:
        assert layer.log().mean().exp().item() == pytest.approx(target, rel=0.25)


class Detached(gamma_sigma_penalty):
    """The penalty with no gradient through sigma."""

    def sigma(self, layer, u):
        return super().sigma(layer, u).detach()


def test_with_sigma_detached_gamma_shrinks_and_the_ratio_stays_away_from_its_target():
    settings = {"weight": 1.0, "target": 0.3, "form": "log"}
    attached, detached = (trained_ratios(t, **settings) for t in (gamma_sigma_penalty, Detached))

    def off(ratios):
        return sum((layer / 0.3).log().abs().mean().item() for layer in ratios)

    assert off(detached) > 3 * off(attached)
