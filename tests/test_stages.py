from dataclasses import replace

import pytest

from bn_memorization import chapter, fingerprint, influence, stages
from bn_memorization.claims import CLAIMS
from bn_memorization.config import ModelConfig
from bn_memorization.control_claims import CONTROLS
from bn_memorization.stages import EARLY, LATE

PARAMETERS = {
    "dataset": ["mnist", "fashion_mnist"],
    "arch": ["lenet", "resnet8"],
    "corruption": ["flip"],
    "noise_rate": [0.05],
    "only": ["*/*/*/*"],
    "source": "embedded",
    **{"train_size": 300, "eval_size": 100, "epochs": 9, "batch_size": 32},
    **{"deep_train_size": 200, "deep_eval_size": 150, "deep_epochs": 4, "deep_batch_size": 16},
    "seeds": 2,
    **{"optimizer": "sgd", "lr": 0.01, "momentum": 0.5, "weight_decay": 0.25},
}


def test_networks_have_bn_and_stop_at_a_third():
    found = stages.early(PARAMETERS)
    assert {type(config) for config in found} == {ModelConfig}
    assert {config.norm for config in found} == {"batch"}
    keys = [(c.dataset, c.arch, c.seed, c.epochs, c.batch_size) for c in found]
    assert keys == [
        (dataset, arch, seed, epochs, batch)
        for dataset in ("mnist", "fashion_mnist")
        for arch, epochs, batch in (("lenet", 3, 32), ("resnet8", 1, 16))
        for seed in (0, 1)
    ]


def test_each_network_stands_before_itself_at_the_end():
    found = stages.named(PARAMETERS)
    assert [moment for moment, _ in found] == [EARLY, LATE] * 8
    for (_, first), (_, last) in zip(found[::2], found[1::2], strict=True):
        assert first == replace(last, epochs=influence.third(last.epochs))
    assert stages.both(PARAMETERS) == [config for _, config in found]


def test_only_keeps_settings_out():
    found = stages.early(PARAMETERS | {"only": ["mnist/lenet/*/*"]})
    assert [(c.dataset, c.arch) for c in found] == [("mnist", "lenet")] * 2


@pytest.mark.parametrize("profile", fingerprint.profiles())
def test_chapter_4_has_networks_of_chapter_4b(profile):
    growth = chapter.plan("04_margin_growth", profile)
    fed = chapter.plan("04b_gamma_feedback", profile)
    assert growth.configs
    assert growth.configs == fed.configs[::2]
    if profile != "smoke":
        least = [CLAIMS["feedback"], CONTROLS["feedback_special"], CONTROLS["exact_convolution"]]
        assert fed.parameters["seeds"] >= max(claim.least_n for claim in least)
        assert growth.parameters["cases"] >= CONTROLS["growth_exact"].least_n


def test_quick_networks_are_those_of_chapter_1():
    first = chapter.plan("01_forced_memorization", "quick").configs
    late = chapter.plan("04b_gamma_feedback", "quick").configs[1::2]
    known = {(c.dataset, c.noise_rate, c.seed, c.train_size, c.epochs, c.lr) for c in first}
    assert {(c.dataset, c.noise_rate, c.seed, c.train_size, c.epochs, c.lr) for c in late} <= known
