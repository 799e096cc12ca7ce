# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Claims scoreboard

# %% tags=["parameters", "remove-cell"]
profile = "quick"

# %% tags=["remove-cell"]
import json

from IPython.display import Markdown
from myst_nb import glue

from bn_memorization import (
    figures,
    figures_scoreboard,
    first_page,
    published,
    row_records,
    scoreboard,
    scoreboard_table,
)

figures.use_style()

results = scoreboard.collect()
glue("scoreboard_text", scoreboard.summary(results), display=False)

# %% tags=["remove-input"]
Markdown(scoreboard.summary(results))

# %% [markdown]
# ## Every setting that was tried
#
# A row for each claim or control in each setting. Effects of one unit are drawn on one scale: dot and line are the
# effect and its interval, the thin line is zero, the dashed one the threshold. Rows of longer profiles come with the
# code.

# %% tags=["remove-cell"]
shipped = [verdict for verdict in published.verdicts() if verdict["profile"] != profile]
verdicts = [*results.values(), *shipped]
behind = row_records.rows(verdicts, profile)
glue(row_records.LISTS, json.dumps(row_records.lists(behind)), display=False)

# %% tags=["remove-input", "full-width"]
scoreboard_table.table(verdicts, behind)

# %% [markdown]
# Each row leads to its chapter, to the figure or table there that shows it, and to its run records. *Records*
# is a list of them as CSV, with all settings of each run; those of the row have its claim and setting. A record is a
# folder, `runs/KIND/KEY` or, of those that come with the code, `published/records/KIND/KEY`: `meta.json` in it says how
# it was made, `arrays.npz` holds what was measured. `make book PROFILE=...` reads the published ones and trains what
# is not among them.

# %% tags=["remove-input"]
scoreboard.intervals(results)

# %% [markdown]
# ## What is left at equal training
#
# At fixed epochs a network without normalization may just be earlier on the same path. A claim survives matching if
# what it says is still true where that is ruled out. For the penalty, it survives if it still works where growing the
# weights before BN cannot meet it. *Not asked* are claims and settings that have no such control.

# %% mystnb={"figure": {"caption": "Gaps between BN and plain networks with their 95 % t intervals, as in the tables: hollow, after equal epochs; filled, where both arms are equally trained. The gap in accuracy at equal training is of smaller training sets than the one above it.", "name": "fig-equal-training"}, "image": {"alt": "Interval plot with a row for each statement that was measured twice: the gap after equal epochs as a hollow dot, and below it the gap where both networks are equally trained as a filled dot, in points of accuracy and of AUC."}} tags=["remove-input"]
figures_scoreboard.fixed_and_matched(first_page.asked_again(results), profile)

# %% [markdown]
# ## The claims
#
# What each claim of {cite:t}`doan2026batch` says in our words, and what decides it. The thresholds stand in
# `src/bn_memorization/claims.py` and, for our own controls, in `control_claims.py`, which read no result; pilot runs
# had been seen when some of them were set. A verdict is computed from the intervals:
# [Verdicts](../intro.md#verdicts) says how. In brackets stands the setting in which a claim was asked again: fewer
# than those of the claim.

# %% tags=["remove-input"]
scoreboard.overview(results)

# %% [markdown]
# The margin growth of a step is a derived identity: its verdict says that the algebra and autograd
# agree, not that trained networks follow it. [Its chapter](04_margin_growth.ipynb) measures that too.

# %% [markdown]
# ## The controls
#
# These statements are ours. Each decides how the claim of that number is to be read.

# %% tags=["remove-input"]
scoreboard.controls(results)

# %% [markdown]
# ## What decides a verdict
#
# - **reproduced**: the whole interval lies beyond the claim's threshold.
# - **partly**: the estimate does, but its interval reaches back to the threshold; or some
#   settings of one claim reproduce it and others do not.
# - **not reproduced**: the estimate does not lie beyond the threshold; or it does not in some setting
#   and no setting reproduces the claim.
# - **not testable at this scale**: fewer trained models than the claim asks for.
# - **not run in this build**: the parameters leave out the setting that the claim is about.
#
# Of a control the same verdicts are told as *holds*, *holds in part* and *not shown*. *Not shown* is no proof of
# the opposite: the interval in the table of settings says how much is left open.
