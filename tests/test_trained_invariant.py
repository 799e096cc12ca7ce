import math

import numpy as np
import planted
import pytest
import torch
from lived_in import build, images
from verdicts import evidence, verdict

from bn_memorization import train
from bn_memorization import trained_invariant as trained
from bn_memorization.errors import BadInput
from bn_memorization.ratios import batch_sigma, channels, weight_norms
from bn_memorization.train import Run

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def path(ratio, size, layer=None, left_out=0, **changes):
    """Return a path with ratio and size [E + 1, C]."""
    ratio, size = np.array(ratio, float), np.array(size, float)
    config = planted.config(epochs=len(ratio) - 1, **changes)
    return trained.Path(config, np.array(layer or [1] * ratio.shape[1]), ratio, size, left_out)


def made_run(size=0.5, **changes):
    """Return a run of LeNet whose gammas are 1, then 3, and whose sigmas are 1, then 2."""
    found = channels(build())
    n = len(found["gamma"])
    arrays = {
        "gamma": np.stack([np.ones(n), np.full(n, -3.0)]).astype(np.float32),
        "sigma": np.stack([np.ones(n), np.full(n, 2.0)]).astype(np.float32),
        "bn_layer": np.stack([found["bn_layer"]] * 2),
        "weight_norm": np.full((2, n), size, np.float32),
    }
    return Run(planted.config(epochs=1, **changes), arrays)


def test_a_path_starts_with_batch_sigma_and_goes_on_with_the_running_one():
    net, x = build(), images(400)
    run = made_run()
    found = trained.follow(run, net, x)
    np.testing.assert_allclose(found.ratio[0], 1 / batch_sigma(net, x[: trained.START_IMAGES]))
    assert (found.ratio[1] == 1.5).all()
    np.testing.assert_allclose(found.rho, 0.5 * found.ratio)
    assert found.left_out == 0
    assert (run.arrays["sigma"][0] == 1).all()  # the record stays what it was


def test_channels_without_weights_of_their_own_are_left_out_and_counted():
    run, net = made_run(), build()
    run.arrays["weight_norm"][:, :10] = np.nan
    found = trained.follow(run, net, images(32))
    assert found.left_out == 10
    assert found.ratio.shape == found.size.shape == (2, 216)
    assert len(found.layer) == 216
    assert found.layer[0] == 2  # six of ten are the first layer
    text = trained.coverage([found, path([[1], [1]], [[1], [1]])])
    assert text.startswith("Every BN channel")  # the last network of an architecture speaks for it
    assert "10 of 226 in lenet" in trained.coverage([found])


def test_no_channel_with_weights_of_its_own():
    with pytest.raises(BadInput, match=r"lenet/batch on planted.*there is no \|w\|"):
        trained.follow(made_run(size=np.nan), build(), images(32))


def test_changes_by_hand():
    """Ratio doubled and |w| halved: rho as it was. Ratio as it was and |w| times e."""
    found = trained.changes([path([[1, 3], [2, 3]], [[4, 1], [2, math.e]], layer=[1, 2], seed=7)])
    np.testing.assert_allclose(found.ratio, [math.log(2), 0])
    np.testing.assert_allclose(found.rho, [0, 1], atol=1e-12)
    np.testing.assert_allclose(found["size"], [-math.log(2), 1])
    np.testing.assert_allclose(found.ratio, found.rho - found["size"], atol=1e-12)
    assert found.seed.tolist() == [7, 7]
    assert found.layer.tolist() == [1, 2]


def test_rescaled_weights_change_by_size_alone():
    """The null of both statistics: a change of |w| that no output shows."""
    found = trained.changes([path([[1, 2, 3], [2, 1, 6]], [[1, 1, 1], [0.5, 2, 0.5]])])
    assert trained.by_scale(found) == pytest.approx(1)
    np.testing.assert_allclose(found.rho, 0, atol=1e-12)


def test_the_share_by_size_by_hand():
    """Changes of log |w|: 1 and -1, of log rho: 3 and -1. So 2 of 6, though the means differ."""
    e = math.e
    found = trained.changes([path([[1, 1], [e**2, 1]], [[1, 1], [e, 1 / e]])])
    np.testing.assert_allclose(found.rho, [3, -1])
    assert trained.by_scale(found) == pytest.approx(2 / 6)
    assert trained.grown(found) == 0.5


def test_evidence_is_over_models():
    """Shares of channels that grew 0, 1/2 and 1: mean .5, s .5; t of 2 degrees 4.302652730."""
    ends = ([0.5, 0.5], [0.5, 2], [2, 2])
    paths = [path([[1, 1], end], np.ones((2, 2)), seed=n) for n, end in enumerate(ends)]
    paths += [path([[1], [2]], [[1], [1]], noise_rate=0.5, seed=n) for n in range(2)]
    first, second = trained.evidence(trained.changes(paths), trained.grown)
    reach = 4.302652729911275 * 0.5 / math.sqrt(3)
    assert (first.estimate, first.low, first.high, first.n) == pytest.approx(
        (0.5, 0.5 - reach, 0.5 + reach, 3)
    )
    assert (second.where["noise_rate"], second.estimate, second.n) == (0.5, 1, 2)


def test_parts_add_up():
    e = math.e
    paths = [path([[1, 1], [9, 1], [e, e**3]], [[1, 1], [1, 1], [e, e]], seed=0)]
    paths += [path([[1, 1], [1, 1], [1, 1]], [[1, 1], [1, 1], [1, 1]], seed=1)]
    (row,) = trained.parts(trained.changes(paths)).to_dict("records")
    assert row.pop("setting") == "planted, LeNet, 25 % flipped"
    assert row == {
        "log γ/σ": pytest.approx(1),
        "log γ|w|/σ": pytest.approx(1.5),
        "−log |w|": pytest.approx(-0.5),
        "grew since start": 0.5,  # both channels of one network and none of the other
        "grew since epoch 1": 0.25,  # the first had 9, and ends with e^2
        "n": 2,
    }


def test_through_training_is_by_layer_and_averaged_in_logs():
    ones = np.ones((2, 4))
    paths = [
        path([[1, 1, 1, 5], [2, 2, 2, 5]], 3 * ones, layer=[1, 1, 1, 2], seed=0),
        path([[4, 4, 4, 5], [8, 8, 8, 5]], 3 * ones, layer=[1, 1, 1, 2], seed=1, noise_rate=0.5),
    ]
    found = trained.through_training(paths).set_index(["quantity", "layer", "epoch"])
    assert len(found) == 2 * 2 * 2
    for epoch, wanted in ((0, 2), (1, 4)):
        assert found.loc[("ratio", 1, epoch), "median"] == pytest.approx(wanted)
        assert found.loc[("rho", 1, epoch), "low"] == pytest.approx(3 * wanted)
    assert found.loc[("ratio", 2, 1), "high"] == pytest.approx(5)
    assert set(found.dataset) == {"planted"}


def test_by_layer_by_hand():
    paths = [path([[0.5, 2, 3], [0.6, 0.5, 6]], [[1, 1, 2], [2, 2, 2]], layer=[1, 1, 2])]
    found = trained.by_layer(paths)
    assert found.layer.tolist() == ["1", "2", "all"]
    assert found["γ/σ, start"].tolist() == [1.25, 3, 2]
    assert found["γ/σ, end"].tolist() == [0.55, 6, 0.6]
    assert found["γ|w|/σ, end"].tolist() == pytest.approx([1.1, 12, 1.2])
    assert found["|w|, end/start"].tolist() == [2, 1, 2]
    assert found["above 1, start"].tolist() == [0.5, 1, pytest.approx(2 / 3)]
    assert found["above 1, end"].tolist() == [0, 1, pytest.approx(1 / 3)]
    assert found["same side"].tolist() == [0.5, 1, pytest.approx(2 / 3)]


def test_the_answer_follows_its_evidence():
    share = {"unit": "share", "threshold": 0.5}
    grows = verdict(evidence(0.6, 0.7, 0.8), evidence(0.1, 0.2, 0.3), **share)
    scale = verdict(evidence(0.1, 0.12, 0.2), direction="below", **share)
    layers = trained.by_layer([path([[0.5, 2], [0.6, 0.5]], [[1, 1], [2, 2]])])
    text = trained.answer(grows, scale, layers)
    for part in ("0.20 to 0.70", "partly", "0.12", "reproduced", "0.50 of the channels end"):
        assert part in text


def test_the_probe_gives_what_a_path_needs():
    """From a real run: gamma is 1 and |w| that of the untrained network at the start."""
    from bn_memorization.ratios import probe

    config, data, device = planted.config(), planted.planted_set(), torch.device("cpu")
    run = train.fit(config, data, probes=(probe,))
    net, x = train.new_model(config, data, device), train.draw(config, data, device).x
    found = trained.follow(run, net, x)
    np.testing.assert_allclose(found.size[0], weight_norms(net), rtol=1e-6)
    np.testing.assert_allclose(found.rho[0], weight_norms(net) / batch_sigma(net, x), rtol=1e-5)
    assert found.rho.shape == (3, 226)
