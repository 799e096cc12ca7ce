import math
import re

import numpy as np
import pandas as pd
import planted
import pytest
from lived_in import build, images, lived_in
from verdicts import evidence, verdict

from bn_memorization import trained_ratios as trained
from bn_memorization.errors import BadInput
from bn_memorization.ratios import batch_sigma, gamma_sigma
from bn_memorization.train import Run

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def run(gamma, sigma=2.0, layers=None, **changes):
    """Return a run with gamma [E + 1, C] and everywhere the same sigma."""
    gamma = np.array(gamma, np.float32)
    layers = layers or [1] * gamma.shape[1]
    arrays = {
        "gamma": gamma,
        "sigma": np.full_like(gamma, sigma),
        "bn_layer": np.array([layers] * len(gamma), np.int16).reshape(gamma.shape),
    }
    return Run(planted.config(epochs=len(gamma) - 1, **changes), arrays)


def ending(*shares, **changes):
    """Return one run a seed, the given number of whose four channels end above one."""
    return [
        run([[2] * 4, [3.0] * above + [-1.0] * (4 - above)], seed=seed, **changes)
        for seed, above in enumerate(shares)
    ]


def test_ratios_by_hand():
    """The sign of gamma has no part; a ratio of exactly one is not above one."""
    one = run([[2, -2, 3], [-4, 1, 2]])
    assert trained.ratios(one).tolist() == [[1.0, 1.0, 1.5], [2.0, 0.5, 1.0]]
    assert trained.ratios(one).dtype == np.float64
    assert trained.share_above_one(one).tolist() == pytest.approx([1 / 3, 1 / 3])


def test_a_run_without_bn_is_named():
    with pytest.raises(BadInput, match=r"lenet/none on planted.*has no BN channels"):
        trained.ratios(run([[], []], norm="none"))


def test_evidence_is_over_models_and_of_the_last_epoch():
    """Shares 1/4, 2/4 and 2/4: mean 5/12, s^2 1/48; t for 2 degrees of freedom is 4.302652730."""
    (found,) = trained.evidence(ending(1, 2, 2))
    reach = 4.302652729911275 * math.sqrt(1 / 48) / math.sqrt(3)
    assert (found.estimate, found.low, found.high, found.n) == pytest.approx(
        (5 / 12, 5 / 12 - reach, 5 / 12 + reach, 3)
    )
    assert dict(found.where) == {
        "dataset": "planted",
        "arch": "lenet",
        "corruption": "flip",
        "noise_rate": 0.25,
    }


def test_no_share_lies_beyond_0_and_1():
    """Shares 1/4, 2/4 and 3/4: the t interval would reach from -.121 to 1.121."""
    (found,) = trained.evidence(ending(1, 2, 3))
    assert (found.estimate, found.low, found.high) == (0.5, 0.0, 1.0)


def test_evidence_of_each_setting():
    found = trained.evidence([*ending(4, 4), *ending(0, 2, noise_rate=0.5)])
    assert [(item.where["noise_rate"], item.estimate, item.n) for item in found] == [
        (0.25, 1.0, 2),
        (0.5, 0.25, 2),
    ]


def test_share_curves_begin_after_the_first_epoch():
    found = trained.share_curves([run([[9, 9], [9, 1], [1, 1]], seed=3)])
    assert found.epoch.tolist() == [1, 2]
    assert found.share.tolist() == [0.5, 0.0]
    assert found.seed.tolist() == [3, 3]


def test_final_channels_and_layers_by_hand():
    runs = [
        run([[0] * 3, [2.0, 4.0, 1.0]], layers=[1, 1, 2], seed=0),
        run([[0] * 3, [6.0, 8.0, 3.0]], layers=[1, 1, 2], seed=1),
    ]
    channels = trained.final_channels(runs)
    assert channels.ratio.tolist() == [1, 2, 0.5, 3, 4, 1.5]
    assert channels.layer.tolist() == [1, 1, 2, 1, 1, 2]
    assert channels.seed.tolist() == [0, 0, 0, 1, 1, 1]
    table = trained.by_layer(channels)
    assert table.values.tolist() == [
        # Medians of a model: 1.5 and 3.5, .5 and 1.5, and 1 and 3 over all its channels.
        ["lenet", "1", 2, 2, 2.5, 0.75],
        ["lenet", "2", 1, 2, 1.0, 0.5],
        ["lenet", "all", 3, 2, 2.0, pytest.approx((1 / 3 + 1) / 2)],
    ]


def test_layers_of_architectures_stay_apart_and_settings_come_together():
    runs = [
        run([[0], [2.0]]),
        run([[0], [6.0]], noise_rate=0.5),
        run([[0, 0], [8.0, 8.0]], arch="resnet8"),
    ]
    table = trained.by_layer(trained.final_channels(runs))
    layers = table[table.layer == "1"]
    assert layers.arch.tolist() == ["lenet", "resnet8"]
    assert layers.channels.tolist() == [1, 2]
    assert layers.models.tolist() == [2, 1]
    assert layers["median ratio"].tolist() == [2.0, 4.0]


def test_running_and_batch_sigma_side_by_side():
    net, x = lived_in(), images(11)
    found = trained.running_and_batch(net, x, batch_size=4)
    table = gamma_sigma(net)
    np.testing.assert_array_equal(found.running, table.sigma)
    np.testing.assert_array_equal(found.ratio, table.ratio)
    means = (batch_sigma(net, x[:4]) + batch_sigma(net, x[4:8])) / 2  # the rest is left out
    np.testing.assert_allclose(found.batch, means, rtol=1e-6)
    np.testing.assert_allclose(found.ratio_batch, table.gamma.abs() / means, rtol=1e-6)


def test_less_than_one_batch():
    with pytest.raises(BadInput, match="3 images are no whole batch of 4"):
        trained.running_and_batch(lived_in(), images(3), batch_size=4)


@pytest.mark.parametrize(
    ("arch", "numbers"), [("lenet", set()), ("resnet8", {3, 5, 8}), ("densenet22", set())]
)
def test_layers_behind_shrunk_weights_lie_at_the_end_of_branches(arch, numbers):
    net = build(arch)
    assert trained.behind_shrunk(net) == numbers


def test_start_and_end_by_hand():
    net = build("resnet8")
    layers = gamma_sigma(net).layer.to_numpy()
    x = images()
    shrunk = np.isin(layers, [3, 5, 8])
    gamma = np.ones((3, len(layers)))
    gamma[1, shrunk], gamma[2] = 3, 0.5  # over a sigma of 2
    gamma[2, ~shrunk] = -3
    found = trained.start_and_end(run(gamma, layers=list(layers), arch="resnet8"), net, x)
    before = 1 / batch_sigma(net, x) > 1
    assert found["BN layers"].tolist() == ["all", "not behind shrunk weights"]
    assert found.channels.tolist() == [len(layers), (~shrunk).sum()]
    assert found["before training"].tolist() == [before.mean(), before[~shrunk].mean()]
    assert found["after epoch 1"].tolist() == [shrunk.mean(), 0]
    assert found["at the end"].tolist() == [(~shrunk).mean(), 1]
    assert found["median |gamma|"].tolist() == [np.median(abs(gamma[2])), 3]


def test_start_and_end_without_shrunk_weights_has_one_row():
    net = build()
    channels = len(gamma_sigma(net))
    found = trained.start_and_end(run(np.full((2, channels), 3)), net, images())
    assert found["BN layers"].tolist() == ["all"]
    assert found["at the end"].tolist() == [1]


def test_rescalings_change_the_ratio_and_no_output():
    net, x = lived_in(), images(30)
    y = net(x).argmax(1)
    y[:6] = (y[:6] + 1) % 3
    found = trained.rescalings(net, x, y, [0.5, 1, 2])
    assert found.c.tolist() == [0.5, 1, 2]
    assert found["largest change of a logit"].tolist() == [0, 0, 0]
    assert found["test accuracy"].tolist() == [0.8] * 3
    halved, once, doubled = found["median ratio"]
    assert (halved, doubled) == pytest.approx((2 * once, once / 2), rel=1e-6)
    assert once == gamma_sigma(net).ratio.median()
    kept = trained.rescalings(net, x, y, [0.01], scale_eps=False)
    assert kept["largest change of a logit"].item() > 1e-3


def numbers(text):
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-\d+)?", text)]


def test_agreement_says_what_the_table_says():
    net = lived_in()
    both = trained.running_and_batch(net, images(8), batch_size=8)
    both["batch"] = 2 * both.running
    both["ratio"], both["ratio_batch"] = [2.0] * len(both), [0.5] * len(both)
    text = trained.agreement(both, planted.config(seed=7), "smoke")
    assert "lenet/batch on planted" in text
    assert "smoke" in text
    assert numbers(text)[-5:] == [2, 2, 2, 1, 0]


def test_the_answer_follows_its_evidence():
    share = {"unit": "share", "threshold": 0.5, "key": "ratio_above_one"}
    made = verdict(evidence(0.6, 0.7, 0.8), evidence(0.1, 0.2, 0.3), **share)
    net, x = lived_in(), images(8)
    scaled = trained.rescalings(net, x, net(x).argmax(1), [1e-4, 1e4])
    scaled["largest change of a logit"] = 0.0
    layers = ["all", "not behind shrunk weights", "all"]
    starts = pd.DataFrame({"BN layers": layers, "before training": [0.9, 0.1, 0.4]})
    text = trained.answer(made, starts, scaled)
    assert numbers(text) == [1, 0.2, 0.7, 0.5, 1, 2, 0.4, 0.9, 0, 1]
    assert "(partly)" in text
    assert text.endswith("in one network and changes no output.")
    scaled["largest change of a logit"] = 0.002
    assert trained.answer(made, starts, scaled).endswith("changes no logit by more than 0.002.")
