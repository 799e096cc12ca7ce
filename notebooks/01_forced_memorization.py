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
# # Does batch normalization make a network fit wrong labels sooner?
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
# Claim 1 of {cite:t}`doan2026batch`: give a small share of the training images a wrong label, and a
# network with batch normalization (BN) {cite}`ioffe2015batch` ends up fitting more of them than the same
# network without, and fits them sooner. A flipped label cannot be learned from the other images. A network
# that predicts it has memorized that one sample {cite}`zhang2017understanding,arpit2017closer`.
#
# This chapter trains LeNet {cite}`lecun1998gradient` twice from each seed: once with BN before each of its
# four activations (the [bn]{.arm .arm-bn} arm), once without (the [plain]{.arm .arm-plain} arm). Both see
# the same images, the same flipped labels, the same initial weights and the same order of batches.

# %% [markdown]
# ## Parameters

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
dataset = ["mnist", "fashion_mnist"]  # one or more data sets
source = "embedded"  # embedded: the part in this repository; auto: the full sets
train_size = 4000  # training images a model, drawn anew by each seed
eval_size = 1000  # clean and test images that each curve is measured on
noise_rate = [0.01, 0.05]  # shares of the training labels that are flipped
arch = "lenet"  # network of both arms
norm = "batch"  # norm of the arm that is compared with plain
seeds = 4  # paired models a setting
epochs = 15  # passes over the training images
batch_size = 64  # images a step
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate, the same for both arms
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight

# %% tags=["remove-cell"]
parameters = {
    "profile": profile,
    "dataset": dataset,
    "source": source,
    "train_size": train_size,
    "eval_size": eval_size,
    "noise_rate": noise_rate,
    "arch": arch,
    "norm": norm,
    "seeds": seeds,
    "epochs": epochs,
    "batch_size": batch_size,
    "optimizer": optimizer,
    "lr": lr,
    "momentum": momentum,
    "weight_decay": weight_decay,
}

# %% [markdown]
# ## Setup
#
# The runs are trained before this page is written, or read where they exist.

# %%
from IPython.display import Markdown

from bn_memorization import data, experiments, figures, memorization, report, runs
from bn_memorization.claims import CLAIMS, judge

figures.use_style()
trained = runs.run_all(experiments.forced_memorization(parameters))
curves = memorization.curves(trained)
report.trained(trained, profile)

# %% [markdown]
# ## What a flipped label looks like
#
# These are flipped training images of one pair of models, with the label they were given and their true
# one. A frame marks those whose flipped label the model with BN predicts after the last epoch, although
# nothing in the image supports it.

# %% mystnb={"figure": {"caption": "Training images with a flipped label: given label, and true label in brackets. Framed: the model with BN predicts the given label at the end of training. From the first seed at the highest share of flipped labels on the first data set.", "name": "fig-contact-sheet"}, "image": {"alt": "A grid of small training images. Above each stands its wrong, given label and in brackets its true one; a thick orange frame marks images whose wrong label the model with batch normalization predicts at the end."}}
shown = memorization.example(trained, norm)
images = data.load(shown.config.dataset, source)
figures.contact_sheet(**memorization.flipped_samples(shown, images, limit=24), profile=profile)

# %% [markdown]
# ## How the flipped samples are fitted
#
# After every epoch each model is asked, in evaluation mode, for the labels of its flipped training samples.
# The share for which it gives the flipped label is the memorized share.

# %% mystnb={"figure": {"caption": "Share of flipped training samples whose flipped label the model predicts, against epochs. Thin lines: single models. Thick line and band: mean over seeds and its 95 % t interval.", "name": "fig-flipped-accuracy"}, "image": {"alt": "Line charts, one for each data set and share of flipped labels: accuracy on flipped samples against epochs, for networks with batch normalization and plain ones, with single models as thin lines and a band for the 95 percent interval."}}
figures.learning_curves(curves, "corrupted", "accuracy", profile)

# %% [markdown]
# The loss on the same samples shows what accuracy hides: at first it rises above its start in both arms, as
# the network learns the true classes and grows confident that the flipped label is wrong. Fitting begins
# where the curve turns.

# %% mystnb={"figure": {"caption": "Cross-entropy of the flipped training samples against their flipped labels, against epochs. Lines and bands as in the figure above.", "name": "fig-flipped-loss"}, "image": {"alt": "Line charts, one for each data set and share of flipped labels: loss on flipped samples against epochs, for networks with batch normalization and plain ones, with single models as thin lines and a band for the 95 percent interval."}}
figures.learning_curves(curves, "corrupted", "loss", profile)

# %% [markdown]
# ## How large the gap is
#
# Two measures decide the claim. Both are taken for each model, then subtracted within each pair of the same
# seed. The interval is Student's t over the pairs ([notation](../notation.md)).

# %%
final = judge(
    CLAIMS["forced_final"],
    memorization.compare(trained, norm, memorization.final_accuracy("corrupted")),
)
speed = judge(
    CLAIMS["forced_speed"],
    memorization.compare(trained, norm, memorization.half_fitted, sign=-1),
)

# %% mystnb={"figure": {"caption": "Paired gaps between the arms with their 95 % t intervals over seeds. Left: final accuracy on flipped samples, arm with norm minus plain. Right: epochs until half are fitted, plain minus arm with norm. Dashed: the claim's threshold.", "name": "fig-forced-gaps"}, "image": {"alt": "Two interval plots with one row for each data set and share of flipped labels: the gap in final accuracy on flipped samples, and the gap in epochs until half of them are fitted, with a dashed line at zero."}}
figures.forest([final, speed], [100, 1], ["points of accuracy", "epochs"], profile)

# %% [markdown]
# **Final accuracy on the flipped samples, {glue:text}`arm_name:s` minus plain.**

# %%
report.table(final, profile)

# %% [markdown]
# **Epochs until half of the flipped samples are fitted, plain minus {glue:text}`arm_name:s`.**

# %%
report.table(speed, profile)

# %% tags=["remove-input"]
Markdown(memorization.censoring(trained))

# %% [markdown]
# ## Clean and test accuracy beside it
#
# A gap on flipped samples means less where the plain network has not learned the clean ones either.

# %%
report.accuracies(memorization.final_accuracies(trained), profile)

# %% mystnb={"figure": {"caption": "Accuracy on clean training images against epochs. Lines and bands as in the figures above.", "name": "fig-clean-accuracy"}, "image": {"alt": "Line charts, one for each data set and share of flipped labels: accuracy on clean training samples against epochs, for networks with batch normalization and plain ones."}}
figures.learning_curves(curves, "clean", "accuracy", profile)

# %% mystnb={"figure": {"caption": "Accuracy on test images against epochs. Lines and bands as in the figures above.", "name": "fig-test-accuracy"}, "image": {"alt": "Line charts, one for each data set and share of flipped labels: accuracy on test images against epochs, for networks with batch normalization and plain ones."}}
figures.learning_curves(curves, "test", "accuracy", profile)

# %% [markdown]
# ## What could be wrong
#
# - **Equal epochs are not equal training.** BN also speeds up the fit of clean samples. At a fixed number of
#   epochs a plain network may just be earlier on the same path. The clean curves show how much of that
#   there is; this chapter does not match the arms on it.
# - **One learning rate serves both arms.** Each arm may have a better one.
# - **Few seeds.** The interval covers the seeds, which draw images, flips, weights and order; it does not
#   cover other networks, sizes or schedules.
# - **A censored time.** A model that never fits half of its flipped samples counts as if it had at the last
#   epoch, which understates the gap in speed.

# %% [markdown]
# ## Differences from the paper
#
# - We know the paper's claims and not its settings: network details, learning rate, batch size, number of
#   epochs and seeds here are ours.
# - The images are parts of the data sets, as `train_size` says, so that the book builds in minutes.
# - Only flipped labels are tested here, not out-of-distribution images; only LeNet, on gray images.

# %% [markdown]
# ## Try it
#
# - `norm=group` or `norm=layer`: does another normalization do the same? Trains one arm anew.
# - `norm=affine`: a learned scale and shift with no normalization. Trains one arm anew.
# - `epochs=60`: does the plain network catch up? Four times the default cost.
# - `lr=0.005` or `lr=0.08`: how much of the gap is learning rate? The default cost.
# - `dataset=cifar10 noise_rate=0.1 train_size=3000`: color images.
#
# ```bash
# make chapter CHAPTER=01_forced_memorization PARAMS="dataset=fashion_mnist norm=group"
# ```
#
# [How to rerun a chapter](../rerunning.md) says where the page appears and what it costs.

# %% tags=["remove-cell"]
from myst_nb import glue

arm = report.name(norm)
glue("arm_name", arm, display=False)
report.publish([final, speed], memorization.answer(final, speed, arm), profile)

# %% [markdown]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance(parameters, trained)
