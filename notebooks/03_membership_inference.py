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
# # Does batch normalization give away who was in the training set?
#
# :::{admonition} Answer
# :class: answer
#
# ```{glue:md} answer
# :format: myst
# ```
# :::

# %% [markdown]
# ## In the paper
#
# Claim 3 of {cite:t}`doan2026batch`: the likelihood-ratio attack ({term}`LiRA`) {cite}`carlini2022membership` tells
# {term}`members <member>` of the training set from non-members better when the network has
# {term}`batch normalization` (BN) {cite}`ioffe2015batch`. By the paper the {term}`AUC` gains at least 3 points with
# 1 % {term}`outliers <outlier>` among the training images, at least 4 with 5 %, and some with none.
#
# The {term}`attack <membership inference>` compares one network with many others, the
# *{term}`shadow models <shadow model>`*, some trained with the sample in question and some without. If the
# {term}`margin` of the sample looks like those of the first kind, it was probably a member. Here outliers are
# images with a wrong label, as in [](01_forced_memorization.ipynb).

# %% [markdown]
# ## Parameters

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
moments = 10  # times during training that the models are attacked
queries = 1  # views of each image that an attack after the last epoch sees, up to 6
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
# From one {term}`pool` of images each model trains on a random half. Models come in
# {term}`complementary pairs <complementary pair>`: what one trained on, the other did not. Both {term}`arms <arm>`
# share the pool, the outliers, the halves, the initial weights and the order of the batches. A wrong label stays
# with its image for members and non-members alike.
#
# Every model is attacked in turn. It and its complement then leave the shadow models, so that for every
# sample as many shadows are left that trained on it (IN) as not (OUT). If the complement stayed, the
# counts alone would tell who is a member.

# %%
from bn_memorization import (
    calibration,
    experiments,
    figures,
    figures_attack,
    figures_live,
    live,
    matched_attack,
    one_sample,
    report,
    runs,
    sample,
)
from bn_memorization import membership as mia
from bn_memorization import membership_tables as tables
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
shadows = runs.run_all(experiments.membership(parameters))
pools = mia.pools(shadows, queries)
pairs = mia.paired(pools, norm)
tables.trained(shadows, profile)

# %% [markdown]
# ## The attacks
#
# The signal is the [margin](../notation.md#margin) $\varphi$ of a sample in the attacked network, queried in
# evaluation mode with the label that training would have used. With $\mu$ and $\sigma$ here the mean and
# standard deviation of the sample's margins in its IN or OUT shadows, and higher scores for members:
#
# - **Online**: $\log \mathcal{N}(\varphi; \mu_\mathrm{in}, \sigma_\mathrm{in}) -
#   \log \mathcal{N}(\varphi; \mu_\mathrm{out}, \sigma_\mathrm{out})$.
# - **Offline, one-sided**: $(\varphi - \mu_\mathrm{out})/\sigma_\mathrm{out}$, in the order of the tail
#   probability in the attack's paper. It needs no model trained on the sample.
# - **Offline, density**: $-\log \mathcal{N}(\varphi; \mu_\mathrm{out}, \sigma_\mathrm{out})$, as the code of
#   its authors has it. A margin that is too low counts as a sign of membership too.
# - **Global threshold**: $\varphi$ itself, with no shadow model.
#
# *{term}`Pooled <pooled variance>`*: one $\sigma$ for all samples, from residuals about each sample's own $\mu$.
# *Per sample*: each sample's own, for which a few shadows are too few. The claims declare which attack decides
# them: online, with pooled variance.
#
# With `queries` above 1 a network is asked for that many {term}`views <view>` of the image, always in this order:
# the image, moved by one pixel left, right, up and down, mirrored. The views' scores are added up, which for log
# densities takes the margins under all views as one normal vector with a diagonal covariance, as the code of the
# attack's authors does. This is so for the attacks after the last epoch. Everything that is set against training
# loss stays with the image as it is.

# %% [markdown]
# ## Does the attack itself tell the truth?
#
# First the attacks meet made margins, with the sizes and kinds of masks of this chapter. A sample's margin is
# its own difficulty plus noise. With no shift between members and non-members nothing can be found: an AUC
# other than one half would be a leak in the attack. With a shift of $d$ standard deviations an attack that
# knew all means would reach $\Phi(d/\sqrt{2})$. The last column says what is right for each attack.

# %%
shift, many = 1.5, max(64, 4 * n_models)
made = calibration.check(n_models, many, pool_size, shift, seed)
tables.known(made, n_models, many, shift, profile)

# %% [markdown]
# Brackets hold the 95 % t {term}`interval` over pairs of attacked models. What is missing to the right answer with few
# models is the price of estimating each sample's mean and spread from few shadows; it is highest where the
# spread is per sample.

# %% [markdown]
# ## Attacks on trained networks
#
# AUC of every attack after the last epoch, by arm and share of outliers, mean over pairs of attacked models.

# %%
tables.attacks(pools, profile)

# %% [markdown]
# The {term}`ROC curves <ROC curve>` belong to the attack that decides. On log axes the left end shows what an
# attacker can do who wants few false alarms.

# %% mystnb={"figure": {"caption": "ROC curves of the online attack with pooled variance on log axes, mean over attacked models. The left end is the lowest false-positive rate that the non-members of one model resolve. Dotted: guessing.", "name": "fig-membership-roc"}, "image": {"alt": "Line charts on two logarithmic axes, one for each setting: true-positive rate against false-positive rate of the membership attack, for networks with batch normalization and plain ones, with the line of guessing."}}
figures_attack.roc_curves(pairs, profile)

# %% [markdown]
# ## One image at a time
#
# What the attack sees of a single image. One pair of complementary networks is attacked: one trained on the image,
# the other never saw it, and the same shadow models stand against both. The images were chosen by their scores in
# the network with {glue:text}`arm_name:s`, so they are examples of what there is and no fair sample of it.

# %% mystnb={"figure": {"caption": "The online attack with pooled variance on one image, in both arms. Filled: margins of the shadow models that trained on it, with the normal fitted to them; hollow, dashed: of those that did not. Upright: the margin in the attacked network. Right: ROC curves of that network; a dot is the threshold at the allowed false-positive rate, a ring the image's own score. On the screen the margins that are called a member's are shaded; on paper and without scripts stands the first image, in the network that trained on it.", "name": "fig-one-image"}, "image": {"alt": "A training image; beside it, for each arm, two bell curves over the margins of shadow models that trained on the image and of those that did not, with an upright line at the margin in the attacked network; and two ROC curves on logarithmic axes with a mark at the threshold and one at the image's score."}}
shown = one_sample.most_corrupted(pairs)
config = one_sample.config_of(shown, shadows)
data = runs.dataset(config)
attack_data = one_sample.picture(shown, sample.corrupt(config.pool, data), data)
figures_live.attack_on_first(attack_data, profile)

# %% tags=["remove-input"]
live.embed("one_sample", "fig-one-image", attack_data)

# %% [markdown]
# By groups of samples: outliers are compared with outliers, {term}`clean samples <clean sample>` with clean ones.
# {term}`TPR <TPR at FPR>` is the share of members found at the given false-positive rate (FPR).

# %%
tables.groups(pools, profile)

# %% [markdown]
# ## How large the gap is
#
# The unit is a complementary pair of attacked models. The two depend on each other, so their AUCs are averaged
# before arms are compared. Each pair of the arm with {glue:text}`arm_name:s` is compared with the plain pair on
# the same halves ([notation](../notation.md)).

# %%
verdicts = mia.verdicts(mia.compare(pools, norm))

# %% mystnb={"figure": {"caption": "Gap in AUC between the arms, arm with norm minus plain, after equal epochs, with its 95 % t interval over complementary pairs of attacked models. The thick upright mark in a row is the threshold of its claim.", "name": "fig-membership-gaps"}, "image": {"alt": "Interval plot with one row for each setting: the gap in AUC of the membership attack between the arms in points, with an upright mark at the threshold of each claim and a line at zero."}}
figures_attack.gaps(verdicts, profile)

# %%
tables.verdicts(verdicts, profile)

# %% [markdown]
# ## Is it more than training?
#
# After equal epochs the arms differ in how far they have fitted their members.

# %%
tables.training(pools, profile)

# %% [markdown]
# A network that has fitted its members more may give more of them away. So the figure sets the AUC against the
# training loss, at the moments at which the models were attacked. Where the lines lie on each other, the arms
# leak the same for the same fit, and the gap above comes from how fast each arm gets there.

# %% mystnb={"figure": {"caption": "AUC of the online attack with pooled variance against training loss, which falls to the right. Each point is a moment of training, the first before it. Bars: 95 % t intervals over complementary pairs of attacked models. Dotted: guessing.", "name": "fig-membership-loss"}, "image": {"alt": "Line charts, one for each setting: AUC of the membership attack against training loss on a logarithmic axis, with points at several moments of training, for networks with batch normalization and plain ones."}}
figures_attack.against_loss(pairs, profile)

# %% [markdown]
# The table {term}`matches <matched>` on clean members alone. How far each arm has fitted its outliers is part of
# what is asked, and would hide in a loss that counts them. For each model it takes the loss on clean members at
# which the slower arm ended, and reads the AUC of both arms there. It is read on the line between the two looks
# around it, against the loss (straight) and against its log. The gaps at the looks before and after show how much
# hangs on the line: a look is epochs apart from the next, and early in training the AUC moves far between two.

# %%
equal = matched_attack.at_equal_loss(pools, norm)
tables.at_equal_loss(equal, profile)

# %% [markdown]
# ## What could be wrong
#
# - **Equal epochs are not equal training.** The claims are judged after equal epochs; the section above says what
#   is left of the gap at equal loss on clean members. That loss is one way to match, and it lies where the slower
#   arm ended. Where straight lines and log lines differ, or the looks around have gaps of other signs, the line
#   decides and not a measurement. [Chapter 8](08_controls.ipynb) gives no verdict where the lines disagree on it.
# - **One pool.** The attacked models of a pool share their images, outliers and shadow models. The interval
#   says how the gap moves with another random half and initial weights; it does not say how it moves with
#   other images.
# - **Small pools.** Networks trained on few images fit them closely, and the attack is the stronger for it.
# - **Few shadow models** make every attack weaker, as the made margins show, in both arms.
# - **Few outliers.** At a small share a model has only a handful of outliers, and their AUC is coarse. A pair of
#   models one of which holds all of them has none.
# - **Choices of the attack.** The mode in which networks are queried, the precision of the margins, the number of
#   shadow models and of views are ours. [What depends on them](03b_sensitivity.ipynb) is a page of its own.

# %% [markdown]
# ## Differences from the paper
#
# - We know the paper's claims and not its settings: networks, pool, number of shadow models, kind of outliers,
#   variance mode and schedule here are ours.
# - Both a model and its complement leave the shadows when one is attacked.
# - The unit of every interval is a pair of attacked models.
# - No augmentation in training, and one view of each image unless `queries` says otherwise.

# %% [markdown] tags=["try-it"]
# ## Try it

# %% tags=["remove-cell"]
from myst_nb import glue

arm = report.name(norm)
glue("arm_name", arm, display=False)
report.publish(verdicts, tables.answer(verdicts, equal, arm), profile, norm)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance(shadows)
