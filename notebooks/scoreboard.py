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
#
# Each claim of {cite:t}`doan2026batch`, what decides it, and what the chapters of this build
# found. The thresholds stand in `src/bn_memorization/claims.py` and, for our own controls, in
# `control_claims.py`, which read no result; pilot runs had been seen when some of them were set. A
# verdict is computed from the intervals: [Verdicts](../intro.md#verdicts) says how.

# %% tags=["parameters", "remove-cell"]
profile = "quick"

# %% tags=["remove-cell"]
from IPython.display import Markdown
from myst_nb import glue

from bn_memorization import published, scoreboard

results = scoreboard.collect()
glue("scoreboard_text", scoreboard.summary(results), display=False)

# %% tags=["remove-input"]
Markdown(scoreboard.summary(results))

# %% [markdown]
# The margin growth of a step is a derived identity: its verdict says that the algebra and autograd
# agree, not that trained networks follow it. [Its chapter](04_margin_growth.ipynb) measures that too.

# %% [markdown]
# ## The claims
#
# The last column asks more than the paper does. At fixed epochs a network without normalization may just be
# earlier on the same path; a claim survives if what it says is still true where that is ruled out. For the
# penalty, it survives if it still works where growing the weights before BN cannot meet it. In brackets stands the
# setting in which this was asked: fewer than those of the claim.

# %% tags=["remove-input"]
scoreboard.overview(results)

# %% [markdown]
# ## The controls
#
# These statements are ours. Each decides how the claim of that number is to be read.

# %% tags=["remove-input"]
scoreboard.controls(results)

# %% [markdown]
# ## Every setting that was tried
#
# One row for each claim, data set, network, and kind and share of corruption, with the profile that it was
# run at.

# %% tags=["remove-input"]
scoreboard.settings(results.values())

# %% tags=["remove-input"]
scoreboard.intervals(results)

# %% [markdown]
# ## Larger runs that come with the code
#
# These verdicts were computed by longer builds of this book, with other profiles. Their run records are part of
# the repository; `make book PROFILE=...` reads them and trains what is not among them.

# %% tags=["remove-input"]
shipped = published.verdicts()
scoreboard.settings(shipped) if shipped else Markdown("None so far.")

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
