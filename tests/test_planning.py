import math
from dataclasses import replace

import made_shadows
import planted
import pytest

from bn_memorization import chapter, fingerprint, planning
from bn_memorization.planning import Network, Times

RUN = planted.config(dataset="mnist", train_size=100, eval_size=10, epochs=2, batch_size=30)
SHADOW = made_shadows.config(dataset="mnist")
FREE_LOOKS = Times(step=1.0, image=0.01, look=0.0)


def test_a_run_is_its_steps_its_images_and_its_looks():
    assert planning.seconds(RUN, FREE_LOOKS) == pytest.approx(2 * 4 * 1.0 + 2 * 100 * 0.01)
    looks = planning.seconds(RUN, Times(0.0, 0.0, 1.0))
    measured = 25 + 10 + 10  # corrupted, clean and test images
    assert looks == 3 * (measured + planning.PROBE_PASSES * 2 * 25)


@pytest.mark.parametrize(("change", "factor"), [({"epochs": 4}, 2), ({"train_size": 400}, 3.75)])
def test_more_training_takes_longer(change, factor):
    more = planning.seconds(replace(RUN, **change), FREE_LOOKS)
    steps = {"epochs": 8 * 2, "train_size": 2 * 14}[next(iter(change))]
    images = {"epochs": 400, "train_size": 800}[next(iter(change))]
    assert more == pytest.approx(steps + images * 0.01)
    assert more > planning.seconds(RUN, FREE_LOOKS) * 1.5 * (factor > 1)


def test_a_shadow_model_trains_on_half_of_its_pool():
    half = SHADOW.pool_size // 2
    times = Times(0.0, 1.0, 0.0)
    assert planning.seconds(SHADOW, times) == SHADOW.epochs * half


def test_the_longest_runs_come_first():
    runs = [RUN, replace(RUN, epochs=9), replace(RUN, arch="resnet8"), replace(RUN, seed=4)]
    assert planning.longest_first(runs) == [runs[2], runs[1], runs[0], runs[3]]


def test_runs_are_compared_by_their_work():
    own = [RUN, replace(RUN, seed=4)]
    assert planning.compared(own, own) == (0, 0.0)
    assert planning.compared([RUN, replace(RUN, epochs=6), replace(RUN, epochs=6)], own) == (1, 1.5)
    new, share = planning.compared([RUN], [])
    assert new == 1
    assert math.isnan(share)


def test_a_plan_counts_a_shared_run_for_the_first_chapter_alone():
    other = replace(RUN, seed=7)
    chapters = {"01_a": [RUN, other, SHADOW], "02_b": [RUN, SHADOW, replace(RUN, seed=8)]}
    times = dict.fromkeys(map(planning.network_of, [RUN, SHADOW]), FREE_LOOKS)
    found = planning.lines(chapters, {other}, times)
    assert [(line.chapter, line.kind, line.done, line.missing) for line in found] == [
        ("01_a", "train", 1, 1),
        ("01_a", "shadow", 0, 1),
        ("02_b", "train", 0, 1),
    ]
    assert found[0].seconds == planning.seconds(RUN, FREE_LOOKS)


def test_the_table_ends_with_sums_and_what_several_workers_would_take():
    lines = [
        planning.Line("01_a", "train", 1, 2, 3600.0),
        planning.Line("02_b", "shadow", 3, 4, 1800.0),
    ]
    *_, total, last = planning.told(lines, workers=3)
    assert total.split() == ["in", "all", "4", "6", "1.50"]
    assert last == "Hours are of one worker; 3 at once would take about 0.50."


@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_every_run_of_a_profile_has_a_cost(profile):
    for name in fingerprint.chapters():
        for config in chapter.plan(name, profile).configs:
            assert isinstance(planning.network_of(config), Network)
            assert planning.seconds(config, Times(1.0, 1.0, 1.0)) > 0
            assert planning.work(config) > 0
