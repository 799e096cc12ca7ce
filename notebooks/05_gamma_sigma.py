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
# # Is γ/σ above one in trained networks?
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
# Claim 5 of {cite:t}`doan2026batch`: in networks trained with {term}`batch normalization` (BN)
# {cite}`ioffe2015batch`, {term}`γ/σ <gamma/sigma>` is above one in most channels. It matters because a gradient step
# {term}`raises a sample's own margin <margin growth>` by $(\gamma/\sigma)^2$ times what it would be without BN
# ([chapter 4](04_margin_growth.ipynb)): above one BN speeds fitting up, below one it slows it down.
#
# This chapter trains one network to take apart. Else it reads {term}`γ <gamma>` and {term}`σ <sigma>` of every BN
# channel from the networks of [chapter 1](01_forced_memorization.ipynb), after every epoch. The sign of $\gamma$
# does not matter, so the ratio is $|\gamma|/\sigma$; $\sigma = \sqrt{v + \varepsilon}$ is the running one, as in
# evaluation.

# %% [markdown]
# ## Parameters
#
# As in [chapter 1](01_forced_memorization.ipynb); equal values mean the same trained networks. A {term}`setting` is
# a combination of `dataset`, `arch`, `corruption` and `noise_rate`, in this order, that `only` names; a * stands
# for any.

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
dataset = ["mnist", "fashion_mnist", "cifar10"]  # one or more data sets
arch = ["lenet", "resnet8"]  # one or more networks
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
seeds = 3  # models a setting
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight


# %% [markdown]
# ## Setup

# %%
import pandas as pd
from IPython.display import Markdown

from bn_memorization import experiments, figures, figures_ratios, report, runs, trained_ratios
from bn_memorization.claims import CLAIMS
from bn_memorization.judging import judge
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
trained = runs.run_all(experiments.with_bn(parameters))
channels = trained_ratios.final_channels(trained)
report.trained(trained, profile)

# %% [markdown]
# ## Every channel at the end of training
#
# A dot is a channel. Each BN layer divides by the spread of what reaches it, and that depends on how many
# inputs its weights add up and how large these are. So layers need not agree.

# %% mystnb={"figure": {"caption": "The ratio $|\\gamma|/\\sigma$ of every BN channel after the last epoch, by layer, on a logarithmic axis; running $\\sigma$. A dot is a channel of one of the trained networks (at most 200 dots a layer), a bar the layer's median. Dashed: one.", "name": "fig-ratios-by-layer"}, "image": {"alt": "A panel for each setting: dots for the ratio of gamma to sigma of single channels above each batch normalization layer, with a bar at the median of the layer and a dashed line at one."}}
figures_ratios.ratios_by_layer(channels, profile)

# %% [markdown]
# **By layer, and over all layers.** Medians and shares are taken within a network, then averaged over the
# networks of all settings.

# %%
layers = trained_ratios.by_layer(channels)
layers["arch"] = layers["arch"].map(report.name)
layers = layers.rename(columns={"arch": report.name("arch")}).assign(profile=profile)
report.readable(layers).format(precision=2)

# %% [markdown]
# ## The share above one through training
#
# The claim is judged on all BN channels of a network together, after the last epoch. A layer with many
# channels weighs more than one with few. The unit is the trained network.

# %%
verdict = judge(CLAIMS["ratio_above_one"], trained_ratios.evidence(trained))

# %% mystnb={"figure": {"caption": "Share of all BN channels with $|\\gamma|/\\sigma$ above one, after each epoch. Thin lines: single networks. Thick line and band: mean over seeds and its 95 % t interval. Dashed: the claim's threshold.", "name": "fig-share-above-one"}, "image": {"alt": "A panel for each setting: the share of channels with gamma over sigma above one against epochs, single networks as thin lines, with a dashed line at the threshold."}}
shares = trained_ratios.share_curves(trained)
figures_ratios.share_curves(shares, verdict.claim.threshold, profile)

# %%
report.table(verdict, profile)

# %% [markdown]
# The curves begin after the first epoch: before it the running statistics are placeholders. The batch
# $\sigma$ of an untrained network can be measured, and $\gamma$ is one then, so the share that
# initialization gives is known too.
#
# **The share above one before and after training**, in the first network of each architecture. Before
# training with batch $\sigma$, later with the running one. A ResNet here starts with smaller weights in the last
# convolution of each branch, and the BN layers behind these have a smaller $\sigma$ for it; its second row leaves
# them out. The last column is at the end of training.

# %%
import torch

from bn_memorization import machine, train

starts = []
for run in {run.config.arch: run for run in reversed(trained)}.values():
    images, device = runs.dataset(run.config), torch.device(machine.device())
    untrained = train.new_model(run.config, images, device)
    x = train.draw(run.config, images, device).x
    starts.append(trained_ratios.start_and_end(run, untrained, x))
starts = pd.concat(starts, ignore_index=True).replace({"arch": report.NAMES})
starts = starts.rename(columns={"arch": report.name("arch")}).assign(n=1, profile=profile)
report.readable(starts).format(precision=2)

# %% [markdown]
# ## Running and batch sigma
#
# Evaluation divides by the {term}`running <running statistics>` $\sigma$, training by
# {term}`that of each batch <batch statistics>`. If the two differed much, the ratio that drives training would not
# be the one measured above. Here one network is made again, and its $\sigma$ is also measured on batches of its own
# training images.

# %%
model, sample = runs.trained_model(trained[0].config)
both = trained_ratios.running_and_batch(model, sample.x, batch_size)

# %% mystnb={"figure": {"caption": "Batch $\\sigma$, mean over the batches of the training images, against running $\\sigma$. A ring is a BN channel of one trained network; the dashed line is equality.", "name": "fig-running-batch-sigma"}, "image": {"alt": "Scatter plot on two logarithmic axes: sigma of the batches against running sigma, one ring for each channel, with the diagonal of equality."}}
figures.scatter_identity(
    both,
    "running",
    "batch",
    xlabel=r"running $\sigma$",
    ylabel=r"batch $\sigma$",
    log=True,
    profile=profile,
    note=f"n = {len(both)} channels",
)

# %% tags=["remove-input"]
Markdown(trained_ratios.agreement(both, trained[0].config, profile))

# %% [markdown]
# ## The ratio is not a property of the function
#
# Multiply the weights and the bias before a BN layer by $c$. Then $\mu$ and $\sigma$ are $c$ times what they
# were, $z = (u - \mu)/\sigma$ is the same, and the layers behind see no change. But $\gamma/\sigma$ is divided
# by $c$. Below this is done to all layers of the trained network from above that feed BN directly: running
# means times $c$, running variances and $\varepsilon$ times $c^2$. The powers of two are exact in floating
# point, so not one bit of the outputs may change.

# %%
test_x, test_y = (part[:1000] for part in sample.subsets["test"])
factors = [0.25, 0.5, 1, 2, 4]
scaled = trained_ratios.rescalings(model, test_x, test_y, factors)
digits = dict.fromkeys(scaled.columns, "{:.4g}")
report.readable(scaled.assign(profile=profile)).format(digits)

# %% [markdown]
# **With $\varepsilon$ as it was.** In practice $\varepsilon$ is a constant of the layer and does not scale. Then
# $\sigma$ is $c\sqrt{v + \varepsilon/c^2}$, and outputs change as far as $\varepsilon$ is felt beside the
# variance.

# %%
kept = trained_ratios.rescalings(model, test_x, test_y, factors, scale_eps=False)
report.readable(kept.assign(profile=profile)).format(digits)

# %% [markdown]
# So a claim about the size of $\gamma/\sigma$ is also a claim about the size of the weights, which the loss
# does not fix. It can change with the initialization, the learning rate and the weight decay.
# [A page of its own](06b_reparametrization.ipynb) repeats this chapter with a ratio that no rescaling moves.

# %% [markdown]
# ## What could be wrong
#
# - **The ratio depends on a scale that no output shows**, as above. A network with another initialization
#   may compute the same at another ratio.
# - **Initialization sets the share that training starts from.** A LeNet here has the default initialization of
#   torch, whose small weights make $\sigma$ small; a ResNet has He's, with the last convolution of each branch
#   scaled by one over the root of the number of blocks, which is our choice for the sake of the plain arm. The
#   table before and after training says how much of the share was there from the start.
# - **Most channels are in few layers.** The share over all channels follows the widest layers. The table by
#   layer shows what the others do.
# - **Channels are not independent.** The {term}`interval` is over trained networks, each with one share; it is cut
#   at 0 and 1.
# - **Settings are not independent.** Settings of a data set share {term}`seeds <seed>` and with them images and
#   initial weights, so that several that agree are less evidence than as many independent ones.
# - **A ratio above one is not memorization.** The factor of chapter 4 compares one step of two networks with
#   the same readout; it does not say where training ends.

# %% [markdown]
# ## Differences from the paper
#
# - We know the paper's claim, not which networks, layers or moment it was measured on. Here it is the end of
#   training, all BN layers, with the running $\sigma$.
# - The networks are those of chapter 1, with its sizes, settings and initialization, which are ours. We do not
#   know the paper's initialization, and the share depends on it.

# %% [markdown] tags=["try-it"]
# ## Try it

# %% tags=["remove-cell"]
report.publish([verdict], trained_ratios.answer(verdict, starts, scaled), profile)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance(trained)
