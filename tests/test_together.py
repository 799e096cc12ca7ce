from functools import cache, partial

import made_shadows
import numpy as np
import planted
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization import run_kinds, shadows, together, train
from bn_memorization.config import TrainConfig
from bn_memorization.errors import BadInput, Failure
from bn_memorization.models import NORMS

pytestmark = pytest.mark.usefixtures("one_thread")

DATA = planted.planted_set()
CHANGES = [
    *({"norm": norm} for norm in NORMS),
    {"penalty": "log", "penalty_weight": 0.5},
    {"penalty": "square", "penalty_weight": 0.5, "penalty_layer": 2},
    {"penalty": "log", "penalty_weight": 0.5, "hold_weights": True},
    {"optimizer": "adam", "lr": 0.001, "weight_decay": 1e-3},
    {"arch": "resnet8"},
]


class Watched:
    """A run in double precision that keeps all weights and statistics after every epoch."""

    def __init__(self, config: TrainConfig):
        begun = train.begin(config, DATA)
        self.seen: list[torch.Tensor] = []
        self.begun = train.Begun(
            begun.model.double(), begun.x.double(), begun.y, config, self.look, lambda: self
        )

    def look(self, epoch: int) -> None:
        tensors = self.begun.model.state_dict().values()
        self.seen.append(torch.cat([t.flatten().double() for t in tensors]))

    def alone(self) -> "Watched":
        run = self.begun
        train.optimize(run.model, run.x, run.y, run.config, run.look)
        return self


def configs(seeds=(0, 1, 2), **changes):
    return [planted.config(seed=seed, **changes) for seed in seeds]


def furthest(found, wanted):
    """The largest difference of any weight after any epoch, of any run."""
    return max(
        (one - other).abs().max().item()
        for run, alone in zip(found, wanted, strict=True)
        for one, other in zip(run.seen, alone.seen, strict=True)
    )


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_stack_trains_to_the_same_weights_as_one_after_another(changes):
    found = together.train_all(configs(**changes), lambda config: Watched(config).begun)
    wanted = [Watched(config).alone() for config in configs(**changes)]
    assert furthest(found, wanted) < 1e-9
    moved = min((run.seen[-1] - run.seen[0]).abs().max().item() for run in wanted)
    assert moved > 1e-3


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True))
def test_whichever_seeds_are_stacked(seeds):
    chosen = configs(seeds, epochs=1)
    found = together.train_all(chosen, lambda config: Watched(config).begun)
    assert furthest(found, [Watched(config).alone() for config in chosen]) < 1e-9


def test_statistics_of_another_run_would_be_seen():
    found = together.train_all(configs(), lambda config: Watched(config).begun)
    assert furthest(found, [Watched(config).alone() for config in configs((0, 2, 1))]) > 1e-2


@cache
def records(kind):
    """The same runs as a stack and one by one, as the store would get them."""
    if kind == "train":
        chosen = configs(epochs=1, batch_size=48)  # one step: more let rounding grow
        begin = partial(train.begin, data=DATA, probes=run_kinds.PROBES)
        alone = [train.fit(config, DATA, probes=run_kinds.PROBES) for config in chosen]
    else:
        chosen = [
            made_shadows.config(model=m, epochs=1, moments=1, batch_size=24) for m in range(4)
        ]
        begin = partial(shadows.begin, data=DATA)
        alone = [shadows.fit(config, DATA) for config in chosen]
    return together.train_all(chosen, begin), alone


@pytest.mark.parametrize("kind", ["train", "shadow"])
def test_records_have_the_same_form_and_after_a_step_the_same_values(kind):
    for one, other in zip(*records(kind), strict=True):
        assert type(one) is type(other)
        assert one.config == other.config
        assert one.arrays.keys() == other.arrays.keys()
        for name, values in other.arrays.items():
            assert (one.arrays[name].dtype, one.arrays[name].shape) == (values.dtype, values.shape)
            if values.dtype.kind == "f":
                np.testing.assert_allclose(one.arrays[name], values, rtol=1e-4, atol=1e-5)


def test_pools_of_odd_size_are_two_stacks():
    chosen = [made_shadows.config(pool_size=47, model=m, epochs=1, moments=1) for m in range(4)]
    found = together.train_all(chosen, partial(shadows.begin, data=DATA))
    assert [run.config for run in found] == chosen
    assert {int(run.arrays["member"].sum()) for run in found} == {23, 24}


def test_a_run_that_diverges_ends_no_other():
    def begin(config):
        begun = train.begin(config, DATA)
        if config.seed == 1:
            begun.x.fill_(float("inf"))
        return begun

    first, failed, last = together.train_all(configs(), begin)
    assert isinstance(failed, Failure)
    assert "stopped being finite in epoch 1" in str(failed)
    for run in (first, last):
        assert np.isfinite(run.arrays["loss"]).all()


def test_a_run_that_cannot_begin_ends_no_other():
    def begin(config):
        if config.seed == 0:
            raise BadInput("no such image")
        return train.begin(config, DATA)

    failed, *others = together.train_all(configs(), begin)
    assert isinstance(failed, BadInput)
    assert [run.config.seed for run in others] == [1, 2]


def test_too_little_memory_halves_the_stack(monkeypatch, capsys):
    sizes, real = [], together.side_by_side

    def short(models):
        sizes.append(len(models))
        if len(models) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(models)

    monkeypatch.setattr(together, "side_by_side", short)
    found = together.train_all(configs(range(5), epochs=1), partial(train.begin, data=DATA))
    assert [run.config.seed for run in found] == list(range(5))
    assert sizes == [5, 2, 3, 1, 2]
    assert "Too little memory for 5 models at once: in halves." in capsys.readouterr().err


def test_one_run_that_is_too_large_alone_is_told(monkeypatch):
    def short(models):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(together, "side_by_side", short)
    (error,) = together.train_all(configs((0,)), partial(train.begin, data=DATA))
    assert isinstance(error, torch.OutOfMemoryError)


def test_groups_hold_what_differs_in_seed_and_model_alone():
    one, two = configs((0, 1))
    plain = planted.config(norm="none")
    shadow = [made_shadows.config(model=m) for m in range(3)]
    private, dense = object(), planted.config(arch="densenet22")
    found = list(together.groups([one, plain, shadow[0], private, two, dense, *shadow[1:]]))
    assert found == [[one, two], [plain], shadow, [private], [dense]]


def test_groups_have_a_largest_size():
    found = list(together.groups(configs(range(5)), most=2))
    assert [[config.seed for config in group] for group in found] == [[0, 1], [2, 3], [4]]
