"""Configs of shadow models on the planted set, and records with margins made up for the purpose."""

import numpy as np

from bn_memorization import membership
from bn_memorization.masks import paired_masks
from bn_memorization.queries import VIEWS
from bn_memorization.shadows import Shadow, ShadowConfig

M, N = 6, 40
KEEP = paired_masks(M, N, 0)
OUTLIER = np.arange(N) % 4 == 0


def config(**changes) -> ShadowConfig:
    """Return a config that trains on the planted set in well under a second."""
    values = {
        "dataset": "planted",
        "source": "embedded",
        "pool_size": 48,
        "eval_size": 24,
        "arch": "lenet",
        "norm": "batch",
        "corruption": "flip",
        "noise_rate": 0.25,
        "seed": 0,
        "model": 0,
        "epochs": 4,
        "moments": 2,
        "batch_size": 8,
        "optimizer": "sgd",
        "lr": 0.05,
        "momentum": 0.9,
        "weight_decay": 0.0,
    }
    return ShadowConfig(**values | changes)


def shadows(shifts=(0.0, 1.0, 2.0), keep=KEEP, outlier=OUTLIER, **changes) -> list[Shadow]:
    """Return the shadow models of one arm; members' margins are `shifts` higher, look by look."""
    rng = np.random.default_rng(0)
    found = []
    for model, member in enumerate(keep):
        phi = rng.normal(size=(len(shifts), N)) + np.outer(shifts, member)
        others = phi[-1] + 0.5 * np.random.default_rng(model).normal(size=(len(VIEWS) - 1, N))
        arrays = {
            "phi": phi.astype(np.float32),
            "phi_view": np.stack([phi[-1], *others]).astype(np.float32),
            "phi_naive": np.clip(phi[-1], -15.9, 15.9).astype(np.float32),
            "phi_batch": (rng.normal(size=N) + 0.5 * shifts[-1] * member).astype(np.float32),
            "correct": phi > 0,
            "test_accuracy": np.full(len(shifts), 0.5),
            "member": member,
            "outlier": outlier,
            "pool_row": np.arange(N),
        }
        settings = {"pool_size": N, "noise_rate": 0.05, "model": model} | changes
        found.append(Shadow(config(**settings), arrays, {"seconds": 1.0}))
    return found


def both(shifts=(0.0, 1.0, 2.0), plain=(0.0, 0.5, 1.0), **changes) -> list[Shadow]:
    """Return the shadow models of both arms."""
    return shadows(shifts, norm="batch", **changes) + shadows(plain, norm="none", **changes)


def pool(**changes) -> membership.Pool:
    """Return the pool of one arm."""
    (found,) = membership.pools(shadows(**changes))
    return found
