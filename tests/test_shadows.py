from dataclasses import asdict, replace
from functools import cache

import numpy as np
import planted
import pytest
import torch
from made_shadows import config

from bn_memorization import sample as sampling
from bn_memorization import shadows, train
from bn_memorization.catalog import Dataset
from bn_memorization.errors import BadInput, Failure
from bn_memorization.masks import paired_masks
from bn_memorization.queries import VIEWS
from bn_memorization.signals import margin, naive_margin
from bn_memorization.stats import auc

pytestmark = pytest.mark.usefixtures("one_thread")

DATA = planted.planted_set()
CPU = torch.device("cpu")
N = 48


@cache
def fitted(**changes):
    """Return a shadow model that several tests look at and none changes."""
    return shadows.fit(config(**changes), DATA)


def identical(first, second):
    assert first.arrays.keys() == second.arrays.keys()
    return all(first.arrays[k].tobytes() == second.arrays[k].tobytes() for k in first.arrays)


def test_what_a_record_holds():
    run = fitted()
    assert {name: (a.shape, a.dtype) for name, a in run.arrays.items()} == {
        "phi": ((3, N), np.float32),
        "phi_view": ((len(VIEWS), N), np.float32),
        "phi_naive": ((N,), np.float32),
        "phi_batch": ((N,), np.float32),
        "correct": ((3, N), bool),
        "test_accuracy": ((3,), np.float64),
        "member": ((N,), bool),
        "outlier": ((N,), bool),
        "pool_row": ((N,), np.int64),
    }
    assert np.isfinite(run.arrays["phi"]).all()
    assert run.config.looks == [0, 2, 4]


def test_same_config_same_bits_and_every_model_its_own():
    assert identical(shadows.fit(config(), DATA), fitted())
    other = fitted(model=2).arrays
    assert not np.array_equal(other["phi"][0], fitted().arrays["phi"][0])  # other weights
    assert not np.array_equal(other["member"], fitted().arrays["member"])
    for name in ("outlier", "pool_row"):
        np.testing.assert_array_equal(other[name], fitted().arrays[name])


def test_arms_share_pool_masks_outliers_and_seeds():
    batch, plain = fitted(), fitted(norm="none")
    for name in ("member", "outlier", "pool_row"):
        np.testing.assert_array_equal(batch.arrays[name], plain.arrays[name])
    assert batch.config.recipe.seed == plain.config.recipe.seed
    assert not np.array_equal(batch.arrays["phi"], plain.arrays["phi"])


def test_masks_are_those_of_the_pool():
    masks = paired_masks(4, N, 7)
    for model in range(4):
        run = fitted(seed=7, model=model, epochs=1, moments=1)
        np.testing.assert_array_equal(run.arrays["member"], masks[model])


def test_the_pool_is_what_one_run_on_all_of_it_would_train_on():
    run, pool = fitted(), sampling.corrupt(config().pool, DATA)
    np.testing.assert_array_equal(run.arrays["pool_row"], pool.rows)
    np.testing.assert_array_equal(np.flatnonzero(run.arrays["outlier"]), pool.index)
    assert run.arrays["outlier"].sum() == N // 4


def test_a_higher_share_of_outliers_keeps_those_of_a_lower():
    few, many = fitted(noise_rate=0.1).arrays, fitted().arrays
    np.testing.assert_array_equal(few["pool_row"], many["pool_row"])
    assert set(np.flatnonzero(few["outlier"])) < set(np.flatnonzero(many["outlier"]))
    assert not fitted(noise_rate=0.0).arrays["outlier"].any()


@pytest.fixture
def training(monkeypatch):
    """Note what the training loop is given, and train as ever."""
    seen, real = {}, train.optimize

    def optimize(model, x, y, recipe, look):
        seen.update(model=model, x=x, y=y, recipe=recipe)
        real(model, x, y, recipe, look)

    monkeypatch.setattr(train, "optimize", optimize)
    return seen


@pytest.mark.parametrize("model", [0, 1])
def test_members_alone_are_trained_on_with_the_labels_given(training, model):
    run = shadows.fit(config(model=model), DATA)
    drawn = sampling.draw(config().pool, DATA, CPU)
    inside = np.flatnonzero(run.arrays["member"])
    assert torch.equal(training["x"], drawn.x[inside])
    assert torch.equal(training["y"], drawn.y[inside])


def test_the_record_is_what_the_trained_model_says(training):
    run = shadows.fit(config(), DATA)
    drawn = sampling.draw(config().pool, DATA, CPU)
    with torch.inference_mode():
        logits = training["model"].eval()(drawn.x)
        test = training["model"](drawn.subsets["test"][0])
    wanted = margin(logits, drawn.y.numpy())
    np.testing.assert_allclose(run.arrays["phi"][-1], wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(run.arrays["correct"][-1], (logits.argmax(1) == drawn.y).numpy())
    right = (test.argmax(1) == drawn.subsets["test"][1]).double().mean()
    assert run.arrays["test_accuracy"][-1] == pytest.approx(float(right))


def test_training_sets_members_apart():
    """Outliers can only be learned by heart: those that were trained on have larger margins."""
    run = fitted(epochs=30, moments=1, lr=0.01).arrays
    phi, outlier, member = run["phi"], run["outlier"], run["member"]
    assert auc(phi[-1, outlier], member[outlier]) > 0.75
    assert run["correct"][-1, member].mean() > run["correct"][-1, ~member].mean() + 0.1


def test_looking_changes_nothing():
    """More moments leave the same last margins: a query moves no buffer and no random number."""
    often = fitted(moments=4).arrays
    np.testing.assert_array_equal(often["phi"][[0, 2, 4]], fitted().arrays["phi"])


def trained_model(norm):
    """Return a network whose running statistics are not those of a new one."""
    torch.manual_seed(0)
    model = train.new_model(config(norm=norm).recipe, DATA, CPU).train()
    model(sampling.draw(config().pool, DATA, CPU).x)
    return model


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_a_query_leaves_every_buffer_bit_identical_and_does_not_depend_on_the_batch(
    norm, monkeypatch
):
    model, drawn = trained_model(norm), sampling.draw(config().pool, DATA, CPU)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    whole = shadows.query(model, drawn.x)
    after = model.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    monkeypatch.setattr(train, "EVAL_BATCH", 5)
    parts = shadows.query(model, drawn.x)
    np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-5)
    order = torch.randperm(N)
    turned = shadows.query(model, drawn.x[order])
    np.testing.assert_allclose(turned, whole[order.numpy()], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_training_mode_uses_the_batch_and_changes_no_buffer(norm, monkeypatch):
    model, x = trained_model(norm).eval(), sampling.draw(config().pool, DATA, CPU).x
    before = {name: value.clone() for name, value in model.state_dict().items()}
    monkeypatch.setattr(train, "EVAL_BATCH", 47)  # 47 and one alone, if they were not split evenly
    found = shadows.in_training_mode(model, x)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())
    assert not any(module.training for module in model.modules())
    with torch.inference_mode():
        running = model(x).numpy()
        batch = torch.cat([model.train()(part) for part in (x[:24], x[24:])]).numpy()
    np.testing.assert_allclose(found, batch, rtol=1e-4, atol=1e-5)
    assert np.allclose(found, running, rtol=1e-4, atol=1e-5) == (norm == "none")


def test_the_mode_of_the_query_touches_one_arm_only():
    for norm in ("batch", "none"):
        run = fitted(norm=norm).arrays
        same = np.allclose(run["phi_batch"], run["phi"][-1], rtol=1e-4, atol=1e-4)
        assert same == (norm == "none")


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_the_last_margins_are_taken_for_each_view(training, norm):
    run = shadows.fit(config(norm=norm), DATA)
    drawn = sampling.draw(config().pool, DATA, CPU)
    with torch.inference_mode():
        logits = [training["model"].eval()(view(drawn.x)) for view in VIEWS.values()]
    wanted = [margin(part, drawn.y.numpy()) for part in logits]
    np.testing.assert_allclose(run.arrays["phi_view"], wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(run.arrays["phi_view"][0], run.arrays["phi"][-1])
    for row in run.arrays["phi_view"][1:]:
        assert not np.allclose(row, run.arrays["phi"][-1], atol=1e-2)


def test_the_naive_margin_is_that_of_the_last_look(training):
    """It is the true one where that is small, and another where it is not."""
    run = shadows.fit(config(), DATA).arrays
    with torch.inference_mode():
        logits = training["model"].eval()(sampling.draw(config().pool, DATA, CPU).x).numpy()
    labels = sampling.corrupt(config().pool, DATA).labels
    np.testing.assert_allclose(run["phi_naive"], naive_margin(logits, labels), rtol=1e-3, atol=1e-3)
    small = np.abs(run["phi"][-1]) < 5
    assert small.sum() > 10
    np.testing.assert_allclose(run["phi_naive"][small], run["phi"][-1][small], atol=1e-3)


def test_views_are_no_setting():
    with pytest.raises(TypeError, match="queries"):
        config(queries=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"penalty": "log", "penalty_weight": 1.0, "penalty_target": 0.25},
        {"penalty": "square", "penalty_weight": 1.0, "penalty_layer": 2},
        {"hold_weights": True},
    ],
)
def test_penalty_and_held_weights_reach_the_training(training, changes):
    run = shadows.fit(config(**changes), DATA)
    assert {name: getattr(training["recipe"], name) for name in changes} == changes
    for name in ("member", "outlier", "pool_row"):
        np.testing.assert_array_equal(run.arrays[name], fitted().arrays[name])
    np.testing.assert_array_equal(run.arrays["phi"][0], fitted().arrays["phi"][0])
    assert not np.allclose(run.arrays["phi"][-1], fitted().arrays["phi"][-1], atol=1e-4)
    assert run.config.describe() != fitted().config.describe()


def test_a_diverged_run_is_named():
    with pytest.raises(Failure, match=r"shadow model 3 of lenet/none on planted.*lr=1e\+20"):
        shadows.fit(config(norm="none", lr=1e20, model=3), DATA)


def test_more_images_than_there_are():
    with pytest.raises(BadInput, match=r"pool_size=61, but planted .* has 60"):
        shadows.fit(config(pool_size=61), DATA)
    assert len(fitted(pool_size=60, epochs=1, moments=1).arrays["member"]) == 60


def without(rows: np.ndarray) -> Dataset:
    """Return the planted set with the bottom class at these rows made the middle one."""
    labels = DATA.train.labels.copy()
    labels[rows[labels[rows] == 2]] = 1
    return replace(DATA, train=replace(DATA.train, labels=labels))


def test_a_class_that_is_not_in_the_pool():
    message = r"^shadow model 3 of lenet.*pool_size=48 leaves .* class bottom in the pool\. Raise"
    lacking = without(sampling.drawn_rows(config().pool, DATA))
    for ask in (shadows.check_size, shadows.fit):
        with pytest.raises(BadInput, match=message):
            ask(config(model=3), lacking)


@pytest.mark.parametrize("model", range(4))
def test_a_class_that_is_not_in_the_models_own_half(model):
    """Its complement and the other pair have it, and may be trained."""
    half = sampling.drawn_rows(config().pool, DATA)[paired_masks(4, N, 0)[model]]
    lacking = without(half)
    with pytest.raises(BadInput, match=rf"^shadow model {model} .* bottom in the model's half"):
        shadows.check_size(config(model=model), lacking)
    for other in set(range(4)) - {model}:
        shadows.check_size(config(model=other), lacking)


@pytest.mark.parametrize(("moments", "looks"), [(1, [0, 10]), (3, [0, 3, 7, 10]), (10, range(11))])
def test_looks_are_even_and_end_at_the_end(moments, looks):
    assert config(epochs=10, moments=moments).looks == list(looks)


def test_the_recipe_is_the_config_on_half_the_pool_with_a_seed_of_its_own():
    made = config()
    shared = set(asdict(made)) & set(asdict(made.recipe)) - {"seed"}
    assert {k: getattr(made.recipe, k) for k in shared} == {k: getattr(made, k) for k in shared}
    assert made.recipe.train_size == N // 2
    recipes = [config(seed=s, model=m).recipe for s in range(3) for m in range(4)]
    assert len({recipe.seed for recipe in recipes}) == 12
    assert made.pool == replace(made.recipe, train_size=N, seed=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("pool_size", 3), ("model", -1), ("moments", 0), ("moments", 5), ("penalty", "lag")),
        *(("penalty_layer", 0), ("seed", -1), ("lr", 0.0), ("noise_rate", 1.0), ("norm", "bach")),
        *(("arch", "lennet"), ("batch_size", 1), ("corruption", "flop"), ("epochs", 0)),
    ],
)
def test_bad_values_are_named(name, value):
    with pytest.raises(BadInput, match=str(value)):
        config(**{name: value})
