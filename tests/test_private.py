from copy import deepcopy
from dataclasses import asdict, replace
from functools import cache

import made_shadows
import numpy as np
import planted
import pytest
import torch
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch.nn.functional import cross_entropy

from bn_memorization import machine, private, run_kinds, runs, shadows, train
from bn_memorization.errors import BadInput, Failure
from bn_memorization.sample import draw

DATA, CPU = planted.planted_set(), torch.device("cpu")
BOUND = {"epsilon": 8.0, "delta": 1e-3, "clip": 1.0}
PLAIN = ("none", "group", "layer", "affine")
pytestmark = pytest.mark.usefixtures("seeded_on_one_thread")


def config(**changes) -> private.PrivateConfig:
    """Return a config that trains on the planted set in three steps an epoch."""
    small = {"norm": "group", "batch_size": 8, "epochs": 2, "moments": 1}
    return private.PrivateConfig(**asdict(made_shadows.config(**small)) | BOUND | changes)


@cache
def fitted(**changes):
    """Return a record that several tests look at and none changes."""
    return private.fit(config(**changes), DATA)


def members(**changes):
    drawn = draw(config(**changes).pool, DATA, CPU)
    return drawn.x[:24], drawn.y[:24]


def network(norm="group", arch="lenet"):
    recipe = made_shadows.config(norm=norm, arch=arch).recipe
    return train.new_model(recipe, DATA, CPU).to(memory_format=torch.contiguous_format)


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_a_record_is_a_shadow_models_with_what_was_spent():
    public = shadows.fit(config().public, DATA).arrays
    found = fitted().arrays
    assert found.keys() == public.keys() | {"epsilon", "noise_multiplier"}
    for name in public:
        assert (found[name].shape, found[name].dtype) == (public[name].shape, public[name].dtype)
    for name in ("member", "outlier", "pool_row"):
        np.testing.assert_array_equal(found[name], public[name])
    np.testing.assert_allclose(found["phi"][0], public["phi"][0], atol=1e-5)  # the same start
    assert not np.allclose(found["phi"][1], public["phi"][1], atol=1e-2)
    np.testing.assert_array_equal(found["phi_view"][0], found["phi"][-1])


def test_same_config_same_bits_and_each_model_its_own_noise():
    again, other = private.fit(config(), DATA).arrays, fitted(model=2).arrays
    for name, value in fitted().arrays.items():
        assert value.tobytes() == again[name].tobytes(), name
    assert not np.array_equal(other["phi"][-1], again["phi"][-1])


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_what_is_spent_is_what_was_asked_for_nearly(epsilon):
    found = float(fitted(epsilon=epsilon).arrays["epsilon"])
    assert epsilon - 0.01 <= found <= epsilon


def test_less_epsilon_and_more_steps_need_more_noise():
    base = private.noise_multiplier(8.0, 1e-3, 1 / 3, 6)
    assert private.noise_multiplier(2.0, 1e-3, 1 / 3, 6) > base
    assert private.noise_multiplier(8.0, 1e-3, 1 / 3, 18) > base


def test_more_steps_spend_more():
    once, twice = (private.spent(((1.5, 0.3, steps),), 1e-3) for steps in (10, 20))
    split = private.spent(((1.5, 0.3, 10), (1.5, 0.3, 10)), 1e-3)
    assert 0 < once < twice
    assert split == pytest.approx(twice, abs=0.02)


@pytest.mark.parametrize("norm", PLAIN)
def test_each_gradient_is_that_of_a_micro_batch_of_one(norm):
    model, (x, y) = network(norm), members()
    hooked = GradSampleModule(deepcopy(model).train())
    private._backward(hooked, x.clone(), y)
    for i in range(3):
        alone = deepcopy(model).train()
        cross_entropy(alone(x[i : i + 1]), y[i : i + 1]).backward()
        for p, q in zip(hooked.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(p.grad_sample[i], q.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("arch", ["resnet8", "densenet22"])
def test_deeper_networks_train_too(arch):
    hooked, (x, y) = GradSampleModule(network(arch=arch).train()), members()
    private._backward(hooked, x[:2].clone(), y[:2])
    assert all(p.grad_sample.shape == (2, *p.shape) for p in hooked.parameters())


@pytest.fixture
def silent(monkeypatch):
    """Let training add no noise, and clip nothing that has a gradient below a million."""
    monkeypatch.setattr(private, "noise_multiplier", lambda *asked: 0.0)
    monkeypatch.setattr(private, "spent", lambda history, delta: history)


def test_without_noise_and_clipping_it_is_sgd_on_batches_that_differ_in_size(silent):
    made, (x, y) = config(clip=1e6), members()
    found, wanted = network(), network()
    looks = []
    result = private.optimize(found, x, y, made, looks.append)
    optimizer = train.make_optimizer(made.recipe, wanted)
    drawing = int(np.random.default_rng([made.recipe.seed, 6]).integers(2**31, size=2)[0])
    draws, sizes = torch.Generator().manual_seed(drawing), []
    for _ in range(2 * 3):
        rows = (torch.rand(24, generator=draws) < 8 / 24).nonzero().flatten()
        sizes.append(len(rows))
        optimizer.zero_grad()
        (cross_entropy(wanted(x[rows]), y[rows], reduction="sum") / 8).backward()
        optimizer.step()
    assert looks == [0, 1, 2]
    assert len(set(sizes)) > 1
    assert result["epsilon"] == ((0.0, 8 / 24, 6),)
    torch.testing.assert_close(flat(found), flat(wanted), rtol=1e-4, atol=1e-5)
    assert not any(hasattr(p, "grad_sample") for p in found.parameters())


def test_an_empty_batch_is_a_step_of_noise_alone():
    """Its standard deviation is noise times clip over the expected batch."""
    model, (x, y) = network().train(), members()
    before, hooked = flat(model), GradSampleModule(model)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), 1.0),
        noise_multiplier=2.0,
        max_grad_norm=3.0,
        expected_batch_size=12,
        generator=torch.Generator().manual_seed(0),
    )
    private._backward(hooked, x[:0], y[:0])
    optimizer.step()
    step = flat(model) - before
    assert float(step.std()) == pytest.approx(2 * 3 / 12, rel=0.02)
    assert abs(float(step.mean())) < 0.01


def test_one_samples_part_of_a_step_is_bounded_by_clip(silent):
    """With all gradients longer than clip, the first step of every sample is just as long."""
    made, (x, y) = config(clip=0.001, epochs=1, lr=1.0, momentum=0.0), members()
    model = network()
    before, steps = flat(model), []
    private.optimize(model, x, y, made, lambda epoch: steps.append(flat(model)))
    assert 0 < float((steps[-1] - before).norm()) <= 3 * 24 * 0.001 / 8 + 1e-6


@pytest.mark.parametrize("norm", private.BATCHED)
def test_batch_statistics_are_refused_with_the_reason(norm):
    with pytest.raises(BadInput, match=rf"norm={norm} .*depends on the other samples"):
        config(norm=norm)


@pytest.mark.parametrize("norm", ["batch", "batch_fixed_gamma"])
def test_opacus_refuses_them_itself(norm):
    with pytest.raises(NotImplementedError, match=r"buffers|BatchNorm"):
        GradSampleModule(network(norm))


def test_every_norm_is_refused_or_trained():
    assert set(private.BATCHED) | set(PLAIN) == set(train.models.NORMS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epsilon", 0.0), ("epsilon", -1.0), ("epsilon", np.inf), ("epsilon", np.nan)),
        *(("delta", 0.0), ("delta", 1.0), ("delta", np.nan)),
        *(("clip", 0.0), ("clip", np.inf), ("batch_size", 24), ("epochs", 0)),
    ],
)
def test_bad_values_are_named(name, value):
    with pytest.raises(BadInput, match=f"{name}={value}"):
        config(**{name: value})


@pytest.mark.parametrize("change", [{"penalty": "log", "penalty_weight": 1.0}, {"hold_weights": 1}])
def test_what_changes_training_otherwise_is_refused(change):
    with pytest.raises(BadInput, match="without a penalty"):
        config(**change)


def test_pool_and_recipe_are_those_without_privacy():
    made = config(model=3)
    assert made.pool == made.public.pool
    assert made.recipe == made.public.recipe
    assert type(made.public) is shadows.ShadowConfig
    assert replace(made, epsilon=2.0) != made
    assert made.describe() == f"{made.public.describe()}, DP-SGD at epsilon 8"


def test_a_diverged_run_is_named():
    with pytest.raises(Failure, match=r"shadow model 0 of lenet/none .*DP-SGD at epsilon 8"):
        private.fit(config(norm="none", lr=1e30), DATA)


def test_more_images_than_there_are():
    with pytest.raises(BadInput, match="pool_size=61"):
        private.fit(config(pool_size=61), DATA)


@pytest.fixture
def planted_runs(monkeypatch, tmp_path):
    """Let runs find the planted set and an empty folder, and leave torch as it was."""
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path))
    monkeypatch.setenv(machine.DEVICE_VARIABLE, "cpu")
    monkeypatch.setattr(run_kinds.data, "load", planted.planted_set)
    deterministic = torch.are_deterministic_algorithms_enabled()
    run_kinds._dataset.cache_clear()
    yield
    run_kinds._dataset.cache_clear()
    torch.use_deterministic_algorithms(deterministic)


def test_a_private_record_has_a_kind_and_a_version_of_its_own(planted_runs):
    (found,) = runs.run_all([config()], "serial")
    where = runs.address(config())
    assert where.folder.parent.name == run_kinds.PRIVATE_KIND
    assert where.version == train.VERSION + shadows.VERSION + private.VERSION
    assert where != runs.address(config().public)
    assert found.config == config()
    np.testing.assert_array_equal(found.arrays["member"], fitted().arrays["member"])
    assert found.arrays["epsilon"] == fitted().arrays["epsilon"]
