import copy

import numpy as np
import planted
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import growth, models, signals, trained_growth
from bn_memorization.errors import BadInput
from bn_memorization.trained_growth import own_growth, training_growth, whole_growth

pytestmark = pytest.mark.usefixtures("one_thread")

CLASSES = 3


@pytest.fixture(scope="module")
def trained():
    model, sample = planted.lenet_in_training()
    return model, sample.x[:10], sample.y[:10]


def state(model):
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


def test_margins_are_those_of_signals_and_give_the_loss():
    logits = torch.randn(20, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.arange(20) % 5
    found = trained_growth.margins(logits, y)
    np.testing.assert_allclose(found, signals.margin(logits.numpy(), y.numpy()), rtol=1e-12)
    torch.testing.assert_close(F.softplus(-found), F.cross_entropy(logits, y, reduction="none"))


def one_channel(case):
    """Return a random case of the derivation's check as a network with two logits, f and 0."""
    network = nn.Sequential(nn.Linear(len(case.x), 1, bias=False), nn.BatchNorm1d(1, eps=case.eps))
    network.append(nn.Linear(1, 2)).double()
    with torch.no_grad():
        network[0].weight.copy_(torch.as_tensor(case.w)[None])
        values = (case.gamma, case.beta, case.mu, case.var)
        slots = (
            network[1].weight,
            network[1].bias,
            network[1].running_mean,
            network[1].running_var,
        )
        for slot, value in zip(slots, values, strict=True):
            slot.fill_(value)
        network[2].weight.copy_(torch.tensor([[case.a], [0.0]], dtype=torch.float64))
        network[2].bias.copy_(torch.tensor([case.b, 0.0], dtype=torch.float64))
    return network


@pytest.mark.parametrize("case", growth.random_cases(10, 1))
def test_one_channel_is_the_derivation(case):
    """With one channel and two classes nothing is approximate, however large the step."""
    x, y = torch.as_tensor(case.x)[None], torch.tensor([0 if case.t == 1 else 1])
    (row,) = own_growth(one_channel(case), x, y, case.eta).itertuples()
    assert row.layer == 1
    assert row.predicted == pytest.approx(growth.predicted_growth(case), rel=1e-9)
    assert row.measured == pytest.approx(growth.measured_growth(case), rel=1e-9)
    assert row.twin == pytest.approx(growth.measured_growth_plain(case), rel=1e-9)
    assert row.factor == pytest.approx((case.gamma / case.sigma) ** 2, rel=1e-9)
    assert row.ratio == pytest.approx(row.factor, rel=1e-9)


def test_it_is_the_first_order_in_a_trained_network(trained):
    """Ten times smaller a step, ten times smaller an error: of the growth and of the factor."""
    model, x, y = trained
    errors = []
    for eta in (1e-4, 1e-5):
        frame = own_growth(model, x, y, eta)
        assert len(frame) == 4 * len(x)
        errors.append(
            [
                (frame.measured / frame.predicted - 1).abs().max(),
                (frame.ratio / frame.factor - 1).abs().max(),
            ]
        )
    assert (np.array(errors[0]) < 0.05).all()
    assert (np.array(errors[1]) < 0.2 * np.array(errors[0])).all()


def test_predicted_is_the_rate_times_the_squared_gradient(trained):
    """What autograd says of the whole: eta times |dphi/dW|^2 times s, in eval mode."""
    model, x, y = trained
    network = copy.deepcopy(model).double().eval()
    frame = own_growth(model, x, y, 0.5)
    for layer, place in enumerate((0, 4, 9, 12), 1):
        for i in range(3):
            phi = trained_growth.margins(network(x[[i]].double()), y[[i]])[0]
            (g,) = torch.autograd.grad(phi, network[place].weight)
            wanted = float(0.5 * torch.sigmoid(-phi.detach()) * g.square().sum())
            row = frame[(frame.layer == layer) & (frame["sample"] == i)]
            assert row.predicted.item() == pytest.approx(wanted, rel=1e-9)


def test_the_factor_lies_between_the_channels(trained):
    model, x, y = trained
    frame = own_growth(model, x, y, 1e-4)
    norms = [m for m in model if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]
    for layer, norm in enumerate(norms, 1):
        factors = (norm.weight.double() ** 2 / (norm.running_var.double() + norm.eps)).detach()
        found = frame[frame.layer == layer].factor
        assert (found > float(factors.min()) * (1 - 1e-9)).all()
        assert (found < float(factors.max()) * (1 + 1e-9)).all()


def test_scaling_gamma_scales_the_factor_by_the_square(trained):
    """And the twin not at all where gamma's scale is taken out again behind it."""
    model, x, y = trained
    scaled = copy.deepcopy(model)
    with torch.no_grad():
        scaled[-3].weight.mul_(2)
        scaled[-3].bias.mul_(2)
        scaled[-1].weight.div_(2)
    first, second = (own_growth(m, x, y, 1e-6) for m in (model, scaled))
    last = first.layer == 4
    np.testing.assert_allclose(second[last].factor, 4 * first[last].factor, rtol=1e-6)
    np.testing.assert_allclose(second[last].predicted, first[last].predicted, rtol=1e-6)
    np.testing.assert_allclose(second[last].twin, first[last].twin / 4, rtol=1e-3)


@pytest.mark.parametrize(
    "model", [nn.Sequential(nn.Linear(3, 3)), nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3))]
)
def test_a_network_without_such_a_layer_is_refused(model):
    with pytest.raises(BadInput, match="norm=batch"):
        own_growth(model, torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64), 0.1)


def test_whole_growth_is_a_step_of_sgd(trained):
    model, x, y = trained
    found = whole_growth(model, x, y, 0.01)
    for i in range(3):
        network = copy.deepcopy(model).double().eval()
        image = x[[i]].double()
        before = trained_growth.margins(network(image), y[[i]])
        F.cross_entropy(network(image), y[[i]]).backward()
        torch.optim.SGD(network.parameters(), 0.01).step()
        after = trained_growth.margins(network(image), y[[i]])
        assert found[i] == pytest.approx(float((after - before).detach()), rel=1e-6)


def test_training_growth_steps_each_batch_from_the_same_model(trained):
    model, x, y = trained
    found = training_growth(model, x, y, 0.05, 4)
    assert found.shape == (10,)
    np.testing.assert_allclose(found[4:8], training_growth(model, x[4:8], y[4:8], 0.05, 4))
    # The rest of two is filled up with the two before it.
    last = training_growth(model, x[6:10], y[6:10], 0.05, 4)
    np.testing.assert_allclose(found[8:], last[2:])
    assert not np.allclose(found[6:8], last[:2])
    network = copy.deepcopy(model).double().train()
    stored = copy.deepcopy(dict(network.named_buffers()))
    before = trained_growth.margins(copy.deepcopy(network).eval()(x[:4].double()), y[:4])
    optimizer = torch.optim.SGD(network.parameters(), 0.05)
    F.cross_entropy(network(x[:4].double()), y[:4]).backward()
    optimizer.step()
    network.load_state_dict(stored, strict=False)
    after = trained_growth.margins(network.eval()(x[:4].double()), y[:4])
    np.testing.assert_allclose(found[:4], (after - before).detach(), rtol=1e-6)


def test_a_rest_of_one_sample_is_no_batch_of_its_own(trained):
    model, x, y = trained
    assert np.isfinite(training_growth(model, x[:9], y[:9], 0.05, 4)).all()
    with pytest.raises(BadInput, match="3 samples are no whole batch of 4"):
        training_growth(model, x[:3], y[:3], 0.05, 4)


def test_the_model_stays_as_it_was(trained):
    model, x, y = trained
    before, mode = state(model), model.training
    own_growth(model, x, y, 0.1)
    whole_growth(model, x, y, 0.1)
    training_growth(model, x, y, 0.1, 5)
    assert state(model) == before
    assert model.training is mode
    assert all(p.grad is None or p.grad.dtype == p.dtype for p in model.parameters())


def test_compare_puts_both_beside_each_other(trained):
    model, x, y = trained
    is_corrupted = np.arange(10) % 5 == 1  # 1 and 6
    by_layer, by_sample = trained_growth.compare(
        model, x, y, is_corrupted, lr=0.1, batch_size=5, clean=3
    )
    rows = [0, 1, 2, 3, 6]
    assert by_sample.subset.tolist() == ["clean", "corrupted", "clean", "clean", "corrupted"]
    own = own_growth(model, x[rows], y[rows], 0.1 / 5)
    np.testing.assert_allclose(by_layer.measured, own.measured)
    total = own.groupby("sample").predicted.sum()
    np.testing.assert_allclose(by_sample.predicted, total)
    np.testing.assert_allclose(by_sample.whole, whole_growth(model, x[rows], y[rows], 0.02))
    np.testing.assert_allclose(by_sample.changed, training_growth(model, x, y, 0.1, 5)[rows])


def test_it_is_the_first_order_in_a_network_with_branches():
    """The weights before every BN layer of a ResNet, on shortcuts too."""
    model = models.build("resnet8", "batch", in_channels=1, image_size=12, classes=3, seed=0)
    x = torch.randn(3, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    y = torch.arange(3)
    frame = own_growth(model, x, y, 1e-6)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    assert len(frame) == len(norms) * len(x)
    np.testing.assert_allclose(frame.measured, frame.predicted, rtol=1e-2)
    np.testing.assert_allclose(frame.ratio, frame.factor, rtol=1e-2)


def test_what_all_layers_see_is_what_each_sees(trained):
    model, x, y = trained
    network = copy.deepcopy(model).double().eval()
    layers = trained_growth.pairs(network)
    together = trained_growth.see(network, layers, x.double(), y)
    for pair, seen in zip(layers, together, strict=True):
        (alone,) = trained_growth.see(network, [pair], x.double(), y)
        for name in ("x", "u", "y", "a", "slope"):
            torch.testing.assert_close(getattr(seen, name), getattr(alone, name))
    first, norm = layers[0]
    torch.testing.assert_close(together[0].u, first(x.double()))
    torch.testing.assert_close(together[0].y, norm(first(x.double())))
