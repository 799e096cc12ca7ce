from dataclasses import replace

import made_shadows
import numpy as np
import planted
import pytest
from made_shadows import KEEP, OUTLIER, N
from scipy.stats import norm

from bn_memorization import lira, live, one_sample
from bn_memorization import membership as mia
from bn_memorization.foreign import with_foreign
from bn_memorization.sample import corrupt


@pytest.fixture(scope="module")
def pair():
    (found,) = mia.paired(mia.pools(made_shadows.both()), "batch")
    return found


@pytest.fixture(scope="module")
def data():
    return planted.planted_set()


@pytest.fixture(scope="module")
def picture(pair, data):
    return one_sample.picture(pair, drawn(data), data)


def drawn(data, **changes):
    """Return the made pool's images: its outliers are not those that are corrupted here."""
    return corrupt(made_shadows.config(pool_size=N, **changes).pool, data)


def test_most_corrupted_of_the_first_data_set():
    shadows = [
        one
        for dataset, rate in (("planted", 0.05), ("planted", 0.25), ("other", 0.5))
        for one in made_shadows.both(dataset=dataset, noise_rate=rate)
    ]
    pairs = mia.paired(mia.pools(shadows), "batch")
    shown = one_sample.most_corrupted(pairs)
    assert (shown[0].where["dataset"], shown[0].where["noise_rate"]) == ("planted", 0.25)
    config = one_sample.config_of(shown, shadows)
    assert (config.dataset, config.noise_rate, config.norm) == ("planted", 0.25, "batch")


def test_scores_are_those_of_the_attack_that_decides(pair):
    wanted = lira.online(pair[0].phi[-1], KEEP)[:2]
    np.testing.assert_array_equal(one_sample.scores(pair[0]), wanted)
    several = replace(pair[0], queries=6)
    np.testing.assert_array_equal(one_sample.scores(several), wanted)


def test_images_are_chosen_by_their_score_where_they_were_trained_on(pair):
    own = np.where(KEEP[0], *one_sample.scores(pair[0]))
    chosen = one_sample.choose(pair[0])
    assert len(chosen) == 12
    of = {group: [i for i, g in chosen.items() if g == group] for group in one_sample.GROUPS}
    first, middle, last = of.values()
    assert own[first].tolist() == sorted(own[OUTLIER])[::-1][:4]
    assert not OUTLIER[middle].any()
    away = np.abs(own - np.median(own[~OUTLIER]))
    others = [i for i in np.flatnonzero(~OUTLIER) if i not in middle]
    assert away[middle].max() <= away[others].min()
    assert own[last].tolist() == [v for v in sorted(own) if v not in own[[*first, *middle]]][:4]


def test_without_outliers_there_are_two_groups(pair):
    clean = replace(pair[0], outlier=np.zeros(N, bool))
    assert list(dict.fromkeys(one_sample.choose(clean).values())) == list(one_sample.GROUPS[1:])


def test_titles_say_what_an_image_shows_and_how_it_is_labeled(data):
    pool = drawn(data, noise_rate=0.25)
    clean = next(i for i in range(N) if i not in pool.index)
    flipped = int(pool.index[0])
    first, second = one_sample.titles(pool, [clean, flipped], "flip", data)
    assert first == data.classes[pool.labels[clean]]
    shows = data.classes[pool.true_label[0]]
    assert second == f"{shows} labeled {data.classes[pool.labels[flipped]]}" != shows


@pytest.mark.parametrize(("corruption", "shows"), [("noise", "noise"), ("ood", "other set")])
def test_titles_of_images_that_belong_to_no_class(data, corruption, shows):
    data = with_foreign(data, planted.planted_set("other set"))
    pool = drawn(data, noise_rate=0.25, corruption=corruption)
    (title,) = one_sample.titles(pool, [int(pool.index[0])], corruption, data)
    assert title == f"{shows} labeled {data.classes[pool.labels[pool.index[0]]]}"


def test_every_image_has_its_score_from_its_own_normals(pair, picture):
    """The normals and the margin that the page has give the score of the attack."""
    chosen = list(one_sample.choose(pair[0]))
    for pool, k in zip(pair, (0, 1), strict=True):
        wanted = lira.online(pool.phi[-1], KEEP)
        for sample, shown in zip(chosen, picture["samples"], strict=True):
            arm = shown["arms"][k]
            for network in (0, 1):
                phi = arm["phi"][network]
                assert phi == pool.phi[-1, network, sample]
                inside, outside = (norm.logpdf(phi, arm[s]["mu"], arm[s]["sigma"]) for s in SIDES)
                assert arm["score"][network] == pytest.approx(wanted[network, sample])
                assert inside - outside == pytest.approx(wanted[network, sample])


SIDES = ("in", "out")


def test_the_networks_are_the_one_that_trained_on_it_and_the_other(pair, picture):
    for sample, shown in zip(one_sample.choose(pair[0]), picture["samples"], strict=True):
        assert KEEP[shown["trained_on"], sample]
        assert not KEEP[1 - shown["trained_on"], sample]
        for side in SIDES:
            margins = shown["arms"][0][side]["margins"]
            inside = KEEP[2:, sample] == (side == "in")
            assert sorted(margins) == sorted(pair[0].phi[-1, 2:, sample][inside])


def test_thresholds_allow_the_rate_and_no_lower_one_does(pair, picture):
    for arm, pool in zip(picture["arms"], pair, strict=True):
        for network in (0, 1):
            score, keep = one_sample.scores(pool)[network], KEEP[network]
            for rate, threshold, fpr, tpr in zip(
                picture["rates"], *(arm[key][network] for key in ("threshold", "fpr", "tpr")),
                strict=True,
            ):  # fmt: skip
                called = score >= (np.inf if threshold is None else threshold)
                assert called[~keep].mean() == pytest.approx(fpr)
                assert called[keep].mean() == pytest.approx(tpr)
                assert fpr <= rate + 1e-9
                lower = [t for t in score if not called[score == t].any()]
                assert not lower or (score[~keep] >= max(lower)).mean() > rate


def test_a_place_is_the_point_with_the_own_score_as_threshold(pair, picture):
    score = one_sample.scores(pair[0])
    for sample, shown in zip(one_sample.choose(pair[0]), picture["samples"], strict=True):
        for network in (0, 1):
            called = score[network] >= score[network, sample]
            wanted = [called[~KEEP[network]].mean(), called[KEEP[network]].mean()]
            assert shown["arms"][0]["place"][network] == pytest.approx(wanted)


def test_the_density_of_the_page_is_the_normal_one(picture):
    formula = one_sample.log_density()
    by_name = {str(symbol): symbol for symbol in formula.free_symbols}
    value = formula.subs({by_name["phi"]: 1.5, by_name["mu"]: 0.3, by_name["sigma"]: 2.0})
    assert float(value) == pytest.approx(norm.logpdf(1.5, 0.3, 2.0))
    assert picture["density"] == live.script({"log": formula})["log"]


def test_the_page_takes_it(picture):
    assert len(live.embed("one_sample", "fig-x", picture).data) < live.MOST
