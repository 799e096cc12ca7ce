import math

import numpy as np
import planted
import pytest
import torch
from lived_in import build, images
from made_paths import path

from bn_memorization import train
from bn_memorization import trained_invariant as trained
from bn_memorization.errors import BadInput
from bn_memorization.ratios import batch_sigma, channels, weight_norms
from bn_memorization.train import Run

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


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


def test_a_movement_is_no_net_change():
    """Log rho moves by 3 and -3, log |w| by 1 and 1: a quarter of the movement, all of the net."""
    e = math.e
    found = trained.changes([path([[1, 1], [e**2, e**-4]], [[1, 1], [e, e]])])
    np.testing.assert_allclose(found.rho, [3, -3])
    assert trained.by_scale(found) == pytest.approx(1 / 4)
    assert found["size"].mean() == pytest.approx(-found.ratio.mean())


def test_evidence_is_over_models():
    """Shares of channels that grew .4, .5 and .6: mean .5, s .1; t of 2 degrees 4.302652730."""
    ends = ([2] * n + [0.5] * (10 - n) for n in (4, 5, 6))
    paths = [path([[1] * 10, end], np.ones((2, 10)), seed=n) for n, end in enumerate(ends)]
    paths += [path([[1], [2]], [[1], [1]], noise_rate=0.5, seed=n) for n in range(2)]
    first, second = trained.evidence(trained.changes(paths), trained.grown)
    reach = 4.302652729911275 * 0.1 / math.sqrt(3)
    assert (first.estimate, first.low, first.high, first.n) == pytest.approx(
        (0.5, 0.5 - reach, 0.5 + reach, 3)
    )
    assert (second.where["noise_rate"], second.estimate, second.n) == (0.5, 1, 2)


def test_the_interval_of_a_share_is_cut_at_0_and_1():
    """Shares 0, 1/2 and 1: the t interval would reach beyond both. One model has no interval."""
    ends = ([0.5, 0.5], [0.5, 2], [2, 2])
    paths = [path([[1, 1], end], np.ones((2, 2)), seed=n) for n, end in enumerate(ends)]
    (found,) = trained.evidence(trained.changes(paths), trained.grown)
    assert (found.estimate, found.low, found.high) == (0.5, 0, 1)
    (alone,) = trained.evidence(trained.changes(paths[:1]), trained.grown)
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_quotient_is_of_means_and_not_the_mean_of_quotients(sign):
    """(1 + 2 + 6) over (2 + 3 + 4) is 1; the mean of 1/2, 2/3 and 3/2 is not."""
    found = trained.quotient([sign * 1, sign * 2, sign * 6], [sign * 2, sign * 3, sign * 4])
    assert found == pytest.approx(1)
    assert trained.quotient([0, 0, 0], [2, 3, 4]) == 0


@pytest.mark.parametrize("below", [[-1, 1, 3], [0, 0, 0], [1, 2, 30], [2]])
def test_no_quotient_where_the_denominator_is_not_clear_of_zero(below):
    """An interval around zero, one of no width on it, a wide one, and none."""
    assert math.isnan(trained.quotient([1] * len(below), below))


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
