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
# # Does batch normalization make a network fit corrupted samples sooner?
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
# Claim 1 of {cite:t}`doan2026batch`: corrupt a small share of the training images, and a network with
# {term}`batch normalization` (BN) {cite}`ioffe2015batch` ends up {term}`fitting <fitted>` more of them than the
# same network without, and fits them sooner. A wrong label cannot be learned from the other images. A network that
# predicts it has {term}`memorized <memorization>` that one sample {cite}`zhang2017understanding,arpit2017closer`.
#
# Three kinds of corruption stand here: an image keeps its place and gets a *{term}`flipped label`*; an image of
# another data set takes its place, with a random label (*{term}`foreign images <foreign image>`*, out of
# distribution); or an image of noise does. This chapter trains LeNet {cite}`lecun1998gradient` on gray images and a
# small ResNet {cite}`he2016deep` on color ones, twice from each {term}`seed`: once with BN (the [bn]{.arm .arm-bn}
# {term}`arm`), once without (the [plain]{.arm .arm-plain} arm). Both see the same images, the same
# {term}`corrupted samples <corrupted sample>`, the same initial weights and the same order of batches.

# %% [markdown]
# ## Parameters
#
# A {term}`setting` is a combination of `dataset`, `arch`, `corruption` and `noise_rate`, in this order, that `only`
# names; a * stands for any.

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
dataset = ["mnist", "fashion_mnist", "cifar10"]  # one or more data sets
arch = ["lenet", "resnet8"]  # one or more networks, of both arms
corruption = ["flip", "ood", "noise"]  # flipped labels, foreign images, images of noise
noise_rate = [0.01, 0.05]  # shares of the training samples that are corrupted
only = ["*mnist/lenet/flip/*", "*mnist/lenet/*/0.05", "cifar10*/resnet8/flip/0.05"]  # see above
source = "embedded"  # embedded: the part in this repository; auto: the full sets
train_size = 3000  # training images of a LeNet, drawn anew by each seed
eval_size = 500  # clean and test images that each curve of a LeNet is measured on
epochs = 12  # passes of a LeNet over its training images
batch_size = 64  # images a step of a LeNet
deep_train_size = 400  # the same four for every other network
deep_eval_size = 100  # see eval_size
deep_epochs = 25  # see epochs
deep_batch_size = 32  # see batch_size
plain_lr = [0.02, 0.05]  # rates at which a deep plain network is tried for longer
plain_epochs = 60  # passes of these trials
norm = "batch"  # norm of the arm that is compared with plain
seeds = 3  # paired models a setting
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate, the same for both arms
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight


# %% [markdown]
# ## Setup
#
# The runs are trained before this page is written, or read where they exist.

# %%
import numpy as np
from IPython.display import Markdown, display

from bn_memorization import (
    experiments,
    figures,
    figures_live,
    live,
    matched,
    memorization,
    plain_settings,
    playback,
    report,
    runs,
)
from bn_memorization.claims import CLAIMS
from bn_memorization.judging import judge
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
trained = runs.run_all(experiments.corruptions(parameters))
searched = runs.run_all(plain_settings.search(parameters))
curves = memorization.curves(trained)
report.trained(trained, profile)

# %% [markdown]
# ## What a corrupted sample looks like
#
# These are corrupted training samples, some of each kind, with the label they were given. A frame marks
# those whose label the model with BN predicts after the last epoch, although nothing in the image supports
# it. A random label can be the one that suits the image; a flipped one never is.

# %% mystnb={"figure": {"caption": "Corrupted training samples: given label, and in brackets the true label, or the data set that the image comes from. Framed: the model with norm predicts the given label at the end of training. For each kind of corruption from the first seed at its highest share, on the first data set.", "name": "fig-contact-sheet"}, "image": {"alt": "A grid of small training images. Above each stands the wrong or random label that it was given, and in brackets what it is; a thick orange frame marks images whose given label the model with batch normalization predicts at the end."}}
shown = [
    memorization.corrupted_samples(run, runs.dataset(run.config), limit=16)
    for run in memorization.examples(trained, norm)
]
figures.contact_sheet(**memorization.sheet(shown), profile=profile)

# %% [markdown]
# ## Training played back
#
# Corrupted samples of one pair of networks, the first in the order in which they were drawn, and what each network
# predicts for them after every epoch. An image is shown in full where the network gives it the label that training
# gave it; the counts are over all corrupted samples of the pair. One pair shows what happens; the gaps below count
# all pairs.

# %% mystnb={"figure": {"caption": "Corrupted training samples of the first pair of networks, the same in both arms: in full where the network predicts the given label after that epoch, faded where it does not. The count is over all corrupted samples of the run. On paper and without scripts: some epochs.", "name": "fig-playback"}, "image": {"alt": "Two rows of small grids of the same training images, the upper row for the network with batch normalization and the lower for the plain one, at several epochs: images whose given label the network predicts are shown in full, the others faded, and the title of each grid says how many there are."}}
pair = playback.arms(trained, norm)
playback_data = playback.picture(pair, runs.dataset(pair[0].config))
figures_live.moments(playback_data, profile)

# %% tags=["remove-input"]
live.embed("playback", "fig-playback", playback_data)

# %% [markdown]
# ## How corrupted samples are fitted
#
# After every epoch each model is asked, in evaluation mode, for the labels of its corrupted training
# samples. The share for which it gives the label they were given is the memorized share.

# %% mystnb={"figure": {"caption": "Share of corrupted training samples whose given label the model predicts, against epochs, a panel a setting. Thin lines: single models. Thick line and band: mean over seeds and its 95 % t interval.", "name": "fig-corrupted-accuracy"}, "image": {"alt": "Line charts, one for each data set, network, kind of corruption and share: accuracy on corrupted samples against epochs, for networks with batch normalization and plain ones, with single models as thin lines and a band for the 95 percent interval."}}
figures.learning_curves(curves, "corrupted", "accuracy", profile)

# %% [markdown]
# The loss on the same samples shows what accuracy hides. Where it rises at first above its start, the
# network is learning the true classes and grows confident that a flipped label is wrong; fitting begins
# where the curve turns.

# %% mystnb={"figure": {"caption": "Cross-entropy of the corrupted training samples against the labels they were given, against epochs. Panels, lines and bands as in the figure above.", "name": "fig-corrupted-loss"}, "image": {"alt": "Line charts, one for each data set, network, kind of corruption and share: loss on corrupted samples against epochs, for networks with batch normalization and plain ones, with single models as thin lines and a band for the 95 percent interval."}}
figures.learning_curves(curves, "corrupted", "loss", profile)

# %% [markdown]
# ## How large the gap is
#
# Three measures decide the claim: the final accuracy, the epochs until half of the corrupted samples are fitted,
# and the area under their loss curve, given as the mean loss over training. Each is taken for each model, then
# {term}`subtracted within each pair <paired gap>` of the same seed. The {term}`interval` is Student's t over the pairs
# ([notation](../notation.md)).

# %%
gaps = {
    "forced_final": memorization.compare(trained, norm, memorization.final_accuracy("corrupted")),
    "forced_speed": memorization.compare_speed(trained, norm),
    "forced_loss": memorization.compare(trained, norm, memorization.loss_area, sign=-1),
}
final, speed, loss = (judge(CLAIMS[claim], evidence) for claim, evidence in gaps.items())

# %% mystnb={"figure": {"caption": "Paired gaps between the arms with their 95 % t intervals over seeds, on corrupted samples. Left: final accuracy, arm with norm minus plain. Middle: epochs until half are fitted, plain minus arm with norm. Right: mean loss over training, plain minus arm with norm. A point without a bar has no interval. Dashed: the claim's threshold.", "name": "fig-forced-gaps"}, "image": {"alt": "Three interval plots with one row for each data set, network, kind of corruption and share: the gap in final accuracy on corrupted samples, the gap in epochs until half of them are fitted, and the gap in mean loss, with a dashed line at zero."}}
figures.forest([final, speed, loss], [100, 1, 1], ["points of accuracy", "epochs", "nats"], profile)

# %% [markdown]
# **Final accuracy on the corrupted samples, {glue:text}`arm_name:s` minus plain.**

# %%
report.table(final, profile)

# %% [markdown]
# **Epochs until half of the corrupted samples are fitted, plain minus {glue:text}`arm_name:s`.** The times
# are whole epochs, as the models are asked once an epoch. A run that does not get there is *{term}`censored`*: its
# time is at least the number of epochs. Where only plain runs are censored, the gap is a lower bound. Where
# all runs of an arm are, it has no interval, and the setting decides nothing.

# %%
report.table(speed, profile)

# %% tags=["remove-input"]
Markdown(matched.censoring(trained, norm))

# %% [markdown]
# **Mean loss of the corrupted samples over training, plain minus {glue:text}`arm_name:s`.** The loss of a
# sample has no upper bound: a network that is sure of the true label pays for it here, in the epochs before
# it fits the flipped one.

# %%
report.table(loss, profile)

# %% [markdown]
# ## Is it more than training?
#
# At a fixed number of epochs the faster arm has trained further on every sample, {term}`clean <clean sample>` ones
# included. So each pair is read again where its two arms have the {term}`same loss <equal training>` on clean
# training images: the final one of the arm that ends higher. The other arm passes it at an earlier time, and its
# accuracy on corrupted samples there lies on the line between two epochs. This decides no claim.
#
# **Accuracy on the corrupted samples at equal clean training loss, {glue:text}`arm_name:s` minus plain.**

# %%
equal = matched.at_equal_clean(trained, norm)
matched.table(equal, profile)

# %% tags=["remove-input"]
on_log = matched.at_equal_clean(trained, norm, scale=np.log)
Markdown(matched.sentence(equal, on_log))

# %% [markdown]
# ## Clean and test accuracy beside it
#
# A gap on corrupted samples means less where the plain network has not learned the clean ones either.

# %%
display(report.accuracies(memorization.final_accuracies(trained), profile))
Markdown(memorization.unlearned(trained, norm))

# %% mystnb={"figure": {"caption": "Accuracy on clean training images against epochs. Panels, lines and bands as in the figures above.", "name": "fig-clean-accuracy"}, "image": {"alt": "Line charts, one for each data set, network, kind of corruption and share: accuracy on clean training samples against epochs, for networks with batch normalization and plain ones."}}
figures.learning_curves(curves, "clean", "accuracy", profile)

# %% mystnb={"figure": {"caption": "Accuracy on test images against epochs. Panels, lines and bands as in the figures above.", "name": "fig-test-accuracy"}, "image": {"alt": "Line charts, one for each data set, network, kind of corruption and share: accuracy on test images against epochs, for networks with batch normalization and plain ones."}}
figures.learning_curves(curves, "test", "accuracy", profile)

# %% [markdown]
# ## Can the deep plain networks be trained?
#
# Where the {term}`plain` arm of a deep network has not learned its clean samples, its settings may be at fault. So
# it is trained for longer, at several learning rates, from the first seed. The best settings are those that
# fit most *clean* training samples; nobody looks at the corrupted ones. The rows at the shared settings stand
# beside it. One seed a row: this decides no claim.

# %%
tried = plain_settings.tried(trained, searched)
display(report.readable(plain_settings.table(tried).assign(profile=profile)))
Markdown(plain_settings.sentence(tried))

# %% [markdown]
# ## What could be wrong
#
# - **Equal epochs are not equal training.** BN also speeds up the fit of clean samples. At a fixed number of
#   epochs a plain network may just be earlier on the same path, and the claims are judged there. The section
#   above says what is left of the gap at equal clean training loss. That is one way to match, and it lies
#   where the slower arm ended; the faster arm is read between two epochs, so a count of intervals can hang
#   on how the line between them is drawn. With few pairs, an interval that reaches zero does not show that
#   there is no gap.
# - **One learning rate serves both arms.** Each arm may have a better one. [Chapter 8](08_controls.ipynb) tunes
#   them apart, for LeNet; for deep plain networks the section above says what they need to fit their images.
# - **Few seeds.** The interval covers the seeds, which draw images, corruptions, weights and order; it does
#   not cover other sizes or schedules.
# - **Settings are not repetitions.** The settings of one data set share seeds, images and initial weights, so
#   a count of settings is not a count of independent trials.
# - **A censored time.** A model that never fits half of its corrupted samples counts as if it had at the
#   last epoch. Where that happens in the plain arm alone, the gap in speed is a lower bound; where it happens
#   to all of an arm, Student's t says nothing about that arm, and the setting has no part in the {term}`verdict`.
# - **Foreign images resemble each other.** A network may tell them from the others at a glance and still has
#   to learn each label by heart. Random labels are right by chance in one case of as many as there are
#   classes, before any memorization.

# %% [markdown]
# ## Differences from the paper
#
# - We know the paper's claims and not its settings: network details, learning rate, batch size, number of
#   epochs, seeds and the data sets that foreign images come from are ours.
# - The images are parts of the data sets, as the parameters say, so that the book builds in minutes. The
#   `paper` {term}`profile` takes all four data sets with LeNet, ResNet-18 and DenseNet.
# - The convolutions of a ResNet or DenseNet have a bias in the plain arm only, and the last convolution of
#   each residual branch starts smaller than usual in both arms: without BN the sum over the branches
#   would grow from block to block.

# %% [markdown] tags=["try-it"]
# ## Try it

# %% tags=["remove-cell"]
from myst_nb import glue

arm = report.name(norm)
glue("arm_name", arm, display=False)
report.publish(
    [final, speed, loss], matched.answer(final, speed, loss, (equal, on_log), arm), profile
)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance([*trained, *searched])
