import re
from dataclasses import replace

import numpy as np
import planted
import pytest
from test_report import cells, spaced

from bn_memorization import matched
from bn_memorization.claims import CLAIMS
from bn_memorization.judging import Evidence, judge
from bn_memorization.stats import paired_gap
from bn_memorization.train import Run


def run(corrupted, loss=None, **changes):
    """Return a run with this accuracy on corrupted samples and this loss on clean ones."""
    zero = np.zeros(len(corrupted))
    accuracy = np.array([corrupted, zero, zero], float).T
    losses = np.array([zero, zero if loss is None else loss, zero], float).T
    config = planted.config(epochs=len(corrupted) - 1, **changes)
    return Run(config, {"accuracy": accuracy, "loss": losses})


@pytest.mark.parametrize(
    ("loss", "target", "wanted"),
    [
        ([2.0, 1.0, 0.5], 0.5, 0.8),  # at the end
        ([2.0, 1.0, 0.5], 1.0, 0.2),  # at an epoch
        ([2.0, 1.0, 0.5], 0.75, 0.5),  # half way between two
        ([2.0, 1.0, 0.5], 1.25, 0.15),  # three quarters of the first epoch
        ([2.0, 0.5, 1.0], 1.0, 2 / 15),  # the first time, not the last
        ([2.0, 1.0, 0.5], 3.0, 0.0),  # before training
        ([2.0, 1.0, 0.0], 0.0, 0.8),  # no loss at all
    ],
)
def test_corrupted_at_by_hand(loss, target, wanted):
    assert matched.corrupted_at(run([0.0, 0.2, 0.8], loss), target) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("loss", "target", "wanted"),
    [
        ([4.0, 1.0], 2.0, 0.4),  # half way in the log
        ([4.0, 1.0], 1.0, 0.8),
        ([4.0, 0.0], 2.0, 0.0),  # no loss at all is infinitely far
        ([4.0, 0.0], 0.0, 0.8),
    ],
)
def test_corrupted_at_on_a_log_scale(loss, target, wanted):
    found = matched.corrupted_at(run([0.0, 0.8], loss), target, scale=np.log)
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("path", "target", "wanted"),
    [
        ([4.0, 2.0, 1.0], 4.0, 0.0),
        ([4.0, 2.0, 1.0], 2.0, 1.0),
        ([4.0, 2.0, 1.0], 3.0, 0.5),
        ([4.0, 2.0, 1.0], 1.25, 1.75),
        ([4.0, 2.0, 3.0, 1.0], 2.5, 0.75),  # the first time
        ([-0.1, -0.5, -0.9], -0.7, 1.5),  # a rising path, turned over
    ],
)
def test_moment_by_hand(path, target, wanted):
    assert matched.moment(np.array(path), target) == pytest.approx(wanted)


def test_the_scale_changes_the_reading_of_both_arms():
    runs = [
        run([0.0, 0.8], [4.0, 1.0], norm="batch"),
        run([0.0, 0.3], [4.0, 2.0], norm="none"),
    ]
    ((straight, _),) = matched.at_equal_clean(runs, "batch")
    ((log, _),) = matched.at_equal_clean(runs, "batch", scale=np.log)
    assert straight.estimate == pytest.approx(0.8 * 2 / 3 - 0.3)
    assert log.estimate == pytest.approx(0.4 - 0.3)


def two_pairs(**changes):
    """Return two pairs: in seed 0 the plain arm ends at the higher loss, in seed 1 that of BN."""
    return [
        run([0.0, 0.4, 0.8], [2.0, 1.0, 0.5], norm="batch", seed=0, **changes),
        run([0.0, 0.1, 0.3], [2.0, 1.5, 0.75], norm="none", seed=0, **changes),
        run([0.0, 0.2, 0.6], [2.0, 1.5, 1.25], norm="batch", seed=1, **changes),
        run([0.0, 0.4, 0.9], [2.0, 1.0, 0.25], norm="none", seed=1, **changes),
    ]


def test_at_equal_clean_by_hand():
    """At loss .75, .6 - .3; at loss 1.25, .6 - .3: the same gap in both pairs."""
    ((found, loss),) = matched.at_equal_clean(two_pairs(), "batch")
    assert (found.estimate, found.low, found.high) == pytest.approx((0.3, 0.3, 0.3))
    assert found.n == 2
    assert loss == pytest.approx(1.0)
    assert found.where["noise_rate"] == 0.25


def test_the_gap_turns_with_the_arms():
    swapped = {"batch": "none", "none": "batch"}
    runs = [
        run(one.curve("accuracy", "corrupted"), one.curve("loss", "clean"),
            norm=swapped[one.config.norm], seed=one.config.seed)
        for one in two_pairs()
    ]  # fmt: skip
    ((found, loss),) = matched.at_equal_clean(runs, "batch")
    assert (found.estimate, loss) == pytest.approx((-0.3, 1.0))


def test_an_arm_that_is_only_later_on_the_same_path_has_no_gap():
    runs = [
        run(path, losses, norm=norm)
        for norm, path, losses in (
            ("batch", [0.0, 0.4, 0.8], [2.0, 1.0, 0.5]),
            ("none", [0.0, 0.2, 0.4], [2.0, 1.5, 1.0]),
        )
    ]
    ((found, _),) = matched.at_equal_clean(runs, "batch")
    assert found.estimate == pytest.approx(0.0)


def test_settings_stay_apart():
    runs = two_pairs() + two_pairs(noise_rate=0.5)
    found = matched.at_equal_clean(runs, "batch")
    assert [item.where["noise_rate"] for item, _ in found] == [0.25, 0.5]


def test_a_seed_without_one_of_its_arms_is_an_error():
    with pytest.raises(ValueError, match="seeds"):
        matched.at_equal_clean(two_pairs()[1:], "batch")


def equal(*ends):
    """Return matched gaps, from (low, estimate, high) each, at a clean loss of .25."""
    where = {"dataset": "mnist", "arch": "lenet", "noise_rate": 0.05}
    return [(Evidence(where, estimate, low, high, 3), 0.25) for low, estimate, high in ends]


def test_table_of_matched_gaps():
    head, row = cells(matched.table(equal((-0.01, 0.02, 0.05)), "smoke"))
    assert head == [
        *("setting", "effect", "interval (95 % t over seeds)", "n", "clean loss", "profile")
    ]
    assert row == [
        *("MNIST, LeNet, 5 % flipped", "+2.0 points", "-1.0 to +5.0 points", "3", "0.250", "smoke")
    ]


def test_sentence_counts_the_intervals_above_zero_on_both_kinds_of_lines():
    straight = equal((0.01, 0.02, 0.03), (0.0, 0.25, 0.5), (-0.1, -0.05, -0.01))
    log = equal((0.01, 0.03, 0.04), (0.1, 0.2, 0.5), (-0.1, 0.05, 0.2))
    text = spaced(matched.sentence(straight, log))
    assert "is -5.0 to +25.0 points on straight lines between epochs and +3.0 to +20.0" in text
    assert text.endswith("and its interval lies above zero in 1 and 2 of 3 settings, respectively.")
    one = matched.sentence(straight[:1], log[:1])
    assert one.endswith("in 1 and 1 of 1 setting, respectively.")


def test_censoring_says_how_many_were_cut_off():
    fast, slow = [0.0, 0.5], [0.0, 0.4]
    runs = [
        run(fast, seed=0), run(slow, seed=1),
        run(slow, norm="none", seed=0), run(slow, norm="none", seed=1),
        run(fast, noise_rate=0.5), run(fast, norm="none", noise_rate=0.5),
    ]  # fmt: skip
    text = matched.censoring(runs, "batch")
    assert text.startswith("3 of 6 models, 2 of them plain, never fitted half")
    assert "In 1 of 2 settings this holds for all runs of an arm. Such a setting has no" in text
    assert matched.censoring(runs[4:], "batch").startswith("Every model fitted half")


def verdict(key, *estimates):
    """Return the verdict for one setting an estimate, with an interval of known width."""
    evidence = [
        Evidence.from_gap(
            {"dataset": f"set {number}"}, paired_gap([e - 0.01, e, e + 0.01], np.zeros(3))
        )
        for number, e in enumerate(estimates)
    ]
    return judge(CLAIMS[key], evidence)


def numbers(text):
    """Return all numbers of a text, whatever sign of minus and spaces it is written with."""
    return [float(found) for found in re.findall(r"[+-]?\d+(?:\.\d+)?", text.replace("−", "-"))]


MATCHED = equal((0.01, 0.02, 0.03), (-0.1, -0.05, -0.01))
ON_LOG = equal((0.01, 0.03, 0.03), (-0.1, -0.04, -0.01))


def answer(final, speed, loss, arm="BN"):
    """Return the answer to these gaps but for its last sentence, which is the matched one."""
    verdicts = zip(("final", "speed", "loss"), (final, speed, loss), strict=True)
    made = [verdict(f"forced_{key}", *estimates) for key, estimates in verdicts]
    text, sentence = matched.answer(*made, (MATCHED, ON_LOG), arm).split(" Read where ")
    assert f"Read where {sentence}" == matched.sentence(MATCHED, ON_LOG)
    return text


def test_the_answer_says_what_the_evidence_says():
    text = answer((0.125, -0.25, 0.5), (2.0, 3.5, 1.0), (0.25, -0.5, -0.75))
    first, second, third = re.split(r"; it fits half of them sooner |\. Its loss ", text)
    assert "network with BN" in first
    assert numbers(first) == [2, 3, -25, 50]  # ahead in 2 of 3, by accuracy points
    assert first.endswith("(partly)")
    assert numbers(second) == [3, 3, 1, 3.5]  # sooner in 3 of 3, by epochs
    assert second.endswith("(reproduced)")
    assert numbers(third) == [1, 3, -0.75, 0.25]  # lower in 1 of 3, by nats
    assert third.endswith("(partly).")


def test_the_answer_follows_its_evidence():
    text = answer((-0.125,), (-1.0,), (-2.0,), "group norm")
    assert "network with group norm" in text
    assert numbers(text) == [0, 1, -12.5, 0, 1, -1, 0, 1, -2]
    assert text.count("(not reproduced)") == 3
    text = answer((0.25,), (-1.0,), (-2.0,))
    assert numbers(text) == [1, 1, 25, 0, 1, -1, 0, 1, -2]
    assert "(reproduced)" in text


def test_a_time_that_is_not_known_is_not_told():
    final, loss = verdict("forced_final", 0.5), verdict("forced_loss", 0.5)
    unknown = replace(verdict("forced_speed", 7.0).evidence[0], low=np.nan, high=np.nan)
    known = verdict("forced_speed", 2.0).evidence[0]
    speed = judge(CLAIMS["forced_speed"], [unknown, known])
    text = matched.answer(final, speed, loss, (MATCHED, ON_LOG), "BN")
    assert numbers(text.partition("; it")[2].partition(" (")[0]) == [1, 1, 2]
    alone = judge(CLAIMS["forced_speed"], [unknown])
    text = matched.answer(final, alone, loss, (MATCHED, ON_LOG), "BN")
    assert "; in no setting is the time known (not testable at this scale). Its" in text


def test_an_effect_of_nothing_is_not_ahead():
    assert numbers(answer((0.0,), (0.0,), (0.0,))) == [0, 1, 0, 0, 1, 0, 0, 1, 0]
