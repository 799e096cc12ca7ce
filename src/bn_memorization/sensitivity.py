"""Membership inference with other choices: query mode, precision, number of models, views.

Each choice is another way to see the same shadow models. The deciding attack is carried out again,
and arms are compared as in `membership`: AUCs of complementary pairs of models, BN minus plain.
All functions are pure; `pairs` holds (pool with norm, plain pool) as `membership.paired` returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from bn_memorization.judging import Evidence
from bn_memorization.lira import LEAST_MODELS
from bn_memorization.membership import ATTACKS, DECIDES, INTERVAL, Pool, gap_of, pair_aucs
from bn_memorization.queries import VIEWS
from bn_memorization.signals import naive_margin
from bn_memorization.stats import Gap, mean_interval

Pairs = Sequence[tuple[Pool, Pool]]
Aucs = Callable[[Pool], np.ndarray]  # a pool's AUCs [P] under one choice
# The margin of a probability that is 1 in float32.
CEILING = float(naive_margin([[1e3, 0.0]], [0])[0])
SIZES = 8  # numbers of models at which the attack is carried out, at most


def as_declared(pool: Pool) -> np.ndarray:
    """Return the AUCs of chapter 3's claims: eval mode, float64, all models, one view."""
    return pool.aucs(DECIDES)


def in_training_mode(pool: Pool) -> np.ndarray:
    """Return the AUCs where the models are queried in training mode, as LiRA's authors do.

    BN then uses the statistics of each batch of queries, which hold members and non-members alike.
    """
    return pool.seen_as(pool.phi_batch).aucs(DECIDES)


def through_float32(pool: Pool) -> np.ndarray:
    """Return the AUCs where margins went through float32 probabilities (`naive_margin`)."""
    return pool.seen_as(pool.phi_naive).aucs(DECIDES)


def with_models(pool: Pool, n_models: int) -> np.ndarray:
    """Return each pair's AUC, [P], with `n_models` models of the pool there, its own among them.

    n_models / 2 pairs are taken in a row, from each pair on and round past the last. So all pairs
    are attacked equally often, among neighbors that vary, and a pair's AUC is its mean over these.
    Source: the attack itself is `lira.online`, which raises ValueError below `LEAST_MODELS`.
    """
    total, size = len(pool.keep) // 2, n_models // 2
    starts = range(total if size < total else 1)  # all pairs are one set, wherever it starts
    sums, times = np.zeros(total), np.zeros(total)
    for start in starts:
        chosen = np.arange(start, start + size) % total
        rows = np.stack([2 * chosen, 2 * chosen + 1], axis=1).ravel()
        score = ATTACKS[DECIDES](pool.phi[-1][rows], pool.keep[rows])
        sums[chosen] += pair_aucs(score, pool.keep[rows])
        times[chosen] += 1
    return sums / times


def with_half(pool: Pool) -> np.ndarray:
    """Return the AUCs with half of the models, rounded down to pairs, or the least there may be.

    The attacked pair counts among them, so the shadows are fewer than half as many.
    """
    return with_models(pool, max(LEAST_MODELS, 2 * (len(pool.keep) // 4)))


def stacked(pool: Pool, count: int = len(VIEWS)) -> np.ndarray:
    """Return the AUCs where the first `count` views are stacked as LiRA does (`lira.stacked`)."""
    return in_views(pool, count).aucs(DECIDES)


def averaged(pool: Pool, count: int = len(VIEWS)) -> np.ndarray:
    """Return the AUCs where the margin is the mean over the first `count` views."""
    return in_mean_view(pool, count).aucs(DECIDES)


def in_views(pool: Pool, count: int) -> Pool:
    """Return the pool as an attacker has it who stacks the first `count` views."""
    return replace(pool, queries=count)


def in_mean_view(pool: Pool, count: int) -> Pool:
    """Return the pool as an attacker has it who averages the first `count` views."""
    return pool.seen_as(pool.phi_view[:count].mean(axis=0))


# What a reader is shown beside chapter 3's own way; the first is that way.
CHOICES: dict[str, Aucs] = {
    "as in chapter 3": as_declared,
    "queried in training mode": in_training_mode,
    "float32 probabilities": through_float32,
    "half of the models": with_half,
    "six views, averaged": averaged,
    "six views, stacked": stacked,
}


def gaps(pairs: Pairs, choice: Aucs) -> list[Evidence]:
    """Return the gap in AUC of each setting under one choice."""
    return [gap_of(treated.where, choice(treated), choice(plain)) for treated, plain in pairs]


def changes(pairs: Pairs, choice: Aucs) -> list[Evidence]:
    """Return by how much a choice raises the gap in each setting, mean over pairs of models."""
    return [
        _evidence(treated, mean_interval(_moves(treated, plain, choice)))
        for treated, plain in pairs
    ]


def shifts(pairs: Pairs, choice: Aucs) -> list[Evidence]:
    """Return by how much a choice moves the gap of a pair of models, either way, in each setting.

    The mean over pairs of the size of the change: at least the size of the mean gap's change. No
    size is below zero, so no interval starts there.
    """
    sizes = [mean_interval(np.abs(_moves(treated, plain, choice))) for treated, plain in pairs]
    return [
        _evidence(treated, replace(size, low=float(np.maximum(size.low, 0.0))))  # NaN stays NaN
        for (treated, _), size in zip(pairs, sizes, strict=True)
    ]


def _moves(treated: Pool, plain: Pool, choice: Aucs) -> np.ndarray:
    """Return by how much a choice raises the gap of each pair of models, [P]."""
    return (choice(treated) - choice(plain)) - (as_declared(treated) - as_declared(plain))


def _evidence(pool: Pool, gap: Gap) -> Evidence:
    return Evidence(pool.where, gap.estimate, gap.low, gap.high, gap.n, INTERVAL)


def at_ceiling(pool: Pool) -> dict[str, float]:
    """Return the share of the margins through float32 that sit at `CEILING`, by membership."""
    top = pool.phi_naive >= CEILING
    return {"members": float(top[pool.keep].mean()), "non-members": float(top[~pool.keep].mean())}


def sizes(n_models: int) -> list[int]:
    """Return even numbers of models from the least to `n_models`, at most `SIZES`, evenly in logs.

    Raises ValueError below `LEAST_MODELS`.
    """
    if n_models < LEAST_MODELS:
        raise ValueError(f"{n_models} models: the attack needs at least {LEAST_MODELS}.")
    steps = np.geomspace(LEAST_MODELS, n_models, SIZES)
    return sorted({2 * round(step / 2) for step in steps})


def against_models(pool: Pool) -> dict[int, Gap]:
    """Return {number of models: mean AUC with its interval over attacked pairs}."""
    return {size: mean_interval(with_models(pool, size)) for size in sizes(len(pool.keep))}


def against_views(pool: Pool, way: Callable[[Pool, int], np.ndarray]) -> dict[int, Gap]:
    """Return {number of views: mean AUC with its interval over pairs} for `stacked`/`averaged`."""
    return {count: mean_interval(way(pool, count)) for count in range(1, len(VIEWS) + 1)}
