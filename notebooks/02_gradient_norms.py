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
# # Do corrupted samples pull harder at a network with batch normalization?
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
# Claim 2 of {cite:t}`doan2026batch`: with {term}`batch normalization` (BN) {cite}`ioffe2015batch` the gradient of a
# {term}`corrupted sample` is larger than without it, and larger than that of a {term}`clean sample`. The
# {term}`size of a sample's gradient <per-sample gradient norm>` is its influence: how far a step on this sample
# alone would move the network.
#
# This chapter trains one network of its own, for the last figure. Else it reads the pairs of networks of
# [chapter 1](01_forced_memorization.ipynb): same {term}`seed`, same images, same corrupted samples, once with BN (the
# [bn]{.arm .arm-bn} {term}`arm`), once without (the [plain]{.arm .arm-plain} arm).

# %% [markdown]
# ## Parameters
#
# A {term}`setting` is a combination of `dataset`, `arch`, `corruption` and `noise_rate`, in this order, that `only`
# names; a * stands for any. Where all values are those of chapter 1, its {term}`records <run record>` are read.

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
dataset = ["mnist", "fashion_mnist", "cifar10"]  # one or more data sets
arch = ["lenet", "resnet8"]  # one or more networks, of both arms
corruption = ["flip", "ood"]  # flipped labels, foreign images with random labels
noise_rate = [0.01, 0.05]  # shares of the training samples that are corrupted
only = ["*mnist/lenet/flip/*", "*mnist/lenet/ood/0.05", "cifar10/resnet8/flip/0.05"]  # settings
source = "embedded"  # embedded: the part in this repository; auto: the full sets
train_size = 3000  # training images of a LeNet, drawn anew by each seed
eval_size = 500  # clean and test images that each curve of a LeNet is measured on
epochs = 12  # passes of a LeNet over its training images
batch_size = 64  # images a step of a LeNet
deep_train_size = 400  # the same four for every other network
deep_eval_size = 100  # see eval_size
deep_epochs = 25  # see epochs
deep_batch_size = 32  # see batch_size
norm = "batch"  # norm of the arm that is compared with plain
seeds = 3  # paired models a setting
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate, the same for both arms
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight


# %% [markdown]
# ## Setup
#
# For a sample $x_i$ with the label $y_i$ that training sees, the measured quantity is
#
# $$
# g_i = \Big\lVert \frac{\partial \ell_i}{\partial \theta} \Big\rVert_2 ,
# $$ (per-sample-norm)
#
# with $\theta$ all parameters of the network together. It was measured in each run before training and after
# every epoch, for the first {glue:text}`probed:d` samples of each subset, corrupted and clean, or all where there
# are fewer.
#
# **Which gradient.** Under BN this is not one quantity. In *running* mode the
# {term}`statistics are the stored ones <running statistics>`, and each sample has a loss of its own. In *batch*
# mode they are {term}`those of a batch <batch statistics>`, every loss depends on every sample in it, and the
# gradient is taken through the statistics; only these gradients add up to the gradient of the batch. Everything in
# this chapter is running mode, except where a caption says otherwise.

# %%
from IPython.display import Markdown

from bn_memorization import (
    experiments,
    figures,
    figures_influence,
    gradnorm,
    influence,
    report,
    runs,
)
from bn_memorization.claims import CLAIMS
from bn_memorization.judging import judge
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
trained = runs.run_all(experiments.corruptions(parameters))
report.trained(trained, profile)

# %% tags=["remove-input"]
Markdown(influence.measured(trained))

# %% [markdown]
# ## How large the gradients are
#
# A network that has learned what the classes have in common, and nothing about single samples, gets the corrupted
# ones wrong: where that is so, their curve lies to the right of the clean ones'. A sample that has been
# {term}`fitted` pulls no more, and its curve moves to the left. Before training only the images themselves can set
# the curves of one arm apart.

# %% mystnb={"figure": {"caption": "Share of samples with a gradient norm below each value, at four moments, on a logarithmic axis (running mode). Color: arm. Solid: corrupted samples. Dotted: clean samples. All seeds at the highest share of corrupted samples; a third is a third of the epochs.", "name": "fig-norm-distributions"}, "image": {"alt": "Grid of cumulative distributions, one row for each data set and network, one column for each of four moments of training. Four step curves in each: corrupted and clean samples, with batch normalization and plain."}}
figures_influence.norm_distributions(influence.distributions(trained), profile)

# %% [markdown]
# ## Along training
#
# {term}`Cliff's delta` compares two groups of samples by order alone: the chance that a member of the first has the
# larger norm, minus the chance that it has the smaller one. It is one where the groups do not overlap, zero
# where neither is larger, and the same for the norm and for its logarithm. It is computed within one pair of
# networks, and then averaged over pairs ([notation](../notation.md)).

# %% mystnb={"figure": {"caption": "Cliff's delta of the gradient norms (running mode) of corrupted samples in the arm with norm, against epochs: over the same samples in the plain network, and over clean samples in the same network. Mean over pairs of models and its 95 % t interval, cut at -1 and 1.", "name": "fig-norm-delta"}, "image": {"alt": "Line charts of Cliff's delta against epochs, one for each data set and share of corrupted samples: one line compares corrupted samples with batch normalization with the same samples without, the other with clean samples, each with a band for the 95 percent interval."}}
figures_influence.delta_curves(influence.by_epoch(trained, norm), profile)

# %% [markdown]
# No single epoch can decide the claim: a network that fits its corrupted samples sooner has the larger
# gradients first and the smaller ones afterwards. So the norm of a sample is summed over all moments, before
# training and after each epoch, and this sum decides. `claims.py`, which reads no result, says so; it was made
# precise in this form when first runs had been seen.

# %%
over_plain, over_clean = (
    judge(CLAIMS[key], influence.compare(trained, norm, comparison))
    for key, comparison in [
        ("gradient_norm", influence.OVER_PLAIN),
        ("gradient_norm_clean", influence.OVER_CLEAN),
    ]
)

# %% mystnb={"figure": {"caption": "Cliff's delta of the norms summed over training (running mode), with 95 % t intervals over pairs of models. Left: corrupted samples in the arm with norm over the same samples in the plain network. Right: over clean samples in the same network. Dashed: the claim's threshold.", "name": "fig-norm-gaps"}, "image": {"alt": "Two interval plots with one row for each data set and share of corrupted samples: Cliff's delta of corrupted samples with batch normalization over plain, and over clean samples, with a dashed line at zero."}}
figures.forest([over_plain, over_clean], [1, 1], ["over plain", "over clean"], profile)

# %% [markdown]
# **Corrupted samples, {glue:text}`arm_name:s` over plain.**

# %%
report.table(over_plain, profile)

# %% [markdown]
# **With {glue:text}`arm_name:s`, corrupted samples over clean ones.**

# %%
report.table(over_clean, profile)

# %% [markdown]
# A network without BN fits what classes have in common first as well, so the second comparison says something
# about BN only beside the same one in the plain network.

# %% tags=["remove-input"]
in_both = influence.compare_plain(trained, norm)
Markdown(f"{influence.control(in_both, report.name(norm))} Profile: {profile}.")

# %% [markdown]
# ## The other gradient
#
# Training itself follows the batch-mode gradients. Here both modes are measured on the same samples at one
# moment: after a third of the epochs, in the first network with {glue:text}`arm_name:s` at the highest share
# of corrupted samples. The samples come in batches with about that share of corrupted ones, as in training.

# %%
config = experiments.midway([run.config for run in trained], norm)
model, sample = runs.trained_model(config)
most = influence.most_at_rate(sample, config.noise_rate, 24)
mixed = influence.mixture(sample, config.noise_rate, most)
modes = influence.both_modes(model, *mixed, config.batch_size)

# %% mystnb={"figure": {"caption": "Gradient norm of each sample in batch mode against its norm in running mode, in one network after a third of training, on logarithmic axes. The dashed line is equality.", "name": "fig-norm-modes"}, "image": {"alt": "Scatter plot on two logarithmic axes: gradient norm in batch mode against gradient norm in running mode, with clean samples as dots, corrupted samples as rings, and the diagonal of equality."}}
figures_influence.mode_scatter(modes, profile)

# %%
table = report.readable(influence.modes_table(modes)).format(
    "{:.2f}", subset=influence.MODE_NUMBERS
)
share = report.cell("share", float((modes.subset == "corrupted").mean()))
table.set_caption(
    f"Gradient norms in one network ({profile}, n = {len(modes)} samples, {share} corrupted)."
)

# %% [markdown]
# ## What could be wrong
#
# - **A gradient is not a step.** The same norm moves a network with BN and one without to a different effect:
#   scale the weights before a BN layer by $c$, and no output changes while their gradient is divided by $c$.
#   Norms of two different networks are compared here because the paper's claim does so.
# - **Equal epochs are not {term}`equal training`.** The norm of a sample depends on how far it is fitted. The sum over
#   training depends on how many epochs there are: with more, the arm that fits its samples late collects
#   larger norms at the end.
# - **Epochs are coarse.** The norms are measured between epochs and not at each step.
# - **Delta has a ceiling.** Near one, its t {term}`interval` can reach above one; the part above means nothing.
# - **Settings are not independent.** Settings of a data set share seeds and with them images and initial
#   weights, so that several that agree are less evidence than as many independent ones.
# - **Few seeds**, as in [chapter 1](01_forced_memorization.ipynb).

# %% [markdown]
# ## Differences from the paper
#
# - We know the paper's claim and not its settings, nor which of the two gradients it measured, at which
#   moment, and over which parameters.
# - Cliff's delta and the sum over training are our choice.
# - The images are parts of the data sets, as `train_size` says.

# %% [markdown] tags=["try-it"]
# ## Try it

# %% tags=["remove-cell"]
from myst_nb import glue

arm = report.name(norm)
glue("arm_name", arm, display=False)
glue("probed", gradnorm.PROBED, display=False)
sentence = influence.answer(over_plain, over_clean, arm)
report.publish([over_plain, over_clean], sentence, profile, norm)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance(trained)
