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
# # Does the membership gap depend on how the attack is made?
#
# :::{admonition} Answer
# :class: answer
#
# ```{glue:md} answer
# :format: myst
# ```
# :::

# %% [markdown]
# ## Why this control
#
# [Chapter 3](03_membership_inference.ipynb) attacks networks with {term}`batch normalization` (BN)
# {cite}`ioffe2015batch` and plain ones, to test claim 3 of {cite:t}`doan2026batch`. It had to choose: the mode in
# which a network is queried, the precision of its {term}`margins <margin>`, how many
# {term}`shadow models <shadow model>` there are, and how many {term}`views <view>` of an image the attack sees. The
# paper's choices are not known to us. If the gap between the {term}`arms <arm>` came and went with one of them, it
# would say more about the attack than about BN.
#
# This page trains nothing. It reads the shadow models of chapter 3 and attacks them again, one choice changed at
# a time. The attack is always the one that decides chapter 3's claims: the likelihood-ratio attack ({term}`LiRA`)
# {cite}`carlini2022membership`, online, with {term}`pooled variance`. What each {term}`control` asks for stands in
# `src/bn_memorization/declared_attack.py`, which reads no result; pilot runs had been seen when some of its
# thresholds were set.

# %% [markdown]
# ## Parameters
#
# Those of chapter 3: with the same values the same models are read.

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
dataset = ["fashion_mnist"]  # one or more data sets
source = "embedded"  # embedded: the part in this repository; auto: the full sets
pool_size = 1000  # images; each model trains on a random half of them
eval_size = 500  # test images that accuracy is measured on
n_models = 12  # models a pool and arm, each attacked in turn; even, at least 6
outlier_rate = [0.0, 0.01, 0.05]  # shares of the pool that are corrupted
corruption = ["flip"]  # flip: wrong label; ood: foreign image; noise: noise image
arch = ["lenet"]  # networks, each in both arms
only = ["*/*/*/*"]  # which combinations of data set/network/kind/share to run; a * stands for any
norm = "batch"  # norm of the arm that is compared with plain
seed = 0  # of the pool, the corruption, the masks and all models
epochs = 20  # passes over a model's half of the pool
moments = 10  # times during training at which margins are taken; here the last counts
batch_size = 16  # images a step
deep_pool_size = 500  # these four for every network but LeNet
deep_eval_size = 500  # see eval_size
deep_epochs = 20  # see epochs
deep_batch_size = 16  # see batch_size
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate, the same for both arms
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight


# %% [markdown]
# ## Setup
#
# All margins are of the last epoch. As in chapter 3 the unit is a {term}`complementary pair` of attacked models,
# and a gap is the mean over pairs of the {term}`AUC` in the arm with {glue:text}`arm_name:s` minus that in the
# plain arm, on the same halves of the {term}`pool`. {term}`Intervals <interval>` are 95 % t intervals over pairs.

# %%
from bn_memorization import experiments, figures, figures_sensitivity, report, runs, sensitivity
from bn_memorization import membership as mia
from bn_memorization import sensitivity_tables as tables
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import judge
from bn_memorization.membership_tables import trained
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
shadows = runs.run_all(experiments.membership(parameters))
pairs = mia.paired(mia.pools(shadows), norm)
declared = sensitivity.gaps(pairs, sensitivity.as_declared)
trained(shadows, profile)

# %% [markdown]
# ## In which mode a network is queried
#
# Chapter 3 queries in evaluation mode: BN uses its {term}`stored statistics <running statistics>`, and a sample's
# margin does not depend on what is asked beside it. The code of the attack's authors queries in training mode.
# There BN uses the statistics of the queries themselves, so the other images of a batch, {term}`members <member>`
# or not, move the margin. In a network without {term}`batch statistics` the two modes are one: this choice touches
# one arm only.
#
# The table has both. Queries come in the order of the pool, in equal batches of at most a few hundred images.

# %%
tables.choices(
    pairs,
    {
        "evaluation mode": sensitivity.as_declared,
        "training mode": sensitivity.in_training_mode,
    },
    profile,
)

# %% [markdown]
# Against one arm, the mode with the higher AUC is the stronger attack. Where that is training mode, whether the rest
# comes from the network or from the batch is not decided here.
#
# **The control**: the gap with networks queried in training mode is above zero.

# %%
mode = judge(CONTROLS["sensitivity_mode"], sensitivity.gaps(pairs, sensitivity.in_training_mode))
tables.control(mode, profile, norm)

# %% [markdown]
# ## In which precision margins are computed
#
# A [margin](../notation.md#margin) is $\log p - \log(1 - p)$ with $p$ the probability of the label. Computed that
# way in float32, $p$ rounds to one where the margin is large, and all samples beyond share one ceiling. Chapter 3
# takes margins from the logits in float64, where there is none. The first table says which arm comes to the ceiling,
# the second what the attack makes of it. It need not be weaker: large margins may vary most from model to
# model, and with pooled variance they then widen the spread of all samples.

# %%
tables.ceiling(pairs, profile)

# %%
tables.choices(
    pairs,
    {
        "float64 from logits": sensitivity.as_declared,
        "float32 probabilities": sensitivity.through_float32,
    },
    profile,
)

# %% [markdown]
# **The control**: float32 moves the gap of a pair of models by less than one point of AUC. What is judged is the size
# of the change, up or down, mean over pairs. It cannot be below the size of the mean change, which stands beside it
# with its sign.

# %%
precision = judge(
    CONTROLS["sensitivity_precision"], sensitivity.shifts(pairs, sensitivity.through_float32)
)
changes = sensitivity.changes(pairs, sensitivity.through_float32)
tables.sizes(precision, changes, profile, norm)

# %% [markdown]
# ## How many shadow models there are
#
# Each sample's mean margin, as member and as non-member, is estimated from half of the shadow models. With few
# of them the estimate is rough and the attack weak, in both arms. To see how much, it is carried out with fewer of
# the same models. Pairs are taken in a row, starting from each pair and going round past the last, so that every
# pair is attacked equally often and beside different neighbors.

# %% mystnb={"figure": {"caption": "AUC of the online attack with pooled variance against the number of models of an arm; all but two of them are shadows of the one attacked. Bars: 95 % t intervals over attacked pairs of models, cut at what an AUC can be. But for the last point, each pair's AUC is its mean over several sets of shadows, so the bars are narrower than those of a single run with that many models.", "name": "fig-sensitivity-models"}, "image": {"alt": "Line charts, one for each setting: AUC of the membership attack against the number of models of an arm, for networks with batch normalization and plain ones, with error bars."}}
figures_sensitivity.against_models(pairs, profile)

# %% [markdown]
# A curve that still rises at its right end belongs to an attack that more shadow models would make stronger; then
# the AUCs of this {term}`profile` are low for both arms. The bars of one curve are not independent: all are made of
# the same models.
#
# **The control**: the gap with half of the models, the attacked pair included, but at least six, is above zero.
# Without the attacked pair fewer than half of the shadows are left. A pair's AUC is again a mean over several sets of
# shadows, so the interval is narrower than that of a single run with that many models.

# %%
models = judge(CONTROLS["sensitivity_models"], sensitivity.gaps(pairs, sensitivity.with_half))
tables.control(models, profile, norm)

# %% [markdown]
# ## How many views of an image the attack sees
#
# An attacker may ask for more than the image: here for the image, moved by one pixel left, right, up and down, and
# mirrored, always in this order. There are two ways to use them.
#
# - **Averaged**: the mean margin over the views is attacked like a margin.
# - **Stacked**: the margins under all views are one normal vector. With a diagonal covariance its log likelihood
#   ratio is the sum of those of the views, each with means and variances of its own. The code of the attack's
#   authors does this.
#
# Views of one image are not independent, so neither way gains what independent ones would. What that is shows on
# made margins: every view of a sample has noise of its own and, in members, a shift of $d$ standard deviations. With
# many shadow models both ways should come to $\Phi(d \sqrt{V/2})$ for $V$ views, and to one half without a shift. With
# few, stacking loses more: it estimates a mean of each view.

# %%
shift, many = 0.6, max(64, 4 * n_models)
tables.known(n_models, many, pool_size, shift, seed, profile)

# %% [markdown]
# And on the trained networks:

# %% mystnb={"figure": {"caption": "AUC of the online attack with pooled variance against the number of views it sees, likelihood ratios stacked and margins averaged. Bars: 95 % t intervals over pairs of models, cut at what an AUC can be. At one view both are chapter 3's attack.", "name": "fig-sensitivity-views"}, "image": {"alt": "Line charts, one for each setting: AUC of the membership attack against the number of views of each image, stacked and averaged, for networks with batch normalization and plain ones, with error bars."}}
figures_sensitivity.against_views(pairs, profile)

# %%
tables.views(pairs, profile)

# %% [markdown]
# A low false-positive rate is what an attacker needs; a model that has too few non-members does not resolve it.
#
# More views can also make an attack weaker. A network that was never trained on shifted images may say less of
# membership there than on the image itself, and both ways give every view a part in the score.
#
# **The control**: the gap with all six views stacked is above zero.

# %%
queries = judge(CONTROLS["sensitivity_queries"], sensitivity.gaps(pairs, sensitivity.stacked))
tables.control(queries, profile, norm)

# %% [markdown]
# ## All choices side by side

# %% mystnb={"figure": {"caption": "Gap in AUC, arm with norm minus plain, under each choice, with its 95 % t interval over complementary pairs of attacked models. With half of the models, the attacked pair included, each pair's AUC is a mean over several sets of shadows, so that bar is narrower than a single run's. Dashed: no gap.", "name": "fig-sensitivity-gaps"}, "image": {"alt": "Interval plots, one for each setting, with one row for each choice of the attack: the gap in AUC between the arms in points, with a dashed line at zero."}}
figures_sensitivity.gaps(pairs, sensitivity.CHOICES, profile)

# %% [markdown]
# Read down a panel: where all intervals lie on one side of the dashed line, no choice here decides which arm is
# easier to attack. Where one crosses it and others do not, that choice does. Intervals of one panel are not
# independent, since all are over the same models.

# %% [markdown]
# ## What could be wrong
#
# - **One choice at a time.** Two changed together may do what neither does alone.
# - **The composition of a batch** of queries is one of many, in training mode: another order of the pool, or smaller
#   batches, would give other margins. A batch that held members alone would give other statistics again.
# - **Few shadow models.** The curve against their number ends where this profile ends, and says nothing beyond.
# - **Six views** with shifts of one pixel are few and near each other. Networks here are not trained on such views;
#   where they are, asking for them gains more.
# - **The covariance of the views is taken as diagonal**, which counts what views have in common more than once. That
#   is the same for both arms, and it is what the attack's authors do; a full covariance might gain more.
# - **One pool**, and equal epochs: what [chapter 3](03_membership_inference.ipynb) says of its intervals and of equal
#   training is true here as well.

# %% [markdown]
# ## Differences from the paper
#
# - The paper tells us of no such control; which of these choices it made is not known to us.
# - The code of the attack's authors takes medians over shadows and leaves only the attacked models out of
#   them. Here means are taken, and the attacked model's complement leaves the shadows too, as in chapter 3.
# - With a fixed variance that code uses one standard deviation of all IN scores, `np.std` over samples and shadows
#   together, for IN and OUT alike. Here the pooled variance is that of the residuals about each sample's own mean, IN
#   and OUT apart.

# %% [markdown] tags=["try-it"]
# ## Try it

# %% tags=["remove-cell"]
from myst_nb import glue

arm = report.name(norm)
glue("arm_name", arm, display=False)
verdicts = [mode, precision, models, queries]
report.publish(verdicts, tables.answer(declared, changes, verdicts, norm), profile, norm)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance(shadows)
