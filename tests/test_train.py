from functools import cache
from itertools import chain

import numpy as np
import planted
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import models, ratios, train
from bn_memorization.config import OPTIMIZERS
from bn_memorization.errors import BadInput, Failure
from bn_memorization.sample import SUBSETS

pytestmark = pytest.mark.usefixtures("one_thread")

DATA = planted.planted_set()
CPU = torch.device("cpu")
ARRAYS = {"loss", "accuracy", "fitted", "corrupted_row", "true_label", "given_label"}
EASY = {"noise_rate": 0.1, "epochs": 6}


def fit(**changes):
    return train.fit(planted.config(**changes), DATA)


@cache
def fitted(norm="batch"):
    """Return a run that several tests look at and none changes."""
    return fit(norm=norm, **EASY)


def draw(**changes):
    return train.draw(planted.config(**changes), DATA, CPU)


def build(norm="batch", seed=0):
    return models.build("lenet", norm, in_channels=1, image_size=12, classes=3, seed=seed)


class Witness(nn.Module):
    """A network that notes every batch it is trained on."""

    def __init__(self, net, seen):
        super().__init__()
        self.net, self.seen = net, seen

    def forward(self, x):
        if self.training:
            self.seen.append(x.clone())
        return self.net(x)


@pytest.fixture
def batches(monkeypatch):
    """Return a function that trains and returns the batches of images, in order."""
    real = models.build

    def of(**changes):
        seen = []
        monkeypatch.setattr(models, "build", lambda *a, **k: Witness(real(*a, **k), seen))
        fit(**changes)
        return seen

    return of


def rows(batch, sample):
    """Return which of the sample's images the batch holds."""
    equal = (batch[:, None] == sample.x[None]).flatten(2).all(2)
    assert (equal.sum(1) == 1).all()
    return equal.int().argmax(1).tolist()


def identical(first, second):
    assert first.arrays.keys() == second.arrays.keys()
    return all(first.arrays[k].tobytes() == second.arrays[k].tobytes() for k in first.arrays)


@pytest.mark.parametrize("norm", sorted(models.NORMS))
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_same_config_same_bits(norm, optimizer):
    changes = {"norm": norm, "optimizer": optimizer, "lr": 0.01}
    torch.manual_seed(1)
    first = fit(**changes)
    torch.manual_seed(2)
    assert identical(first, fit(**changes))
    assert not identical(first, fit(**changes, seed=1))
    assert not np.array_equal(first.arrays["loss"][0], first.arrays["loss"][-1])


def test_optimizers_are_set_as_the_config_says():
    rule = {"lr": 0.5, "momentum": 0.25, "weight_decay": 0.125}
    net = build()
    sgd = train.make_optimizer(planted.config(optimizer="sgd", **rule), net)
    assert type(sgd) is torch.optim.SGD
    assert {name: sgd.defaults[name] for name in rule} == rule
    adam = train.make_optimizer(planted.config(optimizer="adam", **rule), net)
    assert type(adam) is torch.optim.Adam
    assert (adam.defaults["lr"], adam.defaults["weight_decay"]) == (0.5, 0.125)
    for optimizer in (sgd, adam):
        held = [p for group in optimizer.param_groups for p in group["params"]]
        assert len(held) == len(list(net.parameters()))


@pytest.mark.parametrize(
    ("name", "value"), [("momentum", 0.0), ("weight_decay", 0.5), ("lr", 0.01), ("batch_size", 8)]
)
def test_each_setting_of_the_training_matters(name, value):
    first, second = fit(), fit(**{name: value})
    assert not np.array_equal(first.arrays["loss"][1:], second.arrays["loss"][1:])
    assert np.array_equal(first.arrays["loss"][0], second.arrays["loss"][0])


def test_arms_see_the_same_images_labels_and_order(batches):
    first, second = draw(norm="batch"), draw(norm="none")
    assert torch.equal(first.x, second.x)
    assert torch.equal(first.y, second.y)
    for name in ("corrupted_row", "true_label", "given_label"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    for one, other in zip(batches(norm="batch"), batches(norm="none"), strict=True):
        assert torch.equal(one, other)


def test_another_seed_orders_otherwise(batches):
    """Positions in the sample are compared: the images differ anyway."""
    first, second = (rows(batches(seed=seed)[0], draw(seed=seed)) for seed in (0, 1))
    assert first != second


def test_an_epoch_takes_every_image_once_in_a_new_order(batches):
    sample = draw()
    taken = [rows(batch, sample) for batch in batches(epochs=2)]
    assert [len(batch) for batch in taken] == [16, 16, 16] * 2
    first, second = list(chain(*taken[:3])), list(chain(*taken[3:]))
    assert sorted(first) == sorted(second) == list(range(48))
    assert first != second


def test_a_last_batch_of_one_is_skipped(batches):
    for norm in ("batch", "none"):
        sizes = [len(batch) for batch in batches(norm=norm, train_size=9, batch_size=4)]
        assert sizes == [4, 4] * 2, norm
    assert [len(b) for b in batches(train_size=10, batch_size=4, epochs=1)] == [4, 4, 2]


def test_batches_of_two_and_one_image_to_look_at_are_enough():
    run = fit(train_size=8, batch_size=2, noise_rate=0, eval_size=1)
    assert np.isfinite(run.curve("loss", "clean")).all()


@pytest.mark.parametrize("norm", ["batch", "none", "layer"])
def test_measure_changes_nothing_and_agrees_with_a_loop(norm, monkeypatch):
    monkeypatch.setattr(train, "EVAL_BATCH", 5)  # several parts, the last one short
    net, sample = build(norm), draw()
    with torch.no_grad():
        net.train()(3 * sample.x[:16] + 1)  # running statistics unlike those of any batch
    before = {name: value.clone() for name, value in net.state_dict().items()}
    measured = train.measure(net, sample.subsets)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(parameter.grad is None for parameter in net.parameters())
    net = net.double()
    for name, (x, y) in sample.subsets.items():
        loss, correct = measured[name]
        assert len(loss) == len(correct) == len(y)
        for i in range(len(y)):
            logits = net(x[i : i + 1].double())[0]
            slow = torch.logsumexp(logits, 0) - logits[y[i]]
            assert loss[i] == pytest.approx(slow.item(), rel=1e-4, abs=1e-5)
            assert correct[i] == (logits.argmax().item() == y[i].item())


def test_measure_in_eval_mode_does_not_depend_on_the_company():
    net, (x, y) = build(), draw().subsets["test"]
    with torch.no_grad():
        net.train()(x)
    together, _ = train.measure(net, {"test": (x, y)})["test"]
    turned, _ = train.measure(net, {"test": (x.flip(0), y.flip(0))})["test"]
    alone, _ = train.measure(net, {"test": (x[:1], y[:1])})["test"]
    np.testing.assert_allclose(turned[::-1], together, rtol=1e-5)
    np.testing.assert_allclose(alone, together[:1], rtol=1e-5)


def test_measuring_takes_no_part_in_the_training():
    few, many = fit(eval_size=1), fit(eval_size=24)
    assert np.array_equal(few.arrays["fitted"], many.arrays["fitted"])
    assert np.array_equal(few.curve("loss", "corrupted"), many.curve("loss", "corrupted"))


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_shapes_of_the_record(norm):
    run = fitted(norm)
    assert run.arrays.keys() == ARRAYS
    assert run.arrays["loss"].shape == run.arrays["accuracy"].shape == (7, len(SUBSETS))
    assert run.arrays["fitted"].shape == (7, 5)
    assert run.arrays["fitted"].dtype == np.bool_
    for name in ("corrupted_row", "true_label", "given_label"):
        assert run.arrays[name].shape == (5,)
        assert run.arrays[name].dtype == np.int64
    assert all(array.dtype != object for array in run.arrays.values())


def test_curves_are_means_over_samples():
    run = fitted()
    np.testing.assert_array_equal(
        run.curve("accuracy", "corrupted"), run.arrays["fitted"].mean(1, dtype=np.float64)
    )
    for column, subset in enumerate(SUBSETS):
        assert np.array_equal(run.curve("loss", subset), run.arrays["loss"][:, column])
    assert SUBSETS == ("corrupted", "clean", "test")


def test_row_0_is_before_training():
    run, sample = fit(seed=3), draw(seed=3)
    untrained = build(seed=3).eval()
    for subset in SUBSETS:
        x, y = sample.subsets[subset]
        loss = F.cross_entropy(untrained(x), y).item()
        assert run.curve("loss", subset)[0] == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_readable_labels_are_learned_and_flipped_ones_are_not_generalized(norm):
    run = fitted(norm)
    for subset in ("clean", "test"):
        assert run.curve("accuracy", subset)[0] < 0.7
        assert run.curve("accuracy", subset)[-1] > 0.9
        assert run.curve("loss", subset)[-1] < run.curve("loss", subset)[0]
    assert run.curve("accuracy", "corrupted")[-1] < 0.5


def test_flipped_labels_are_what_a_long_training_fits():
    """The planted effect of the whole method: given labels are trained on, true ones are not."""
    run = fit(noise_rate=0.1, epochs=60, lr=0.02)
    assert run.curve("accuracy", "corrupted")[0] < 1
    assert run.curve("accuracy", "corrupted")[-1] == 1


def test_without_noise_the_corrupted_curves_are_empty():
    run = fit(noise_rate=0)
    assert np.isnan(run.curve("accuracy", "corrupted")).all()
    assert np.isnan(run.curve("loss", "corrupted")).all()
    assert run.arrays["fitted"].shape == (3, 0)
    assert run.arrays["corrupted_row"].shape == (0,)
    assert np.isfinite(run.arrays["accuracy"][:, 1:]).all()


def test_a_loss_that_is_not_finite_is_a_failure_that_names_the_run():
    with pytest.raises(
        Failure, match="The loss stopped being finite in epoch 1 of lenet/none"
    ) as found:
        fit(norm="none", lr=1e20)
    for part in ("planted", "25 % flipped", "seed 0", "lr=1e+20"):
        assert part in str(found.value)


def test_the_very_last_step_is_checked_too():
    """One batch, one epoch: its loss is finite, what it leaves behind is not."""
    with pytest.raises(Failure, match="stopped being finite in epoch 1"):
        fit(norm="none", lr=1e30, epochs=1, batch_size=48)


def test_probes_look_before_training_and_after_every_epoch():
    """Their arrays are stacked over epochs; the training is that of a run without them."""

    def bias(model, sample):
        assert len(sample.y) == 48
        return {"bias": model[-1].bias.detach().numpy().copy(), "size": np.array(len(sample.x))}

    def mean(model, sample):
        return {"mean": np.array([model[0].weight.mean().item()])}

    run = train.fit(planted.config(**EASY), DATA, probes=(bias, mean))
    assert {name: run.arrays[name].shape for name in run.arrays.keys() - ARRAYS} == {
        "bias": (7, 3),
        "size": (7,),
        "mean": (7, 1),
    }
    assert np.array_equal(run.arrays["bias"][0], build()[-1].bias.detach().numpy())
    assert len(np.unique(run.arrays["bias"], axis=0)) == 7
    for name, array in fitted().arrays.items():
        assert array.tobytes() == run.arrays[name].tobytes()


def test_the_penalty_is_part_of_what_is_minimized():
    plain, weightless, penalized = (
        fit(),
        fit(penalty="square", penalty_weight=0.0),
        fit(penalty="square", penalty_weight=5.0),
    )
    assert identical(plain, weightless)
    assert not np.array_equal(plain.arrays["loss"][1:], penalized.arrays["loss"][1:])
    assert np.array_equal(plain.arrays["loss"][0], penalized.arrays["loss"][0])


def test_a_penalty_leaves_nothing_on_the_model():
    net, sample = build(), draw()
    config = planted.config(penalty="log", penalty_weight=1.0, penalty_target=0.5)
    train.optimize(net, sample.x, sample.y, config, lambda epoch: None)
    assert not any(layer._forward_pre_hooks for layer in net)


def test_look_is_called_first_and_after_every_epoch():
    net, sample, epochs = build(), draw(), []
    train.optimize(net, sample.x, sample.y, planted.config(epochs=3), epochs.append)
    assert epochs == [0, 1, 2, 3]


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
def test_a_penalty_on_one_layer_pulls_at_no_layer_after_it(layer):
    """Its gradient at the start: that layer's gamma and what lies before, nothing behind it."""
    config = planted.config(penalty="square", penalty_weight=1.0, penalty_layer=layer)
    net = train.new_model(config, DATA, CPU).train()
    with train._penalty(config, net) as penalty:
        net(draw().x)
        value = penalty()
    gammas = [module.weight for module in ratios.bn_layers(net).values()]
    found = torch.autograd.grad(value, gammas, allow_unused=True)
    pulled = [gradient is not None and bool(gradient.abs().max() > 0) for gradient in found]
    assert pulled[layer - 1]
    assert not any(pulled[layer:])


def test_a_penalty_on_one_layer_is_of_its_ratios_alone():
    config = planted.config(penalty="square", penalty_weight=3.0, penalty_layer=2)
    net = train.new_model(config, DATA, CPU).train()
    sigma = ratios.batch_sigma(net, draw().x)
    with train._penalty(config, net) as penalty:
        net(draw().x)
        value = penalty().item()
    assert value == pytest.approx(3 * np.mean(sigma[6:22] ** -2.0), rel=1e-4)  # gamma is 1


def test_a_penalty_on_one_layer_lowers_its_ratio_more_than_the_others():
    settings = {"penalty": "log", "penalty_weight": 0.3, "penalty_target": 0.5, "epochs": 4}
    free = train.fit(planted.config(epochs=4), DATA, probes=(ratios.probe,)).arrays
    layers = free["bn_layer"][-1]
    for layer in (1, 2, 3, 4):
        config = planted.config(**settings, penalty_layer=layer)
        run = train.fit(config, DATA, probes=(ratios.probe,)).arrays
        ratio = [np.abs(a["gamma"][-1]) / a["sigma"][-1] for a in (run, free)]
        log = np.log(ratio[0] / ratio[1])
        change = [log[layers == number].mean() for number in (1, 2, 3, 4)]
        assert np.argmin(change) == layer - 1
        assert change[layer - 1] < -0.3


@pytest.mark.parametrize(("norm", "has"), [("batch", 4), ("none", 0), ("group", 0)])
def test_a_penalty_on_a_layer_that_is_not_there(norm, has):
    message = rf"^penalty_layer=5, but lenet with norm {norm} has {has} BN layers"
    with pytest.raises(BadInput, match=message):
        fit(penalty="log", penalty_weight=1.0, penalty_layer=5, norm=norm)
    fit(penalty="log", penalty_weight=1.0, penalty_layer=4)
