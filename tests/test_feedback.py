import copy
import math

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bn_memorization import feedback, models
from bn_memorization.claims import CLAIMS
from bn_memorization.control_claims import CONTROLS
from bn_memorization.errors import BadInput
from bn_memorization.feedback import Start, simulate
from bn_memorization.judging import judge
from bn_memorization.stats import mean_interval

pytestmark = pytest.mark.usefixtures("one_thread")

TIMES = np.linspace(0, 6, 61)


@pytest.mark.parametrize("start", [Start(), Start(z=-0.5), Start(t=-1), Start(gamma=-1, a=2.0)])
def test_the_conserved_quantity_is_conserved(start):
    found = simulate(start, TIMES)
    kept = found.gamma**2 * start.norm_sq / start.sigma**2 - found.z**2
    np.testing.assert_allclose(kept, kept[0], atol=1e-6)
    assert found.margin[0] == pytest.approx(start.margin)
    assert found.margin.is_monotonic_increasing


def test_it_is_gradient_descent_with_small_steps():
    """A channel of torch, one sample, w and gamma moved by autograd in many small steps."""
    start, x = Start(a=1.5, sigma=2.0, norm_sq=5.0), torch.tensor([1.0, 2.0], dtype=torch.float64)
    w = (start.z * start.sigma * x / 5).requires_grad_()  # so that w x = z sigma, with mu = 0
    gamma = torch.tensor(start.gamma, dtype=torch.float64, requires_grad=True)
    offset = start.margin - start.t * start.a * start.gamma * start.z
    eta = 1e-3
    optimizer = torch.optim.SGD([w, gamma], lr=eta)
    for _ in range(2000):
        optimizer.zero_grad()
        F.softplus(-(start.t * start.a * gamma * (w @ x) / start.sigma + offset)).backward()
        optimizer.step()
    end = simulate(start, [0, 1, 2]).iloc[-1]
    assert float(gamma.detach()) == pytest.approx(end.gamma, rel=2e-3)
    assert float(w.detach() @ x) / start.sigma == pytest.approx(end.z, rel=2e-3)


def test_gamma_grows_exactly_while_the_channel_votes_for_the_label():
    found = simulate(Start(z=-0.5), TIMES)
    votes = found.gamma * found.z
    assert votes[0] < 0 < votes.iloc[-1]
    turned = int(np.argmax(votes > 0))
    assert (np.diff(found.gamma[:turned]) < 0).all()
    assert (np.diff(found.gamma[turned:]) > 0).all()


def test_a_moving_gamma_is_a_feedback_and_a_held_one_stays():
    moving, held = simulate(Start(), TIMES), simulate(Start(), TIMES, gamma_rate=0.0)
    assert (held.gamma == 1).all()
    assert (moving.margin[1:] > held.margin[1:]).all()


def lenet(norm="batch"):
    torch.manual_seed(0)
    model = models.build("lenet", norm, in_channels=1, image_size=12, classes=3, seed=0)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.normal_(m.weight)
            nn.init.uniform_(m.running_var, 0.5, 2)
    return model.eval()


def images(n=6):
    return torch.randn(n, 1, 12, 12), torch.arange(n) % 3


def test_gradients_are_those_of_one_sample_after_the_other():
    model, (x, y) = lenet(), images()
    found = feedback.gamma_gradients(model, x, y)
    assert [g.shape for g in found] == [(6, 6), (6, 16), (6, 120), (6, 84)]
    gammas = [m.weight for m in model if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]
    for i in range(len(x)):
        wanted = torch.autograd.grad(F.cross_entropy(model(x[i : i + 1]), y[i : i + 1]), gammas)
        for g, w in zip(found, wanted, strict=True):
            np.testing.assert_allclose(g[i], w, rtol=1e-3, atol=1e-6)


def test_the_model_stays_as_it_was():
    model, (x, y) = lenet(), images()
    before = copy.deepcopy(model.state_dict())
    feedback.gamma_gradients(model, x, y)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("model", "words"), [(lenet().train(), "train mode"), (lenet("none"), "norm=batch")]
)
def test_what_has_no_such_gradient_is_refused(model, words):
    with pytest.raises(BadInput, match=words):
        feedback.gamma_gradients(model, *images())


def test_pull_by_hand(monkeypatch):
    """Two channels with gamma 2 and -3; samples 0 and 2 are corrupted."""
    model = nn.Sequential(nn.BatchNorm1d(2)).eval()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([2.0, -3.0]))
    g = np.array([[-1.0, 2.0], [0.5, 0.0], [3.0, 0.0]])
    monkeypatch.setattr(feedback, "gamma_gradients", lambda *_: [g])
    (row,) = feedback.pull(model, None, None, np.array([True, False, True])).itertuples()
    # Sample 0 pulls |gamma| up in both channels, by 1 and 2; sample 2 down by 3; sample 1 by 0.5.
    assert (row.layer, row.corrupted, row.up_corrupted) == (1, 3.0, 0.0)
    assert (row.clean, row.up_clean) == (0.5, -1.0)


def test_summary_by_hand():
    pulls = pd.DataFrame(
        {
            "layer": [1, 2],
            "corrupted": [3.0, 1.0],
            "up_corrupted": [1.0, -1.0],
            "clean": [1.0, 0.0],
            "up_clean": [0.5, 0.5],
        }
    )
    found = feedback.summary(pulls, 0.25)
    assert found["share"] == pytest.approx(4 / (0.25 * 4 + 0.75 * 1))
    assert (found["up_corrupted"], found["up_clean"]) == ((3 - 1) / 4, 0.5)


def test_equal_pulls_have_their_share_and_a_lone_one_all():
    frame = {"up_corrupted": [0.0], "up_clean": [0.0]}
    equal = pd.DataFrame(frame | {"corrupted": [2.0], "clean": [2.0]})
    assert feedback.summary(equal, 0.05)["share"] == pytest.approx(1)
    alone = pd.DataFrame(frame | {"corrupted": [2.0], "clean": [1e-12]})
    assert feedback.summary(alone, 0.05)["share"] == pytest.approx(20)


SETTING = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": 0.05}


def measured(early, late, **changes):
    moments = ["a third"] * 3 + ["the end"] * 3
    frame = pd.DataFrame({"moment": moments, "seed": [0, 1, 2] * 2, "share": [*early, *late]})
    return frame.assign(**SETTING | changes)


def of_share(part):
    return mean_interval(part["share"])


def test_evidence_is_over_the_networks_of_each_setting_and_moment():
    frame = pd.concat(
        [measured([1, 2, 3], [4, 4, 4]), measured([7, 7, 7], [8, 8, 8], dataset="fashion_mnist")]
    )
    found = feedback.evidence(frame, of_share)
    gap = mean_interval([1, 2, 3])
    assert (found[0].estimate, found[0].low, found[0].high, found[0].n) == (2, gap.low, gap.high, 3)
    assert [item.estimate for item in found] == [2, 4, 7, 8]
    assert found[1].where == SETTING | {"moment": "the end"}
    assert found[2].where == SETTING | {"dataset": "fashion_mnist", "moment": "a third"}


def test_the_answer_says_what_the_evidence_says():
    share, direction, special = (
        judge(claim, feedback.evidence(measured(early, late), of_share))
        for claim, early, late in [
            (CLAIMS["feedback"], [4, 4.1, 3.9], [6, 6, 6]),
            (CLAIMS["feedback_direction"], [-0.2, -0.2, -0.2], [0.3, 0.3, 0.3]),
            (CONTROLS["feedback_special"], [-0.1, -0.1, -0.1], [-0.3, -0.3, -0.3]),
        ]
    )
    text = feedback.answer(share, direction, special, "not shown").replace("−", "-")
    assert "take 4.00 to 6.00 times their share of the gradient of γ (reproduced)" in text
    assert "weights is -0.30 to -0.10 (γ's is the larger one: not shown)" in text
    assert "-0.20 at a third, 0.30 at the end (partly)" in text
    assert math.isfinite(share.evidence[0].low)
