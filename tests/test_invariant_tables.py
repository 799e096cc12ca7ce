import math

import numpy as np
import pandas as pd
import pytest
import torch
from lived_in import images, lived_in
from made_paths import path
from verdicts import evidence, verdict

from bn_memorization import invariant_tables as tables
from bn_memorization import trained_invariant as trained
from bn_memorization.invariant import rho
from bn_memorization.ratios import batch_sigma, bn_layers, gamma_sigma, weight_norms

pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def test_parts_add_up():
    e = math.e
    paths = [path([[1, 1], [9, 1], [e, e**3]], [[1, 1], [1, 1], [e, e]], seed=0)]
    paths += [path([[1, 1], [1, 1], [1, 1]], [[1, 1], [1, 1], [1, 1]], seed=1)]
    (row,) = tables.parts(trained.changes(paths)).to_dict("records")
    assert row.pop("setting") == "planted, LeNet, 25\xa0% flipped"
    assert row == {
        "log γ/σ": pytest.approx(1),
        "log γ|w|/σ": pytest.approx(1.5),
        "−log |w|": pytest.approx(-0.5),
        "net share by |w|": pytest.approx(math.nan, nan_ok=True),  # 2 and 0: not clear of 0
        "grew since start": 0.5,  # both channels of one network and none of the other
        "grew since epoch 1": 0.25,  # the first had 9, and ends with e^2
        "n": 2,
    }


def test_by_layer_by_hand():
    paths = [path([[0.5, 2, 3], [0.6, 0.5, 6]], [[1, 1, 2], [2, 2, 2]], layer=[1, 1, 2])]
    found = tables.by_layer(paths)
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
    layers = tables.by_layer([path([[0.5, 2], [0.6, 0.5]], [[1, 1], [2, 2]])])
    shares = pd.DataFrame({tables.NET: [0.31, np.nan, 0.74]})
    text = tables.answer(grows, scale, layers, shares)
    order = ("0.20 to 0.70", "partly", "0.12", "reproduced", "0.31 to 0.74", "0.50 of the channels")
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    for part in ("movement", "sizes of both parts summed over channels", "net change"):
        assert part in text


def test_coverage_names_what_is_left_out():
    found = path([[1] * 3] * 2, [[1] * 3] * 2, left_out=10)
    text = tables.coverage([found, path([[1], [1]], [[1], [1]])])
    assert text.startswith("Every BN channel")  # the last network of an architecture speaks for it
    assert "10 of 13 in lenet" in tables.coverage([found])


def net_share(ratio, size):
    """Return the table's net share for models with these ends, a list of channels each, from 1."""
    paths = [
        path([[1] * len(one), one], [[1] * len(one), other], seed=seed)
        for seed, (one, other) in enumerate(zip(ratio, size, strict=True))
    ]
    return tables.parts(trained.changes(paths))[tables.NET].item()


def test_the_net_share_is_a_quotient_of_means_over_models():
    """log gamma/sigma falls by 2, 3 and 4, log |w| rises by 1, 2 and 3 in the mean: 6 of 9."""
    fell = [np.exp([-1, -3]), np.exp([-3, -3]), np.exp([-4, -4])]
    rose = [np.exp([0, 2]), np.exp([2, 2]), np.exp([3, 3])]
    assert net_share(fell, rose) == pytest.approx(6 / 9)


def test_the_net_share_is_blank_where_the_net_change_is_not_clear_of_zero():
    assert math.isnan(net_share([[2], [0.5], [1]], [[2], [2], [2]]))


def test_rescaled_weights_have_a_net_share_of_one():
    assert net_share([[0.5], [0.25]] * 2, [[2], [4]] * 2) == pytest.approx(1)


def ended(net, x, times):
    """Return a path from rho = 1 to what the network has, running sigma `times` the batch's."""
    first = 0
    for layer in bn_layers(net).values():
        sigma = torch.tensor(batch_sigma(net, x)[first : first + layer.num_features])
        layer.running_var = (times * sigma).square() - layer.eps
        first += layer.num_features
    size = weight_norms(net).astype(float)
    return path([1 / size, gamma_sigma(net).ratio], [size, size])


@pytest.mark.parametrize(("times", "push"), [(2.0, "lowers"), (0.5, "raises")])
def test_a_mismatch_of_sigma_pushes_the_other_way(times, push):
    """The share of channels that grew with a batch's sigma at both ends, computed apart."""
    net, x = lived_in(), images(32)
    found = ended(net, x, times)
    grew = (rho(net) > 1).mean()
    alike = (gamma_sigma(net).gamma.abs() / batch_sigma(net, x) * weight_norms(net) > 1).mean()
    assert abs(grew - alike) > 0.01
    text = tables.mismatch(found, net, x)
    for part in (f"{times:.2f} times a batch's", f"which {push} γ|w|/σ"):
        assert part in text
    assert f"grew in a share of {alike:.2f} of its channels ({grew:.2f} with" in text


def test_no_mismatch_changes_nothing():
    net, x = lived_in(), images(32)
    text = tables.mismatch(ended(net, x, 1.0), net, x)
    grew = (rho(net) > 1).mean()
    assert f"grew in a share of {grew:.2f} of its channels ({grew:.2f} with" in text


def test_what_is_known():
    assert tables.known(pd.Series([np.nan, 0.2, 0.1]), "share") == "0.10 to 0.20"
    assert tables.known(pd.Series([np.nan]), "share") == tables.UNKNOWN
