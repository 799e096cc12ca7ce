import copy

import numpy as np
import pandas as pd
import planted
import pytest
import torch
from torch import nn

from bn_memorization import exact_trained, growth_exact, models
from bn_memorization.config import SETTING
from bn_memorization.errors import BadInput
from bn_memorization.exact_trained import CONVOLUTION, FULL, all_move, corrections, of_batch
from bn_memorization.stats import mean_interval
from bn_memorization.trained_growth import margins, pairs

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def trained():
    model, sample = planted.lenet_in_training()
    return model, sample.x[:12], sample.y[:12]


def resnet():
    model = models.build("resnet8", "batch", in_channels=1, image_size=12, classes=3, seed=0)
    x = torch.randn(6, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    return model, x, torch.arange(6) % 3


def state(model):
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


def test_the_copy_gives_the_batch_what_training_gives_it(trained):
    model, x, _ = trained
    before, mode = state(model), model.training
    fixed = of_batch(model, x)
    assert not fixed.training
    wanted = copy.deepcopy(model).double().train()(x.double())
    torch.testing.assert_close(fixed(x.double()), wanted, rtol=1e-9, atol=1e-9)
    assert state(model) == before
    assert model.training is mode


def by_autograd(model, x, y, layer):
    """Return growth with one layer's statistics moving over growth with all fixed, by autograd."""
    fixed, moving = of_batch(model, x), of_batch(model, x)
    _, norm = pairs(moving)[layer - 1]
    norm.train()
    found = []
    for i in range(len(y)):
        squares = []
        for network in (moving, fixed):
            weight = pairs(network)[layer - 1][0].weight
            (g,) = torch.autograd.grad(margins(network(x.double()), y)[i], weight)
            squares.append(float(g.square().sum()))
        found.append(squares[0] / squares[1])
    return found


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
def test_the_correction_is_that_of_autograd_in_every_layer(trained, layer):
    """Fully connected and convolutional, with all positions of a sample."""
    model, x, y = trained
    frame = corrections(model, x, y)
    found = frame[frame.layer == layer]
    np.testing.assert_allclose(found.correction, by_autograd(model, x, y, layer), rtol=1e-9)
    assert found["sample"].tolist() == list(range(12))


@pytest.mark.parametrize("layer", [1, 3, 4])
def test_it_is_that_of_autograd_in_a_network_with_branches(layer):
    model, x, y = resnet()
    frame = corrections(model, x, y)
    assert set(frame.kind) == {CONVOLUTION}
    found = frame[frame.layer == layer].correction
    np.testing.assert_allclose(found, by_autograd(model, x, y, layer), rtol=1e-8)


def test_kinds_and_terms_of_a_lenet(trained):
    model, x, y = trained
    frame = corrections(model, x, y)
    (first,) = (m for m in model if isinstance(m, nn.Conv2d) and m.in_channels == 1)
    positions = first(x[:1]).shape[2:].numel()
    terms = frame.groupby("layer").m.first().tolist()
    assert terms[0] == 12 * positions
    assert terms[2:] == [12, 12]
    assert frame.groupby("layer").kind.first().tolist() == [CONVOLUTION] * 2 + [FULL] * 2
    assert (frame.z**2 <= frame.m - 1).all()
    assert (frame.room <= 1).all()
    assert (frame.room >= 0).all()


def one_channel(case):
    """Return a random batch of the derivation's check as a network with two logits, f and 0."""
    norm = nn.BatchNorm1d(1, eps=case.eps)
    network = nn.Sequential(nn.Linear(len(case.w), 1, bias=False), norm, nn.Linear(1, 2)).double()
    with torch.no_grad():
        network[0].weight.copy_(torch.as_tensor(case.w)[None])
        norm.weight.fill_(case.gamma)
        norm.bias.fill_(case.beta)
        network[2].weight.copy_(torch.tensor([[case.a], [0.0]], dtype=torch.float64))
        network[2].bias.copy_(torch.tensor([case.b, 0.0], dtype=torch.float64))
    return network


@pytest.mark.parametrize("case", growth_exact.random_batches(8, 1))
def test_one_channel_is_the_derivation(case):
    x, y = torch.as_tensor(case.x), torch.full((case.m,), 0 if case.t == 1 else 1)
    frame = corrections(one_channel(case), x, y)
    row = frame[frame["sample"] == case.i].iloc[0]
    assert row.correction == pytest.approx(case.correction, rel=1e-9)
    assert row.z == pytest.approx(abs(case.z[case.i]), rel=1e-9)
    assert row.m == case.m
    # room ignores eps, and so does the map: with one position they are one.
    assert row.room == pytest.approx(row["map"], rel=1e-9)
    assert row.room == pytest.approx(case.room, abs=1e-3)


def test_inputs_without_a_mean_lose_nothing_to_it(trained):
    """Where the mean of the inputs is zero, a moving mean changes nothing."""
    case = growth_exact.random_batches(1, 3)[0]
    x = torch.as_tensor(case.x)
    network, y = one_channel(case), torch.zeros(case.m, dtype=torch.int64)
    centered = corrections(network, x - x.mean(0), y)
    np.testing.assert_allclose(centered.mean_only, 1, rtol=1e-9)
    assert not np.allclose(corrections(network, x + 1, y).mean_only, 1)


def test_a_planted_outlier_gains_nothing_in_a_fully_connected_layer(trained):
    """One input of a batch ever further out: its correction goes to zero, the others' does not."""
    rng = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(20, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))
    with torch.no_grad():
        network[0].weight.abs_()  # so that it is far out in every channel
    x, y = torch.randn(16, 20, generator=rng), torch.arange(16) % 3
    found = []
    for far in (1, 30, 1000):
        x[0] = far * torch.ones(20)
        frame = corrections(network, x, y)
        found.append(frame.correction[0])
    assert found[0] > 0.1
    assert found[2] < 1e-3
    assert frame.room[0] < 1e-2
    assert frame.correction[1:].median() > 0.2


def test_whole_batches_count_and_a_rest_does_not(trained):
    model, x, y = trained
    is_corrupted = np.arange(12) % 4 == 0
    frame = exact_trained.by_batches(model, x, y, is_corrupted, 5)
    one = frame[frame.layer == 1]
    assert one["sample"].tolist() == list(range(10))
    assert (one.subset == np.where(is_corrupted[:10], "corrupted", "clean")).all()
    second = corrections(model, x[5:10], y[5:10])
    np.testing.assert_allclose(one.correction[5:], second[second.layer == 1].correction)
    with pytest.raises(BadInput, match="12 samples are no whole batch of 13"):
        exact_trained.by_batches(model, x, y, is_corrupted, 13)


def test_all_statistics_moving_is_training_mode(trained):
    model, x, y = trained
    is_corrupted = np.isin(np.arange(12), [7, 9])  # in the second batch of six
    frame = all_move(model, x, y, is_corrupted, 6)
    assert sorted(set(frame["sample"])) == [1, 3]
    moving = copy.deepcopy(model).double().train()
    layers = [moving[place].weight for place in (0, 4, 9, 12)]
    gradients = torch.autograd.grad(margins(moving(x[6:].double()), y[6:])[1], layers)
    fixed = of_batch(model, x[6:])
    own = [fixed[place].weight for place in (0, 4, 9, 12)]
    others = torch.autograd.grad(margins(fixed(x[6:].double()), y[6:])[1], own)
    wanted = [
        float(a.square().sum() / b.square().sum()) for a, b in zip(gradients, others, strict=True)
    ]
    found = frame[frame["sample"] == 1]
    np.testing.assert_allclose(found["all"], wanted, rtol=1e-9)
    last = frame[frame.layer == 4]
    np.testing.assert_allclose(last["all"], last.one, rtol=1e-9)  # nothing moves behind it
    known = corrections(model, x[6:], y[6:])
    assert found.one.tolist() == known[known["sample"] == 1].correction.tolist()


def test_no_corrupted_sample_in_a_batch_is_refused(trained):
    model, x, y = trained
    with pytest.raises(BadInput, match="No batch of 12 holds a corrupted sample"):
        all_move(model, x, y, np.zeros(12, bool), 12)


def test_what_has_no_moving_statistics_is_refused(trained):
    model, x, y = trained
    with pytest.raises(BadInput, match="A batch of 1 has no variance"):
        corrections(model, x[:1], y[:1])
    with pytest.raises(BadInput, match="norm=batch"):
        corrections(nn.Sequential(nn.Flatten(), nn.Linear(144, 3)), x, y)


def measured(kind=FULL, **changes):
    """Two seeds with two corrupted and two clean samples each, corrections to be read off."""
    rows = [
        (seed, subset, value + seed)
        for seed in (0, 1)
        for subset, values in (("corrupted", (1.0, 2.0)), ("clean", (0.5, 0.5)))
        for value in values
    ]
    frame = pd.DataFrame(rows, columns=["seed", "subset", "correction"])
    where = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}
    return frame.assign(kind=kind, **where | changes)


def test_statistics_by_hand():
    assert exact_trained.convolution(measured(CONVOLUTION)).tolist() == [1.5, 2.5]
    assert exact_trained.convolution(measured(FULL)).empty
    assert exact_trained.outliers(measured(FULL)).tolist() == [1.0, 1.0]
    assert exact_trained.outliers(measured(CONVOLUTION)).empty


def test_evidence_is_over_seeds_of_each_setting_that_has_it():
    frame = pd.concat(
        [measured(CONVOLUTION), measured(CONVOLUTION, arch="resnet8"), measured(FULL)]
    )
    found = exact_trained.evidence(frame, exact_trained.convolution)
    assert [item.where["arch"] for item in found] == ["lenet", "resnet8"]
    gap = mean_interval([1.5, 2.5])
    assert (found[0].estimate, found[0].low, found[0].n) == (gap.estimate, gap.low, 2)
    assert tuple(found[0].where) == SETTING
    (only,) = exact_trained.evidence(frame, exact_trained.outliers)
    assert (only.where["arch"], only.estimate) == ("lenet", 1.0)


def test_summary_by_hand():
    frame = measured().assign(layer=3, m=64, z=1.0, room=0.8, mean_only=0.7)
    table = exact_trained.summary(frame)
    assert table.columns.tolist() == [
        "BN layer",
        "kind",
        "m",
        "samples",
        "n",
        *exact_trained.NUMBERS,
    ]
    assert table.samples.tolist() == ["clean", "corrupted"]
    assert table.n.tolist() == [4, 4]
    assert table["both move"].tolist() == [1.0, 2.0]
