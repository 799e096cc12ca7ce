import math
from dataclasses import FrozenInstanceError, replace
from functools import cache

import numpy as np
import planted
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import config, models, sample as sampling, train
from bn_memorization.data import normalized
from bn_memorization.errors import BadInput, Failure
from bn_memorization.sample import SUBSETS

DATA = planted.planted_set()
CPU = torch.device("cpu")
ARRAYS = {"loss", "accuracy", "fitted", "corrupted_row", "true_label", "given_label"}
EASY = {"noise_rate": 0.1, "epochs": 6}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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
@pytest.mark.parametrize("optimizer", config.OPTIMIZERS)
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
    config = {"train_size": 47}
    first, second = draw(norm="batch", **config), draw(norm="none", **config)
    assert torch.equal(first.x, second.x)
    assert torch.equal(first.y, second.y)
    for name in ("corrupted_row", "true_label", "given_label"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    for one, other in zip(batches(norm="batch"), batches(norm="none"), strict=True):
        assert torch.equal(one, other)


def test_another_seed_draws_flips_and_orders_otherwise(batches):
    first, second = draw(seed=0), draw(seed=1)
    assert not torch.equal(first.x, second.x)
    assert not np.array_equal(first.corrupted_row, second.corrupted_row)
    # The order of the batches differs too, not only the images that it is an order of.
    assert rows(batches(seed=0)[0], first) != rows(batches(seed=1)[0], second)


def test_an_epoch_takes_every_image_once_in_a_new_order(batches):
    sample = draw()
    taken = [rows(batch, sample) for batch in batches(epochs=2)]
    assert [len(batch) for batch in taken] == [16, 16, 16] * 2
    first, second = sum(taken[:3], []), sum(taken[3:], [])
    assert sorted(first) == sorted(second) == list(range(48))
    assert first != second


def test_a_last_batch_of_one_is_skipped(batches):
    for norm in ("batch", "none"):
        sizes = [len(batch) for batch in batches(norm=norm, train_size=9, batch_size=4)]
        assert sizes == [4, 4] * 2, norm
    assert [len(b) for b in batches(train_size=10, batch_size=4, epochs=1)] == [4, 4, 2]


def test_two_images_are_enough():
    run = fit(train_size=2, batch_size=2, noise_rate=0, eval_size=1)
    assert np.isfinite(run.curve("loss", "clean")).all()


@pytest.mark.parametrize(("size", "rate", "flips"), [(48, 0.25, 12), (50, 0.01, 1), (60, 0.9, 54)])
def test_flips_are_exact_in_number_and_never_true(size, rate, flips):
    sample = draw(train_size=size, noise_rate=rate)
    assert len(sample.corrupted_row) == flips
    assert (sample.given_label != sample.true_label).all()
    assert np.array_equal(sample.true_label, DATA.train.labels[sample.corrupted_row])
    assert len(set(sample.corrupted_row)) == flips
    assert set(sample.given_label) <= {0, 1, 2}


def test_the_sample_is_what_it_says():
    """Every image drawn is a normalized training image, with its own label or its flipped one."""
    images, _ = normalized(DATA)
    sample = draw(noise_rate=0.25)
    flipped = dict(zip(sample.corrupted_row.tolist(), sample.given_label.tolist(), strict=True))
    drawn = []
    for x, y in zip(sample.x.numpy(), sample.y.tolist(), strict=True):
        (row,) = np.flatnonzero((images == x).all((1, 2, 3)))
        assert y == flipped.get(row, DATA.train.labels[row])
        drawn.append(row)
    assert len(set(drawn)) == 48
    assert drawn != sorted(drawn)


def test_subsets_are_what_they_say():
    sample = draw(noise_rate=0.25, eval_size=20)
    images, test_images = normalized(DATA)
    x, y = sample.subsets["corrupted"]
    assert np.array_equal(x.numpy(), images[sample.corrupted_row])
    assert np.array_equal(y.numpy(), sample.given_label)
    x, y = sample.subsets["clean"]
    of_clean = [np.flatnonzero((images == image).all((1, 2, 3)))[0] for image in x.numpy()]
    assert len(set(of_clean)) == 20
    assert not set(of_clean) & set(sample.corrupted_row)
    assert np.array_equal(y.numpy(), DATA.train.labels[of_clean])
    x, y = sample.subsets["test"]
    assert np.array_equal(x.numpy(), test_images[:20])
    assert np.array_equal(y.numpy(), DATA.test.labels[:20])


def test_eval_size_is_a_limit_and_no_demand():
    sample = draw(noise_rate=0.25, eval_size=1000)
    assert {name: len(y) for name, (_, y) in sample.subsets.items()} == {
        "corrupted": 12,
        "clean": 36,
        "test": 30,
    }


def test_lower_noise_rates_flip_some_of_the_same_samples():
    few, many = draw(noise_rate=0.1), draw(noise_rate=0.25)
    assert torch.equal(few.x, many.x)
    assert set(few.corrupted_row) < set(many.corrupted_row)


def test_more_images_than_there_are():
    with pytest.raises(
        BadInput, match=r"train_size=61, but planted \(embedded\) has 60 .* at most 60"
    ):
        fit(train_size=61)
    with pytest.raises(BadInput, match="train_size=61"):
        sampling.check_size(planted.config(train_size=61), DATA)
    sampling.check_size(planted.config(train_size=60), DATA)


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
    run, sample = fitted(), draw(**EASY)
    untrained = build().eval()
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


@pytest.mark.parametrize(
    ("name", "bad", "allowed"),
    [
        ("train_size", [0, 1, -5], "at least 2"),
        ("eval_size", [0, -1], "at least 1"),
        ("epochs", [0, -1], "at least 1"),
        ("batch_size", [1, 0, -2], "at least 2"),
        ("seed", [-1], "at least 0"),
        ("noise_rate", [-0.01, 1, 1.5, math.nan], r"in \[0, 1\)"),
        ("lr", [0, -0.1, math.nan, math.inf], "above 0"),
        ("momentum", [-0.1, 1, math.nan], r"in \[0, 1\)"),
        ("weight_decay", [-1e-9, math.nan, math.inf], "at least 0"),
    ],
)
def test_ranges(name, bad, allowed):
    for value in bad:
        with pytest.raises(BadInput, match=rf"^{name}={value} is out of range: .*{allowed}"):
            planted.config(**{name: value})


@pytest.mark.parametrize(
    "edge",
    [
        {"train_size": 2, "eval_size": 1, "epochs": 1, "batch_size": 2},
        {"noise_rate": 0, "momentum": 0, "weight_decay": 0},
        {"noise_rate": 0.999, "momentum": 0.999, "lr": 1e-12, "seed": 2**31},
    ],
)
def test_values_at_the_edge_are_allowed(edge):
    config = planted.config(**edge)
    assert {name: getattr(config, name) for name in edge} == edge


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("optimizer", "adm", "Unknown optimizer 'adm'. Did you mean 'adam'.*adam, sgd"),
        ("arch", "alexnet", "Unknown architecture 'alexnet'.*lenet"),
        ("norm", "bach", "Unknown norm 'bach'. Did you mean 'batch'"),
    ],
)
def test_unknown_words(name, value, message):
    with pytest.raises(BadInput, match=message):
        planted.config(**{name: value})


def test_a_config_cannot_be_changed_and_equal_ones_are_one():
    config = planted.config()
    with pytest.raises(FrozenInstanceError):
        config.lr = 1.0
    assert len({config, planted.config(), replace(config, seed=1)}) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "mnist"),
        ("norm", "none"),
        ("seed", 1),
        ("noise_rate", 0.26),
        ("noise_rate", 0.254),
    ],
)
def test_description_tells_a_run_from_its_neighbors(name, value):
    assert planted.config().describe() != planted.config(**{name: value}).describe()
