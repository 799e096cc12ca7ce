"""Membership inference against a dose of gamma/sigma: pools by dose, and what is told of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from bn_memorization import report
from bn_memorization.membership import DECIDES, Pool, at_equal_loss, pools
from bn_memorization.models import PLAIN
from bn_memorization.shadows import Shadow

HIGHER = "higher dose"


def pools_by_dose(shadows: Iterable[Shadow]) -> dict[float, list[Pool]]:
    """Return the pools of each dose, a pool a setting, doses ascending."""
    groups: dict[float, list[Shadow]] = {}
    for shadow in shadows:
        groups.setdefault(shadow.config.penalty_target, []).append(shadow)
    return {dose: pools(groups[dose]) for dose in sorted(groups)}


def as_arms(by_dose: dict[float, list[Pool]]) -> list[Pool]:
    """Return the pools of the highest dose as HIGHER, beside those of the lowest as the other arm.

    So `membership.compare` and `membership.at_equal_loss` take a gap between doses as one between
    norms: highest minus lowest.
    """
    doses = sorted(by_dose)
    high = [replace(pool, norm=HIGHER) for pool in by_dose[doses[-1]]]
    return high + [replace(pool, norm=PLAIN) for pool in by_dose[doses[0]]]


def attack(by_dose: Mapping[float, Sequence[Pool]]) -> pd.DataFrame:
    """Return how well members are told, a line a setting and dose: means over pairs of models."""
    rows = []
    for dose, of_dose in by_dose.items():
        for pool in of_dose:
            rows.append(
                {
                    "setting": report.setting(pool.where),
                    "dose": f"{dose:g}",
                    "AUC, all": f"{pool.aucs(DECIDES).mean():.3f}",
                    "AUC, clean": f"{pool.aucs(DECIDES, ~pool.outlier).mean():.3f}",
                    "training loss": f"{pool.train_loss[-1].mean():.3f}",
                    "test accuracy": report.cell("", float(pool.test_accuracy[-1].mean())),
                    "n": len(pool.keep) // 2,
                }
            )
    return pd.DataFrame(rows)


def at_equal(by_dose: Mapping[float, Sequence[Pool]]) -> str:
    """Return a sentence on the gap in AUC between doses at equal training loss."""
    arms = as_arms(by_dose)
    gaps = [
        f"{report.setting(item.where)}: {report.number(item.estimate, 'AUC')} "
        f"({report.between(item.low, item.high, 'AUC')}; n = {item.n}; training loss {loss:.3f})"
        for item, loss in at_equal_loss(arms, arms[0].norm)
    ]
    return f"AUC at equal training loss, highest dose minus lowest: {'; '.join(gaps)}."
