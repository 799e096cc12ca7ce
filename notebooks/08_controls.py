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
# # Is it batch normalization, or only more training?
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
# {cite:t}`doan2026batch` compare networks with {term}`batch normalization` (BN) {cite}`ioffe2015batch` and without.
# BN also speeds up training, on {term}`clean samples <clean sample>` too. After equal epochs a {term}`plain`
# network may just be earlier on the same path, and any gap between the two is then a gap in training. This chapter
# asks two things of the gaps in [memorization](01_forced_memorization.ipynb),
# [gradient norms](02_gradient_norms.ipynb) and [membership inference](03_membership_inference.ipynb):
#
# - **What is left where both {term}`arms <arm>` have {term}`trained equally far <equal training>`?** Equally far is
#   read in four ways: a learning rate tuned for each arm, the same loss on clean training images, the same test
#   accuracy, and a run so long that both arms have fitted their training images.
# - **Which part of BN does it?** {term}`Group norm` {cite}`wu2018group` and {term}`layer norm` {cite}`ba2016layer`
#   normalize without a batch; a scale and shift alone normalizes nothing; BN with $\gamma$ fixed learns no scale;
#   BN with its statistics as constants passes no gradient through them.

# %% [markdown]
# ## Parameters
#
# A {term}`setting` is a combination of `dataset`, `arch` and `noise_rate`. The {term}`shadow models <shadow model>`
# of the parameters from `pool_dataset` to `outlier_rate` are the LeNets of
# [chapter 3](03_membership_inference.ipynb).

# %% tags=["parameters"]
profile = "quick"  # name of the set of parameters that this run started from
dataset = ["mnist"]  # one or more data sets
arch = ["lenet"]  # one or more networks, with every norm
noise_rate = [0.05]  # shares of the training labels that are flipped
source = "embedded"  # embedded: the part in this repository; auto: the full sets
train_size = 800  # training images a model, drawn anew by each seed
eval_size = 200  # clean and test images that each curve is measured on
epochs = 8  # passes over the training images, of all but the long runs
longer = 4  # how many times as long the long runs are
batch_size = 32  # images a step
seeds = 3  # models of each kind
optimizer = "sgd"  # sgd or adam
lr = 0.02  # learning rate, the same for all arms but where it is tuned
rival_lr = [0.005, 0.05]  # learning rates to choose from beside it
momentum = 0.9  # of sgd
weight_decay = 0.0  # added to the gradient, times the weight
norms = ["batch_fixed_gamma", "batch_cut", "affine", "group"]  # beside BN and plain
batch_sizes = [16, 64]  # images a step, beside batch_size
pool_dataset = ["fashion_mnist"]  # of the shadow models of chapter 3
pool_size = 1000  # images; each model trains on a random half of them
pool_eval_size = 500  # test images that accuracy is measured on
pool_epochs = 20  # passes over a model's half of the pool
pool_batch_size = 16  # images a step
moments = 10  # times during training that the models are attacked
n_models = 12  # models a pool and arm, each attacked in turn; even, at least 6
outlier_rate = [0.0, 0.01, 0.05]  # shares of the pool that are flipped
seed = 0  # of all pools
small_pool_size = 300  # images of the small pools, where every norm is attacked, after every epoch
small_models = 8  # models a small pool and norm


# %% [markdown]
# ## Setup
#
# The long runs hold the short ones: after `epochs` epochs they are, to the bit, what a shorter run would have
# been. So the comparison at equal epochs, both matched ones and the long run read the same models.

# %%
from IPython.display import Markdown

from bn_memorization import (
    control_gates,
    control_runs,
    controls,
    figures,
    figures_controls,
    matched_attack,
    norm_controls,
    report,
    runs,
    tuning,
)
from bn_memorization import control_tables as tables
from bn_memorization import membership as mia
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import judge
from bn_memorization.parameters import assigned

figures.use_style()
parameters = assigned(globals())
long = runs.run_all(control_runs.long_runs(parameters))
other_rates = runs.run_all(control_runs.rates(parameters))
other_norms = runs.run_all(control_runs.norms(parameters))
other_sizes = runs.run_all(control_runs.batch_sizes(parameters))
shadows = runs.run_all(control_runs.claim_pools(parameters))
small = runs.run_all(control_runs.small_pools(parameters))
short = [controls.until(run, epochs) for run in long]
trained = [*long, *other_rates, *other_norms, *other_sizes]
report.trained(trained, profile)

# %% [markdown]
# ## A learning rate for each arm
#
# Both arms get the same number of runs to find a rate. The rate that is judged on a {term}`seed` is chosen on the
# other seeds: the one with the highest test accuracy after the last epoch there, on average. The rule looks at no
# {term}`corrupted sample`. The table holds a second rule, the lowest clean loss, beside it. The spread is the
# standard deviation over seeds of the accuracy on test: rates that differ by less are not told apart.

# %%
rates = tuning.rates([*short, *other_rates])
tables.rates(rates, profile)

# %% tags=["remove-input"]
Markdown(f"{tables.at_edge(rates)} Profile: {profile}.")

# %% [markdown]
# ## What is left of each gap
#
# A matching names, for each pair of models of the same seed, one moment of each arm:
#
# - **Equal epochs**: the last of the short run, as in the paper's claims.
# - **Learning rates tuned**: the same, each arm at its own rate.
# - **Equal clean loss**: the first time that each arm's loss on clean training images was down to the higher of
#   their two last ones. For the attack these are the members that are no outliers. Between two measurements
#   everything is read on straight lines against the loss, or on lines against its log. For the attack the gaps at
#   the looks before and after stand beside it.
# - **Equal test accuracy**: the first time that each arm's test accuracy was up to the lower of their two best.
# - **Long run**: the last epoch of the long run.
#
# The accuracy and the loss on corrupted samples are read at that moment.
# {term}`Gradient norms <per-sample gradient norm>` ({term}`running mode <running statistics>`) are taken as each
# sample's mean over training up to it, and compared by {term}`Cliff's delta` within a pair; a mean, so that an arm
# does not gain by taking longer. Clean samples are compared in the same way, for what BN does to any sample's
# gradient: a gap that they have too is none of {term}`memorization`.
#
# The attack is {term}`LiRA` (online, {term}`pooled variance`) on the small {term}`pools <pool>`, whose unit is a
# {term}`complementary pair` of models; it was not run at other rates.

# %%
tuned = tuning.tuned([*short, *other_rates])
pools = mia.pools(small)
small_pairs = mia.paired(pools, "batch")
of_small = matched_attack.of_pools(small_pairs, epochs)
values = controls.of_runs(long, tuned, "batch", epochs)
shares = controls.shares_left(controls.joined(values, of_small))

# %% mystnb={"figure": {"caption": "Gaps between BN and the plain network under every matching, with 95 % t intervals over seeds, and for the attack over pairs of models. From left: accuracy on corrupted samples, BN minus plain; their loss, plain minus BN; Cliff's delta of gradient norms, BN over plain, in gray squares that of clean samples; AUC of the attack on the small pools, BN minus plain. An empty row was not measured. Dashed: no gap.", "name": "fig-matched-gaps"}, "image": {"alt": "Four interval plots side by side with one row for each way to match the arms: the gap in accuracy on corrupted samples, in their loss, in gradient norms and in AUC of the membership attack, each with a dashed line at zero."}}
figures_controls.matchings(shares, profile)

# %% [markdown]
# The share is the gap under a matching over the gap at equal epochs, both {term}`paired by unit <paired gap>`, with
# Fieller's {term}`interval`. Where the gap at equal epochs is not itself clear of zero a share has no meaning, and
# none is given.

# %%
tables.left(shares, profile)

# %% tags=["remove-input"]
Markdown(f"{tables.clear(shares)} {tables.how_far(long)} Profile: {profile}.")

# %% [markdown]
# Where both arms have {term}`fitted` nearly all corrupted samples, a gap in how many they fit cannot be there: then
# the arms differ in when, and no longer in whether. There the long run has no {term}`verdict`.

# %% [markdown]
# ## Membership inference, in chapter 3's own setting
#
# The claims about {term}`membership inference` name shares of {term}`outliers <outlier>`. Here are the shadow
# models that decide them in [chapter 3](03_membership_inference.ipynb), read after equal epochs, at equal loss on
# clean {term}`members <member>` and at equal test accuracy. They were attacked at some epochs only. Where BN passes
# the plain network's loss between two looks, the line between them is read; the rows of the looks before and after
# say how much hangs on it.

# %%
claimed = mia.pools(shadows)
of_claims = matched_attack.of_pools(mia.paired(claimed, "batch"), pool_epochs)
tables.left(controls.shares_left(of_claims), profile)

# %% [markdown]
# ## Which part of BN
#
# All norms share images, flips, initial weights, order of batches and learning rate. {term}`γ/σ <gamma/sigma>` is
# the median over channels of $|\gamma|/\sigma$ at the end. The {term}`AUC` is of other networks than the columns
# beside it: those of the small pools, after as many epochs, with `pool_batch_size` images a step.

# %%
side_by_side = [*short, *other_norms]
standings = norm_controls.standings(side_by_side, pools, "batch")
tables.standings(standings, profile)

# %% mystnb={"figure": {"caption": "Gaps in accuracy on corrupted samples with 95 % t intervals over seeds. Left: each norm minus the plain network. Right: BN minus each norm. Black dots: after equal epochs. Gray squares: at equal clean training loss. A row without a gap says why. Dashed: no gap.", "name": "fig-norm-controls"}, "image": {"alt": "Two interval plots with one row for each kind of normalization: its gap in accuracy on corrupted samples to the plain network, and the gap of batch normalization to it, after equal epochs and at equal clean training loss, with a dashed line at zero."}}
figures_controls.norm_gaps(standings, profile)

# %%
tables.norm_gaps(standings, profile)

# %% [markdown]
# BN with its statistics as constants is a network that gradient descent does not handle: a step may move weights in
# a direction that the normalization then undoes, so that they grow and the loss does not fall
# {cite}`ioffe2015batch`. Where it has not learned the clean samples it says nothing about memorization. So a
# {term}`control` has no verdict, and the figure and the table no gap, where the mean clean accuracy of one of its
# two norms is below 90 %. This bound was set after a pilot run in which that network had not learned the clean
# samples.

# %% [markdown]
# ## The size of the batches
#
# With more images a step, a run of as many epochs has fewer steps; the learning rate stays what it is. So from left
# to right the networks are also trained less, in both arms, and the gap at one size is not that at another.

# %% mystnb={"figure": {"caption": "Accuracy after the last epoch against images a step, mean over seeds with 95 % t intervals, cut at 0 and 100 %. Left: corrupted samples, against the label they were given. Right: clean training samples. Epochs and learning rate are the same throughout; the number of steps is not.", "name": "fig-batch-sizes"}, "image": {"alt": "Two line charts of accuracy at the end of training against batch size on a logarithmic axis, on corrupted and on clean samples, for networks with batch normalization and plain ones, with bars for the 95 percent intervals."}}
figures_controls.batch_sizes([*short, *other_sizes], profile)

# %% [markdown]
# ## Verdicts
#
# Each control was declared with its threshold in `control_claims.py`, which reads no result. Runs of single seeds,
# made to find sizes that fit the time, had been seen then. A control has no interval, and so no verdict, where an
# arm has not learned the clean samples, where both have fitted nearly all corrupted ones, and where lines against
# the loss and against its log would give different verdicts. The column beside the interval says so.

# %%
quantity = {
    "matched_loss": controls.ACCURACY,
    "matched_corrupted_loss": controls.CORRUPTED_LOSS,
    "matched_gradient": controls.GRADIENT,
}
matching = {"matched_tuned": controls.TUNED, "matched_test": controls.TEST}
found = {key: controls.evidence(values, how, controls.ACCURACY) for key, how in matching.items()}
found |= {
    key: control_gates.at_equal_loss(CONTROLS[key], values, what) for key, what in quantity.items()
}
fitted = controls.evidence(values, controls.LONG, controls.ACCURACY)
found["matched_fitted"] = control_gates.long_runs(fitted, long, "batch")
matched = [judge(CONTROLS[key], items) for key, items in found.items()]

# %% tags=["full-width"]
attacked = matched_attack.attack_verdicts(of_claims)
late = controls.evidence(of_small, controls.LONG, controls.AUC)
late = control_gates.long_pools(late, small_pairs)
attacked.append(judge(CONTROLS["fitted_attack"], late))
parts = [
    judge(CONTROLS[key], norm_controls.against(side_by_side, *pair))
    for key, pair in norm_controls.COMPARED.items()
    if set(pair) <= {run.config.norm for run in side_by_side}
]
sizes = norm_controls.by_batch_size([*short, *other_sizes], "batch")
parts.append(judge(CONTROLS["batch_sizes"], sizes))
verdicts = [*matched, *attacked, *parts]
tables.verdicts(verdicts, profile)

# %% [markdown]
# ## What could be wrong
#
# - **A matching is a choice.** Clean loss, test accuracy and epochs are different measures of how far a network has
#   come, and no one of them is the right one. What depends on the choice is not decided.
# - **What lies between two measurements is read on lines.** Curves are measured after every epoch, and so are the
#   small pools; the shadow models of chapter 3 are attacked some epochs apart. Early in training a network moves far
#   between two of these, and where the faster arm passes the target there, the line decides. Both kinds of lines
#   stand in the table, and where they give different verdicts there is none. That two lines agree does not show
#   that the curve between two looks lies near them; the gaps at the looks before and after bound it only if the
#   curve rises or falls throughout.
# - **Few learning rates, and the same test images.** The best rate of an arm may lie between or beyond those tried,
#   and rates that differ by less than the spread are not told apart. The rates are chosen, and equal test accuracy
#   is read, on the same test images; the seeds differ, the images do not.
# - **A gradient norm is of the parameters there are.** With BN a network has other parameters and another scale, and
#   its norms differ before any training. Equal training does not take that away. The gap of clean samples at the
#   same moments says how much of it any sample has.
# - **A matched moment lies where the slower arm ended.** In a run of few epochs that is early. The long run shows
#   the other end.
# - **The long run may still be too short, or too long.** The sentence under the table says how far each arm got.
# - **A long run of small batches does not settle.** With momentum a network can lose samples that it had fitted.
# - **Few seeds, one pool.** Intervals cover seeds or halves of one pool, not other images or schedules. With so many
#   gaps some intervals lie off zero by chance.
# - **One learning rate for all norms.** A norm that needs another rate looks worse than it is, and the batch sizes
#   differ in the number of steps.

# %% [markdown]
# ## Differences from the paper
#
# - The paper compares at equal training schedules, as far as we know; matchings, norms and sizes are ours.
# - Networks, schedules and pools are ours, as in chapters 1 to 3. The training sets here are smaller than there, so
#   that both arms can fit all of theirs.

# %% [markdown] tags=["try-it"]
# ## Try it

# %% tags=["remove-cell"]
fixed = controls.evidence(values, controls.FIXED, controls.ACCURACY)
report.publish(verdicts, tables.answer(fixed, verdicts), profile)

# %% [markdown] tags=["made-by"]
# ## How this page was made

# %% tags=["remove-input"]
report.provenance([*trained, *shadows, *small])
