"""Shadow models trained with differential privacy: DP-SGD (Abadi et al. 2016) through Opacus.

Each step clips every sample's gradient to a norm of at most `clip`, adds them up, and adds normal
noise. That bounds what one sample can do to the network, and the accountant says by how much:
(epsilon, delta), for two training sets of which one has one sample more. It holds for one network
and its training set. It says nothing about the choice of the settings, nor about the mean and
standard deviation that images are normalized with, which come from the whole data set.

Batch normalization is refused. Under batch statistics each sample's output, and with it each
sample's gradient, depends on the other samples of the batch: leaving one out changes all of them,
and clipping each one does not bound the change of their sum by one clipping norm.

Randomness is torch's and follows from the seed, so that runs can be repeated. Opacus's secure mode,
against attackers who predict the noise or read it off rounding errors, is not used: these networks
are for study, and whoever knows the seed knows the noise.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bn_memorization import train
from bn_memorization.config import NO_PENALTY, TrainConfig
from bn_memorization.data import Dataset
from bn_memorization.errors import BadInput
from bn_memorization.shadows import Shadow, ShadowConfig, begin

# Raise when a change here, or another release of Opacus, alters what a run returns.
VERSION = 1

BATCHED = ("batch", "batch_fixed_gamma", "batch_cut")


@dataclass(frozen=True, kw_only=True)
class PrivateConfig(ShadowConfig):
    """A shadow model's config with a bound on privacy loss; `batch_size` is the expected one.

    The noise is as small as (`epsilon`, `delta`) allows for all epochs together. Raises BadInput as
    `ShadowConfig` does, for a norm with batch statistics, for what changes a training otherwise
    (penalty, held weights), and for a bound, a clipping norm or a batch that cannot be.
    """

    epsilon: float
    delta: float
    clip: float

    def __post_init__(self):
        super().__post_init__()
        if self.norm in BATCHED:
            raise BadInput(
                f"norm={self.norm} cannot be trained with differential privacy: under batch "
                "statistics a sample's gradient depends on the other samples, so that clipping "
                "each does not bound by one clipping norm what a sample changes. Choose none, "
                "group or layer."
            )
        if self.penalty != NO_PENALTY or self.hold_weights:
            raise BadInput("DP-SGD trains without a penalty and without held weights.")
        for name in ("epsilon", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise BadInput(f"{name}={getattr(self, name)} must be above 0 and finite.")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta={self.delta} must be above 0 and below 1.")
        if self.batch_size >= self.pool_size // 2:
            raise BadInput(
                f"batch_size={self.batch_size} must be below the {self.pool_size // 2} images that "
                "a model trains on: each is drawn with the chance that makes this the mean size."
            )

    def _training(self, train_size: int, seed: int) -> TrainConfig:
        return self.public._training(train_size, seed)

    @property
    def public(self) -> ShadowConfig:
        """The config of the same shadow model trained without a bound."""
        return ShadowConfig(**{f.name: getattr(self, f.name) for f in fields(ShadowConfig)})

    def describe(self) -> str:
        """Return one line that tells this run from its neighbors."""
        return f"{super().describe()}, DP-SGD at epsilon {self.epsilon:g}"


@contextmanager
def _grid_bound_ignored() -> Iterator[None]:
    """Ignore that the bound by which the accountant sizes its grid is loose: the grid is larger."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Optimal order is the (largest|smallest) alpha")
        yield


@cache  # the same for every model of an arm
def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Return the standard deviation of the noise over the clipping norm.

    Nearly the least that keeps `steps` steps, each with every sample at chance `rate`, within
    (epsilon, delta), by the accountant of Gopi et al. (2021), arXiv:2106.02848.
    """
    from opacus.accountants.utils import get_noise_multiplier  # takes seconds; few runs need it

    with _grid_bound_ignored():
        return get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=delta,
            sample_rate=rate,
            steps=steps,
            accountant="prv",
        )


@cache
def spent(history: tuple[tuple[float, float, int], ...], delta: float) -> float:
    """Return the epsilon that steps have spent at delta, by the same accountant.

    `history` holds, for each run of equal steps, the noise multiplier, the chance at which a sample
    is drawn, and the number of steps.
    """
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = list(history)
    with _grid_bound_ignored():
        return float(accountant.get_epsilon(delta))


def optimize(
    model: nn.Module, x: Tensor, y: Tensor, config: PrivateConfig, look: Callable[[int], None]
) -> dict[str, float]:
    """Train a model in place on x[N, ...], y[N]; call look(epoch) first and after every epoch.

    An epoch is as many steps as take N samples on average. Returns `noise_multiplier`, and the
    `epsilon` that the accountant found to be spent.
    """
    from opacus.accountants import PRVAccountant
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    rate, steps = config.batch_size / len(y), round(len(y) / config.batch_size)
    noise = noise_multiplier(config.epsilon, config.delta, rate, steps * config.epochs)
    # Streams of their own: the weights come from the bare seed.
    drawing, adding = np.random.default_rng([config.recipe.seed, 6]).integers(2**31, size=2)
    batches = UniformWithReplacementSampler(
        num_samples=len(y),
        sample_rate=rate,
        generator=torch.Generator().manual_seed(int(drawing)),
        steps=steps,
    )
    optimizer = DPOptimizer(
        train.make_optimizer(config.recipe, model),
        noise_multiplier=noise,
        max_grad_norm=config.clip,
        expected_batch_size=config.batch_size,
        generator=torch.Generator(x.device).manual_seed(int(adding)),
    )
    accountant = PRVAccountant()
    optimizer.attach_step_hook(accountant.get_optimizer_hook_fn(rate))
    look(0)
    hooked = GradSampleModule(model)
    for epoch in range(1, config.epochs + 1):
        model.train()
        for rows in batches:
            optimizer.zero_grad()
            _backward(hooked, x[rows], y[rows])
            optimizer.step()
        look(epoch)
    hooked.to_standard_module()
    # The steps that were taken, as the optimizer reported them one by one.
    return {
        "noise_multiplier": noise,
        "epsilon": spent(tuple(accountant.history), config.delta),
    }


def _backward(hooked: nn.Module, x: Tensor, y: Tensor) -> None:
    """Leave each sample's gradient in the parameters' `grad_sample`."""
    if len(y) == 0:  # it happens, and must not be skipped: the step is noise alone
        for p in hooked.parameters():
            p.grad_sample = p.new_zeros((0, *p.shape))
        return
    # Hooks want an input with a gradient, or torch warns; nobody reads it.
    cross_entropy(hooked(x.requires_grad_()), y).backward()


def fit(config: PrivateConfig, data: Dataset, *, device: str = "cpu") -> Shadow:
    """Train one shadow model privately on its half of the pool and query it on all of it.

    The record is that of `shadows.fit` with two numbers more, `noise_multiplier` and `epsilon`, the
    bound that was reached. Raises BadInput as `shadows.check_size` does, and Failure, naming the
    run, when a logit stops being finite.
    """
    begun = begin(config, data, device=device)
    # Gradients sample by sample come in the plain layout, so the weights take it too.
    model = begun.model.to(memory_format=torch.contiguous_format)
    privacy = optimize(model, begun.x, begun.y, config, begun.look)
    arrays = begun.finish().arrays
    return Shadow(config, arrays | {name: np.array(value) for name, value in privacy.items()})
