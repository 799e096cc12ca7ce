from dataclasses import asdict, fields, replace

import pytest

from bn_memorization import chapter, experiments, paths, plans
from bn_memorization.claims import CLAIMS
from bn_memorization.config import SETTING, ModelConfig, TrainConfig
from bn_memorization.corrupt import CORRUPTIONS
from bn_memorization.data import DATASETS
from bn_memorization.errors import BadInput
from bn_memorization.shadows import ShadowConfig

SHARED = {
    "source": "embedded",
    "optimizer": "adam",
    "lr": 0.01,
    "momentum": 0.5,
    "weight_decay": 0.25,
}
LENET = {"train_size": 300, "eval_size": 100, "epochs": 2, "batch_size": 32}
DEEP = {"train_size": 200, "eval_size": 150, "epochs": 1, "batch_size": 16}
SIZES = LENET | {f"deep_{name}": value for name, value in DEEP.items()}
GRID = {
    "dataset": ["mnist", "cifar10"],
    "arch": ["lenet", "resnet8"],
    "corruption": ["flip", "ood", "noise"],
    "noise_rate": [0.01, 0.05, 0.1],
    "only": ["*/*/*/*"],
    "seeds": 2,
    "norm": "group",
}


def grid(**changes):
    return experiments.corruptions(SHARED | SIZES | GRID | changes)


def planned(name, profile="quick"):
    """Return a chapter's runs as its runner has them."""
    return chapter.plan(name, profile).configs


def settings_of(configs):
    return list(dict.fromkeys((c.dataset, c.arch, c.corruption, c.noise_rate) for c in configs))


def test_every_setting_has_both_arms_of_every_seed():
    configs = grid()
    found = {(c.dataset, c.arch, c.corruption, c.noise_rate, c.seed, c.norm) for c in configs}
    assert found == {
        (dataset, arch, corruption, rate, seed, norm)
        for dataset in ("mnist", "cifar10")
        for arch in ("lenet", "resnet8")
        for corruption in ("flip", "ood", "noise")
        for rate in (0.01, 0.05, 0.1)
        for seed in (0, 1)
        for norm in ("group", "none")
    }
    assert len(configs) == len(found)  # none twice


def test_arms_of_a_pair_stand_side_by_side_and_differ_by_their_norm_alone():
    configs = grid()
    for normed, plain in zip(configs[::2], configs[1::2], strict=True):
        assert (normed.norm, plain.norm) == ("group", "none")
        assert asdict(normed) | {"norm": ""} == asdict(plain) | {"norm": ""}


def test_shared_parameters_reach_every_run():
    for config in grid():
        assert {name: getattr(config, name) for name in SHARED} == SHARED


def test_only_lenet_has_the_size_of_a_lenet():
    for config in grid():
        sizes = LENET if config.arch == "lenet" else DEEP
        assert {name: getattr(config, name) for name in sizes} == sizes


def without_penalty(kind):
    """Return the names of a config's fields, but for the penalty's and that of held weights."""
    names = {field.name for field in fields(kind) if not field.name.startswith("penalty")}
    return names - {"hold_weights"}


def test_no_field_of_a_config_is_left_to_its_default():
    """Else a parameter of the chapter would have no effect. It has no penalty."""
    assert without_penalty(TrainConfig) == {
        *experiments.SHARED,
        *experiments.SIZES,
        *SETTING,
        "seed",
        "norm",
    }


@pytest.mark.parametrize(
    ("only", "allowed"),
    [
        (["mnist/lenet/flip/0.05"], {("mnist", "lenet", "flip", 0.05)}),
        (["mnist/lenet/flip/5e-2"], {("mnist", "lenet", "flip", 0.05)}),
        (
            ["*/lenet/noise/0.1", "cifar10/res*/ood/0.01"],
            {
                ("mnist", "lenet", "noise", 0.1),
                ("cifar10", "lenet", "noise", 0.1),
                ("cifar10", "resnet8", "ood", 0.01),
            },
        ),
        (["mnist/resnet8/flip/*"], {("mnist", "resnet8", "flip", r) for r in (0.01, 0.05, 0.1)}),
        # What two patterns name runs once; what no parameter holds does not run.
        (["mnist/lenet/flip/0.1", "*/lenet/flip/0.1", "cifar100/lenet/flip/0.1"],
         {("mnist", "lenet", "flip", 0.1), ("cifar10", "lenet", "flip", 0.1)}),
    ],
)  # fmt: skip
def test_only_names_the_settings_that_run(only, allowed):
    found = settings_of(grid(only=only))
    assert set(found) == allowed
    assert len(grid(only=only)) == 4 * len(allowed)
    whole = settings_of(grid())
    assert found == [setting for setting in whole if setting in allowed]  # in the grid's order


def test_no_setting_left_is_an_error_that_says_what_to_do():
    with pytest.raises(BadInput, match=r"noise_rate=\[0.2\].*is among only=.*only=\*/\*/\*/\*"):
        grid(noise_rate=[0.2], only=["*/*/*/0.1"])


def test_the_chapter_runs_one_flipped_setting_when_asked_for_one():
    """What README asks for: dataset=fashion_mnist noise_rate=0.1."""
    given = {"dataset": "fashion_mnist", "noise_rate": "0.1"}
    planned = chapter.plan("01_forced_memorization", "quick", given)
    found = experiments.corruptions(planned.parameters)
    assert settings_of(found) == [("fashion_mnist", "lenet", "flip", 0.1)]


def test_quick_covers_what_the_claim_is_about():
    planned = chapter.plan("01_forced_memorization", "quick")
    found = experiments.corruptions(planned.parameters)
    gray = {
        (dataset, "lenet", corruption, rate)
        for dataset in ("mnist", "fashion_mnist")
        for corruption, rate in (("flip", 0.01), ("flip", 0.05), ("ood", 0.05), ("noise", 0.05))
    }
    assert set(settings_of(found)) == {*gray, ("cifar10", "resnet8", "flip", 0.05)}
    assert len({config.seed for config in found}) >= CLAIMS["forced_final"].least_n


def test_paper_covers_every_data_set_and_corruption():
    planned = chapter.plan("01_forced_memorization", "paper")
    found = settings_of(experiments.corruptions(planned.parameters))
    assert {setting[0] for setting in found} == set(DATASETS)
    assert {setting[1] for setting in found} == {"lenet", "resnet18", "densenet40"}
    assert {setting[2:] for setting in found} == {
        (corruption, rate) for corruption in CORRUPTIONS for rate in (0.01, 0.05)
    }
    assert len(found) == len(DATASETS) * 3 * len(CORRUPTIONS) * 2


@pytest.mark.parametrize(
    ("name", "value"), [("norm", "bach"), ("lr", -1.0), ("noise_rate", [0.01, 1.5])]
)
def test_bad_values_stop_before_any_run(name, value):
    with pytest.raises(BadInput):
        grid(**{name: value})


def test_more_seeds_keep_the_runs_of_fewer():
    assert set(grid(seeds=2)) < set(grid(seeds=3))


@pytest.mark.parametrize("chapter", plans.CHAPTERS)
def test_every_entry_names_a_chapter(chapter):
    assert (paths.notebooks() / f"{chapter}.py").is_file()


def test_a_chapter_without_training_asks_for_no_run():
    assert plans.none(SHARED | GRID) == []


PROFILES = ("smoke", "quick", "standard", "paper")


@pytest.mark.parametrize("profile", PROFILES)
def test_chapter_5_reads_the_bn_arms_of_chapter_1_and_adds_one_network(profile):
    parameters = chapter.plan("01_forced_memorization", profile).parameters
    first = experiments.corruptions(parameters)
    *fifth, network = planned("05_gamma_sigma", profile)
    assert fifth == [config for config in first if config.norm == "batch"]
    assert len(fifth) == len(first) / 2
    assert network == experiments.as_model(fifth[0])


REMEDIES = {
    "penalty_form": ["hinge", "square"],
    "penalty_weight": [1.0, 0.1],
    "penalty_target": [0.5, 2.0],
    "rival_weight_decay": [0.1],
    "rival_lr": [0.001, 0.002],
}


def penalized(**changes):
    return experiments.regularization(SHARED | SIZES | GRID | REMEDIES | changes)


def test_remedies_by_hand():
    """From weak to strong; the square ignores targets, so it stands once for each weight."""
    hinge = [
        {"penalty": "hinge", "penalty_weight": weight, "penalty_target": target}
        for weight, target in ((0.1, 2.0), (0.1, 0.5), (1.0, 2.0), (1.0, 0.5))
    ]
    square = [{"penalty": "square", "penalty_weight": weight} for weight in (0.1, 1.0)]
    rivals = [{"weight_decay": 0.1}, {"lr": 0.002}, {"lr": 0.001}]
    assert experiments.remedies(SHARED | REMEDIES) == [{}, *hinge, *square, *rivals]


def test_every_seed_of_every_setting_has_every_remedy_beside_it():
    configs = penalized()
    n = 10  # the remedies above
    assert len(configs) == len(set(configs)) == 2 * 2 * 3 * 3 * 2 * n
    for start in range(0, len(configs), n):
        base, *others = configs[start : start + n]
        assert (base.penalty, base.lr, base.weight_decay) == ("none", 0.01, 0.25)
        changes = experiments.remedies(SHARED | REMEDIES)[1:]
        for config, change in zip(others, changes, strict=True):
            assert asdict(config) == asdict(base) | change
    assert {config.norm for config in configs} == {"batch"}


def test_remedies_are_tried_in_the_settings_and_sizes_of_chapter_1():
    only = ["mnist/lenet/flip/*", "cifar10/resnet8/ood/0.1"]
    configs = penalized(only=only)
    bases = [c for c in configs if (c.penalty, c.lr, c.weight_decay) == ("none", 0.01, 0.25)]
    assert bases == experiments.with_bn(SHARED | SIZES | GRID | {"only": only})
    for config in configs:
        sizes = LENET if config.arch == "lenet" else DEEP
        assert {name: getattr(config, name) for name in sizes} == sizes


def test_another_parameter_can_name_the_settings():
    given = SHARED | SIZES | GRID | {"some": ["mnist/lenet/flip/0.1"]}
    found = experiments.changed(given, ({}, {"lr": 1.0}), only="some")
    assert settings_of(found) == [("mnist", "lenet", "flip", 0.1)]
    assert [(c.seed, c.lr) for c in found] == [(0, 0.01), (0, 1.0), (1, 0.01), (1, 1.0)]
    with pytest.raises(BadInput, match=r"is among some=.*Set some=\*/\*/\*/\*"):
        experiments.changed(given | {"some": ["cifar100/*/*/*"]}, [{}], only="some")


@pytest.mark.parametrize(("name", "own"), [("lr", 0.01), ("weight_decay", 0.25)])
def test_a_rival_that_is_no_rival(name, own):
    with pytest.raises(BadInput, match=f"rival_{name} holds {own}, which is {name} itself"):
        penalized(**{f"rival_{name}": [0.5, own]})


@pytest.mark.parametrize("profile", PROFILES)
def test_chapter_6_has_what_its_claims_need(profile):
    """Every form where it counts, and enough seeds for a verdict in all but the smoke profile."""
    parameters = chapter.plan("06_regularization", profile).parameters
    configs = plans.CHAPTERS["06_regularization"](parameters)
    assert len(configs) == len(set(configs))
    if profile != "smoke":
        assert {config.penalty for config in configs} == {"none", "square", "hinge", "log"}
        assert parameters["seeds"] >= CLAIMS["penalty"].least_n
        assert parameters["seeds"] >= CLAIMS["penalty_cost"].least_n


SHADOWS = SHARED | {
    "pool_size": 200,
    "eval_size": 100,
    "seed": 3,
    "epochs": 4,
    "moments": 2,
    "batch_size": 16,
    "dataset": ["mnist", "cifar10"],
    "arch": ["lenet", "resnet8"],
    "corruption": ["flip"],
    "outlier_rate": [0.0, 0.05],
    "n_models": 6,
    "norm": "group",
    "only": ["*/*/*/*"],
    "deep_pool_size": 150,
    "deep_eval_size": 50,
    "deep_epochs": 6,
    "deep_batch_size": 8,
}


def attacked(**changes):
    return experiments.membership(SHADOWS | changes)


def test_every_setting_has_both_arms_of_every_shadow_model():
    found = [(c.dataset, c.arch, c.noise_rate, c.model, c.norm) for c in attacked()]
    assert set(found) == {
        (dataset, arch, rate, model, norm)
        for dataset in ("mnist", "cifar10")
        for arch in ("lenet", "resnet8")
        for rate in (0.0, 0.05)
        for model in range(6)
        for norm in ("group", "none")
    }
    assert len(found) == len(set(found))


def test_arms_of_a_shadow_model_stand_side_by_side_and_differ_by_their_norm_alone():
    configs = attacked()
    for normed, plain in zip(configs[::2], configs[1::2], strict=True):
        assert (normed.norm, plain.norm) == ("group", "none")
        assert asdict(normed) | {"norm": ""} == asdict(plain) | {"norm": ""}


def test_no_field_of_a_shadow_model_is_left_to_its_default():
    assert without_penalty(ShadowConfig) == {*experiments.OF_SHADOWS, *SETTING, "model", "norm"}
    for config in attacked():
        of_lenet = config.arch == "lenet"
        for name in experiments.OF_SHADOWS:
            deep = not of_lenet and name in experiments.POOL_SIZES
            assert getattr(config, name) == SHADOWS["deep_" + name if deep else name]


def test_only_chooses_among_the_pools():
    found = attacked(only=["mnist/lenet/*/*", "cifar10/resnet8/flip/0"])
    assert {(c.dataset, c.arch, c.noise_rate) for c in found} == {
        ("mnist", "lenet", 0.0),
        ("mnist", "lenet", 0.05),
        ("cifar10", "resnet8", 0.0),
    }
    with pytest.raises(BadInput, match=r"No combination of .*outlier_rate=.* is among only="):
        attacked(only=["*/*/*/0.01"])


def test_more_shadow_models_keep_the_runs_of_fewer():
    assert set(attacked()) < set(attacked(n_models=8))


def test_without_outliers_all_kinds_of_them_are_one():
    kinds = [(c.corruption, c.noise_rate) for c in attacked(corruption=["ood", "flip"])]
    assert set(kinds) == {("ood", 0.0), ("ood", 0.05), ("flip", 0.05)}


@pytest.mark.parametrize("n_models", [2, 4, 7])
def test_a_number_of_models_that_cannot_be_attacked_stops_before_any_run(n_models):
    with pytest.raises(BadInput, match=f"n_models={n_models} .*at least 6"):
        attacked(n_models=n_models)


def test_a_share_that_no_claim_is_about_needs_one_beside_it():
    with pytest.raises(BadInput, match=r"outlier_rate=\[0.1\]: the claims are about 0, 0.01, 0.05"):
        attacked(outlier_rate=[0.1])
    assert {c.noise_rate for c in attacked(outlier_rate=[0.1, 0.05])} == {0.1, 0.05}


def test_midway_is_a_third_of_the_run_at_the_highest_rate():
    configs = grid(noise_rate=[0.01, 0.05], epochs=9)
    found = experiments.midway(configs, "group")
    assert type(found) is ModelConfig
    assert (found.epochs, found.noise_rate, found.norm) == (3, 0.05, "group")
    assert TrainConfig(**asdict(replace(found, epochs=9))) in configs
