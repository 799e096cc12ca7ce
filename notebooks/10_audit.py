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
# # What does a network of your own give away?
#
# :::{admonition} Answer
# :class: answer
#
# ```{glue:md} answer
# :format: myst
# ```
# :::

# %% [markdown]
# ## Why this chapter
#
# The claims of {cite:t}`doan2026batch` are about networks that were chosen to test them. This chapter asks
# the same questions of a network and images that you name: how large is {term}`γ/σ <gamma/sigma>`
# {cite}`ioffe2015batch`, whose gradients are large, and how well does the likelihood-ratio attack ({term}`LiRA`)
# {cite}`carlini2022membership` tell {term}`who was trained on <membership inference>`?
#
# Without a name it audits a small network on images that come with this book, and plants wrong labels among
# them, so that what the audit should find is known.

# %% [markdown]
# ## Parameters
#
# A relative path counts from the repository.

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
model = "bn_memorization.audit_example.small_net"  # a factory, package.module.name
weights = "none"  # a state dict that torch.save wrote, or none
images = "embedded:fashion_mnist"  # that, or a folder or .npz file
pool_size = 400  # at most so many of the images, drawn at random
image_size = 0  # pixels that all images are resized to; 0: as they are
num_classes = 0  # outputs of the network; 0: as many as the images have classes
scaling = "standard"  # of the pixels: standard, unit or imagenet
planted_rate = 0.05  # share of labels flipped on purpose; 0 for images of your own
n_models = 12  # shadow models; even, at least 6
epochs = 12  # passes over a shadow model's half of the images
batch_size = 16  # images a step
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight
seed = 0  # of the images drawn, the flips, the halves and all models
shown = 16  # images shown, those with the largest gradients

# %% [markdown]
# ## Setup
#
# **What it takes.** A factory is a function that returns a `torch.nn.Module` when it is called with
# `num_classes=`, as `torchvision.models.resnet18` does; in a file of your own it is found when the file's
# folder is on `PYTHONPATH`. Images have three channels, and gray is repeated to three. An `.npz` file holds
# `x` as uint8 `[N, H, W]` or `[N, H, W, C]`, `y` as integers `[N]`, and may hold `member` as bool `[N]`: who
# was trained on. A saved network must be given the scaling that it was trained with.
#
# **What it refuses.** Pickles in any form: arrays of objects, whole modules, checkpoints with more than
# tensors. A state dict is read with `weights_only=True`. Weights that do not fit, wrong shapes, too few
# images and networks without parameters stop it before anything is trained, with a sentence that says why.
#
# **What it runs.** Importing the factory's module runs the code in it, with all your rights. Name only code
# that you trust; a state dict from elsewhere is safe to name, the code of a network from elsewhere is not.

# %%
from IPython.display import Markdown

from bn_memorization import audit, audit_runs, figures, figures_audit, report, runs
from bn_memorization import audit_sentences as told
from bn_memorization import audit_tables as tables
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
configs = audit_runs.configs(parameters)
shadows = runs.run_all(configs)
pool = audit_runs.images(configs[0])
saved = audit_runs.saved(parameters, pool)
audited = audit.stack(shadows)
verdicts = audit.verdicts(audited, told.where(configs[0]))
tables.given(configs[0], pool, saved, profile)

# %% [markdown]
# From these images each {term}`shadow model` trains on a random half, from scratch and with the settings above. They
# come in {term}`complementary pairs <complementary pair>`: what one trained on, the other did not.

# %% [markdown]
# ## γ/σ
#
# The ratio $|\gamma|/\sigma$ is by how much a channel stretches its input, with the
# {term}`running <running statistics>` $\sigma$. By the paper it is above one in most channels of trained networks.
# Scaling the weights before a channel changes it and no output ([chapter 5](05_gamma_sigma.ipynb)), so it describes
# a network and does not convict it.

# %% mystnb={"figure": {"caption": "The ratio of scale to standard deviation of every batch normalization channel after training. Dots: channels of the shadow models; bars: a layer's median; crosses: the saved network, if one was given. Dashed: one. Where a layer has more dots than the axis says, every k-th in order of size is drawn, and of its crosses likewise; medians are of all.", "name": "fig-audit-ratios"}, "image": {"alt": "Dots for channels on a logarithmic axis, one column for each batch normalization layer, with a bar at each layer's median and a dashed line at one."}}
figures_audit.ratios(audited, None if saved is None else saved.ratio, profile)

# %%
from bn_memorization import audit_network
from bn_memorization.ratios import bn_layers

names = bn_layers(audit_network.build(model, len(pool.classes), seed))
tables.ratios(audited, saved, list(names), profile)

# %% [markdown]
# ## Whose gradients are large
#
# The {term}`norm of an image's gradient <per-sample gradient norm>` says how hard it pulls at all weights. Here it
# is taken in running mode after training, so that an image's gradient is its own. A {term}`member` that still has a
# large one is {term}`fitted` poorly: a rare image, a hard one, or one with a wrong label.

# %% tags=["remove-input"]
Markdown(f"{told.how_measured(audited)} {told.planted(audited, verdicts)} Profile: {profile}.")

# %% mystnb={"figure": {"caption": "Share of images whose gradient norm, in running mode after training, is below a value, all shadow models together. Members with labels flipped on purpose have a line of their own, if there are any; other images with such labels are left out.", "name": "fig-audit-norms"}, "image": {"alt": "Cumulative curves of gradient norms on a logarithmic axis: one for members, one for members with planted wrong labels, one for images that were not trained on."}}
figures_audit.norms(audited, profile)

# %% [markdown]
# The next picture shows the largest. Without a saved network an image's place is the mean of its places among
# the members, over the shadow models that trained on it; with one, its place among all images in that network.

# %%
place = audit.prominence(audited) if saved is None else audit.percentile(saved.norm)
rows = place.argsort(kind="stable")[::-1][:shown]

# %% mystnb={"figure": {"caption": "The images with the largest gradients, each under its label in training and the share of images whose gradient is no larger. Thick frame: the label was flipped on purpose.", "name": "fig-audit-largest"}, "image": {"alt": "Sheet of small images, each with a label and a percentage; those with a label flipped on purpose have a thick orange frame."}}
figures_audit.largest(pool, audited, place, rows, profile)

# %% [markdown]
# The table names them. *So predicted unseen* is the share of shadow models not trained on the image that predict
# its label: where it is low, look at the label first.

# %%
tables.largest(pool, audited, place, rows, profile)

# %% [markdown]
# ## Who was trained on
#
# LiRA, online with {term}`pooled variance`, attacks each shadow model in turn, with the other pairs as its shadows
# ([chapter 3](03_membership_inference.ipynb) has the details). Here membership is known. The answer is about
# networks of this kind, trained with these settings on that many images.
#
# Members and others are told apart among the images with the label that they came with. Labels flipped on purpose are
# no part of the question and easier to tell, so they are left out; the shadow models have trained on them all the same,
# and the {term}`AUC` with them stands beside.

# %% mystnb={"figure": {"caption": "Members found against others called members, by the likelihood-ratio attack, without labels flipped on purpose. Thin: each shadow model attacked; thick: their mean; dashed: the saved network, if one and its members were given. Dotted: guessing.", "name": "fig-audit-attack"}, "image": {"alt": "ROC curves on logarithmic axes: a thin line for each shadow model and a thick one for their mean, above a dotted line for guessing."}}
own = saved and audit.of_saved(audited, saved.phi, pool.member)
figures_audit.attack(audited, own, profile)

# %%
tables.leakage(audited, profile)

# %% tags=["remove-input"]
Markdown(f"{told.saved_attack(audited, pool, saved)} Profile: {profile}.")

# %% [markdown]
# ## The verdict on one page

# %% tags=["remove-input"]
Markdown(f"{told.page(audited, pool, saved, verdicts)}\n\nProfile: {profile}.")

# %% [markdown]
# The two {term}`controls <control>` bear on no claim of the paper. Their {term}`intervals <interval>` are over
# complementary pairs of attacked models, cut where no AUC and no share can lie. Points of AUC above guessing, first
# of the attack, then of the gradient norm for labels flipped on purpose, if there are any. The second speaks of
# networks that have not fitted all labels; where they have, it has no verdict.

# %% mystnb={"figure": {"caption": "AUC above one half, in points, with 95 % t intervals over complementary pairs of shadow models, cut at what an AUC can be: the attack, and the gradient norm for labels flipped on purpose where there are any. Dashed: guessing.", "name": "fig-audit-verdicts"}, "image": {"alt": "Interval plots of AUC above guessing in points, a panel for the attack and one for planted labels, with a dashed line at zero."}}
figures.forest(verdicts, [100] * len(verdicts), tables.units(verdicts), profile)

# %%
tables.verdicts(verdicts, profile)

# %% [markdown]
# ## What could be wrong
#
# - **Shadow models are not your network.** They train on half of these images, with the settings above and no
#   augmentation. A network trained on more images, or for fewer passes, gives less away.
# - **A saved network trained otherwise.** Its {term}`margins <margin>` can lie elsewhere than those of all shadow
#   models. That moves members and others alike and leaves their order, but weakens the attack. No leak found is no
#   proof.
# - **The images must be like those it was trained on.** Where members and others come from different sources,
#   the attack can tell the sources apart and not membership. Marks of members are taken on trust.
# - **A network that has fitted everything.** Once every label is fitted, gradients are small for all, and the
#   wrong labels may no longer stand out. The default images and passes were chosen after a pilot on CIFAR-10 had
#   shown just that, so the control on planted labels asks only of networks that have not fitted all labels.
# - **Too few steps.** In evaluation mode a network divides by running statistics. After a handful of steps these
#   have not settled, and margins and gradients say little. The accuracies in the table show it.
# - **One set of images.** The interval covers halves and initial weights, not other images.
# - **Code beyond one file.** Records are filed under the images, the settings, the versions of torch and
#   torchvision and the file that defines the factory. What that file imports is not watched: when it changes,
#   delete the records of kind `audit`.

# %% [markdown]
# ## Differences from the paper
#
# The paper has no audit. The attack and its signal are those of [chapter 3](03_membership_inference.ipynb), the
# norms those of [chapter 2](02_gradient_norms.ipynb), the ratio that of [chapter 5](05_gamma_sigma.ipynb).

# %% [markdown] tags=["try-it"]
# ## Try it
#
# - `images=path/to/folder image_size=64 planted_rate=0`: your own images.
# - `weights=path/to/weights.pt planted_rate=0`: your own network's γ/σ, and the images with its largest gradients. If the
#   `.npz` file marks members, it is attacked too.
#
# ```bash
# PYTHONPATH=my/code make chapter CHAPTER=10_audit \
#   PARAMS="model=my_networks.make images=my/images.npz planted_rate=0"
# ```

# %% tags=["remove-cell"]
report.publish(verdicts, told.answer(configs[0], audited, verdicts), profile)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance(shadows)
