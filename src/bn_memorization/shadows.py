"""Shadow models: many networks on random halves of one pool of images, and their margins on all.

Pool, corruption and masks follow from the seed alone, so that both arms share them. A wrong label
belongs to its sample: it is the label in training where the sample is a member, and the label asked
for in every query, member or not.
"""

import math
from copy import deepcopy
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from bn_memorization import train
from bn_memorization.config import NO_PENALTY, TrainConfig
from bn_memorization.data import Dataset
from bn_memorization.errors import BadInput
from bn_memorization.masks import member_mask
from bn_memorization.queries import VIEWS, views
from bn_memorization.sample import absent_classes, corrupt, draw, drawn_rows
from bn_memorization.signals import margin, naive_margin

# Raise when a change here, in masks, queries or signals alters what a run returns.
VERSION = 3


@dataclass(frozen=True)
class ShadowConfig:
    """All that decides a shadow model's margins, beside the data and the machine.

    `seed` decides the pool of `pool_size` images, which share `noise_rate` of them is corrupted and
    how, and all masks; with the index `model`, the initial weights and the order of the batches.
    The margins are taken before training and at `moments` evenly spaced epochs, the last among
    them. Test accuracy is measured on at most `eval_size` images. What the weights are held to and
    penalized for is said in `TrainConfig`. Raises BadInput for a value out of range.
    """

    dataset: str
    source: str
    pool_size: int
    eval_size: int
    arch: str
    norm: str
    corruption: str
    noise_rate: float
    seed: int
    model: int
    epochs: int
    moments: int
    batch_size: int
    optimizer: str
    lr: float
    momentum: float
    weight_decay: float
    penalty: str = NO_PENALTY
    penalty_weight: float = 0.0
    penalty_target: float = 1.0
    penalty_layer: int | None = None
    hold_weights: bool = False

    def __post_init__(self):
        _ = self.pool  # checks what the two kinds of config have in common
        if self.pool_size < 4 or self.model < 0:
            raise BadInput(
                f"pool_size={self.pool_size}, model={self.model}: a pool needs at least 4 images, "
                "and models are counted from 0."
            )
        if not 1 <= self.moments <= self.epochs:
            raise BadInput(f"moments={self.moments} must be from 1 to epochs={self.epochs}.")

    @property
    def pool(self) -> TrainConfig:
        """The config of one run on the whole pool: what is drawn for it is the pool."""
        return self._training(self.pool_size, self.seed)

    @property
    def recipe(self) -> TrainConfig:
        """The settings of the model's own training, on half the pool and with a seed of its own."""
        own = np.random.default_rng([self.seed, 5, self.model]).integers(2**31)
        return self._training(self.pool_size // 2, int(own))

    def _training(self, train_size: int, seed: int) -> TrainConfig:
        shared = {k: v for k, v in asdict(self).items() if k not in _NOT_OF_TRAINING}
        return TrainConfig(**shared | {"train_size": train_size, "seed": seed})

    @property
    def looks(self) -> list[int]:
        """The epochs after which margins are taken, [K]; the first is 0, before training."""
        return [round(k * self.epochs / self.moments) for k in range(self.moments + 1)]

    def describe(self) -> str:
        """Return one line that tells this run from its neighbors."""
        return f"shadow model {self.model} of {self.pool.describe()}"


_NOT_OF_TRAINING = ("pool_size", "model", "moments")


@dataclass(frozen=True)
class Shadow:
    """A shadow model's record.

    `arrays` holds, with K = moments + 1 looks (the first before training) and N = pool_size:

    - `phi` float32[K, N]: margin of each pool sample for the label it was given, eval mode.
    - `phi_view` float32[V, N]: the same after the last epoch, for each of `queries.VIEWS`.
    - `phi_naive` float32[N]: the same after the last epoch, for the image as it is, by the float32
      way through probabilities (see `signals.naive_margin`).
    - `phi_batch` float32[N]: the same after the last epoch in training mode, the image as it is.
    - `correct` bool[K, N]: whether the model predicts that label, for the image as it is.
    - `test_accuracy` float64[K].
    - `member` bool[N]: who was trained on. `outlier` bool[N]: which are corrupted.
    - `pool_row` int64[N]: the sample's row in the data set's training split.
    """

    config: ShadowConfig
    arrays: dict[str, np.ndarray]
    meta: dict = field(default_factory=dict)


def check_size(config: ShadowConfig, data: Dataset) -> None:
    """Raise BadInput for a pool of more images than there are, or a class with no image.

    Every class must be in the pool, and in the half of it that the model trains on.
    """
    available = len(data.train)
    if config.pool_size > available:
        raise BadInput(
            f"pool_size={config.pool_size}, but {data.name} ({data.source}) has {available} "
            f"training images. Choose at most {available}, or source=auto for the full set."
        )
    labels = data.train.labels[drawn_rows(config.pool, data)]
    member = member_mask(config.model, config.pool_size, config.seed)
    for what, present in (("the pool", labels), ("the model's half of it", labels[member])):
        absent = absent_classes(present, data)
        if absent:
            raise BadInput(
                f"{config.describe()}: pool_size={config.pool_size} leaves no image of class "
                f"{absent} in {what}. Raise pool_size."
            )


@torch.inference_mode()
def query(model: nn.Module, x: Tensor) -> np.ndarray:
    """Return the logits [N, C] of images x[N, ...].

    In eval mode: a sample's margin does not depend on its batch, and no buffer changes.
    """
    model.eval()
    return torch.cat([model(part) for part in x.split(train.EVAL_BATCH)]).cpu().numpy()


@torch.inference_mode()
def in_training_mode(model: nn.Module, x: Tensor) -> np.ndarray:
    """Return logits [N, C] by the statistics of each batch of queries, as LiRA's authors query.

    A copy is asked, since in that mode BN updates its buffers. The images go in their order, in
    equal batches: a batch of one would have no variance.
    """
    copy = deepcopy(model).train()
    parts = x.tensor_split(math.ceil(len(x) / train.EVAL_BATCH))
    return torch.cat([copy(part) for part in parts]).cpu().numpy()


def fit(config: ShadowConfig, data: Dataset, *, device: str = "cpu") -> Shadow:
    """Train one shadow model on its half of the pool and query it on all of it.

    Raises BadInput as `check_size` does, and Failure, naming the run, when a logit stops being
    finite.
    """
    begun = begin(config, data, device=device)
    train.optimize(begun.model, begun.x, begun.y, begun.config, begun.look)
    return begun.finish()


def begin(config: ShadowConfig, data: Dataset, *, device: str = "cpu") -> train.Begun:
    """Return what `fit` trains, before it is trained."""
    check_size(config, data)
    where = torch.device(device)
    drawn, pool = draw(config.pool, data, where), corrupt(config.pool, data)
    member = member_mask(config.model, config.pool_size, config.seed)
    model = train.new_model(config.recipe, data, where)
    phi, correct, test = [], [], []

    def look(epoch: int) -> None:
        if epoch not in config.looks:
            return
        logits = query(model, drawn.x)
        train.check_finite([logits], epoch, config)
        phi.append(margin(logits, pool.labels))
        correct.append(logits.argmax(1) == pool.labels)
        test.append(train.measure(model, {"test": drawn.subsets["test"]})["test"][1].mean())

    def finish() -> Shadow:
        by_batch = in_training_mode(model, drawn.x)
        by_view = [query(model, view) for view in views(drawn.x, len(VIEWS))]
        train.check_finite([by_batch, *by_view], config.epochs, config)
        arrays = {
            "phi": np.stack(phi).astype(np.float32),
            "phi_view": np.stack([margin(z, pool.labels) for z in by_view]).astype(np.float32),
            "phi_naive": naive_margin(by_view[0], pool.labels),
            "phi_batch": margin(by_batch, pool.labels).astype(np.float32),
            "correct": np.stack(correct),
            "test_accuracy": np.array(test, np.float64),
            "member": member,
            "outlier": np.isin(np.arange(config.pool_size), pool.index),
            "pool_row": pool.rows,
        }
        return Shadow(config, arrays)

    inside = torch.from_numpy(np.flatnonzero(member)).to(where)
    return train.Begun(model, drawn.x[inside], drawn.y[inside], config.recipe, look, finish)
