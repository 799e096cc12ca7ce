import copy

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import feedback, gradient_share, models
from bn_memorization.errors import BadInput
from bn_memorization.gradient_share import BETA, GAMMA, GROUPS, OTHER
from bn_memorization.stats import paired_gap

pytestmark = pytest.mark.usefixtures("one_thread")


def network(arch="lenet", norm="batch"):
    model = models.build(arch, norm, in_channels=1, image_size=12, classes=3, seed=0)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.uniform_(m.running_var, 0.5, 2)
    return model.eval()


def images(n=6):
    rng = torch.Generator().manual_seed(0)
    return torch.randn(n, 1, 12, 12, generator=rng), torch.arange(n) % 3


@pytest.mark.parametrize("arch", ["lenet", "resnet8", "densenet22"])
def test_every_parameter_is_in_one_group(arch):
    model = network(arch)
    found = gradient_share.groups(model)
    names = [name for group in GROUPS for name in found[group]]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    assert len(names) == len(set(names))
    layers = sum(isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d) for m in model.modules())
    assert len(found[GAMMA]) == len(found[BETA]) == layers


def test_strengths_are_those_of_one_sample_after_the_other(monkeypatch):
    monkeypatch.setattr(gradient_share, "CHUNK", 4)  # a rest of two
    model, (x, y) = network(), images()
    found = gradient_share.strengths(model, x, y)
    names = gradient_share.groups(model)
    for i in range(len(x)):
        model.zero_grad()
        F.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
        for group in GROUPS:
            wanted = sum(float(model.get_parameter(n).grad.abs().sum()) for n in names[group])
            assert found[group][i] == pytest.approx(wanted, rel=1e-3)


def test_the_share_of_gamma_is_that_of_the_claim():
    model, (x, y) = network(), images(9)
    mask = np.arange(9) < 3
    found = gradient_share.shares(gradient_share.strengths(model, x, y), mask, 0.05)
    claimed = feedback.summary(feedback.pull(model, x, y, mask), 0.05)["share"]
    assert found[GAMMA] == pytest.approx(claimed, rel=1e-4)


def test_shares_by_hand():
    mask = np.array([True, False, False])
    strength = {
        GAMMA: np.array([4.0, 1.0, 1.0]),
        BETA: np.array([2.0, 2.0, 2.0]),
        OTHER: np.array([1.0, 0.0, 0.0]),
    }
    found = gradient_share.shares(strength, mask, 0.25)
    assert found[GAMMA] == pytest.approx(4 / (0.25 * 4 + 0.75))
    assert found[BETA] == pytest.approx(1)  # all pull alike
    assert found[OTHER] == pytest.approx(4)  # the corrupted ones alone


def test_outliers_that_are_large_everywhere_are_not_special_for_gamma():
    """Null: a strength that scales all groups alike. Planted: one that gamma alone has."""
    rng = np.random.default_rng(0)
    mask = np.arange(200) < 10
    rows = {"null": [], "planted": []}
    for _ in range(8):
        size = rng.lognormal(size=200) * np.where(mask, 5, 1)
        strength = {group: size * rng.lognormal(sigma=0.1, size=200) for group in GROUPS}
        rows["null"].append(gradient_share.shares(strength, mask, 0.05))
        planted = strength | {GAMMA: strength[GAMMA] * np.where(mask, 2, 1)}
        rows["planted"].append(gradient_share.shares(planted, mask, 0.05))
    null, planted = (gradient_share.over_other(pd.DataFrame(rows[key])) for key in rows)
    assert null.low < 0 < null.high
    assert planted.low > 0


def test_the_difference_is_paired_within_networks():
    frame = pd.DataFrame({GAMMA: [2.0, 5.0, 9.0], BETA: 0.0, OTHER: [1.0, 4.0, 8.5]})
    assert gradient_share.over_other(frame) == paired_gap(frame[GAMMA], frame[OTHER])


def test_the_model_stays_as_it_was():
    model, (x, y) = network(), images()
    before = copy.deepcopy(model.state_dict())
    gradient_share.strengths(model, x, y)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (network().train(), "train mode"),
        (network(norm="none"), "norm=batch"),
        (nn.Sequential(nn.Flatten(), nn.BatchNorm1d(144)).eval(), "other weights"),
    ],
)
def test_what_has_no_such_share_is_refused(model, words):
    with pytest.raises(BadInput, match=words):
        gradient_share.strengths(model, *images())


def test_table_by_hand():
    where = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}
    frame = pd.DataFrame({GAMMA: [1.0, 3.0, 5.0], BETA: 1.0, OTHER: [2.0, 2.0, 7.0],
                          "moment": ["a third", "a third", "end"]}).assign(**where)  # fmt: skip
    table = gradient_share.table(frame, "smoke")
    assert table.setting.tolist() == [
        "MNIST, LeNet, 5\xa0% flipped, a third",
        "MNIST, LeNet, 5\xa0% flipped, end",
    ]
    assert table[[*GROUPS, "n", "profile"]].to_numpy().tolist() == [
        [2.0, 1.0, 2.0, 2, "smoke"],
        [5.0, 1.0, 7.0, 1, "smoke"],
    ]
