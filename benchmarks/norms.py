"""Per-sample gradient norms in running mode, against three other ways to them."""

import copy
import functools
import warnings
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from benchmarks import measure
from bn_memorization import data, models
from bn_memorization.gradnorm import CHUNK, per_sample_norms
from bn_memorization.report import name

SAMPLES = 1024
LOOPED = 128  # samples that the loop does; its time is scaled
NETWORKS = {"lenet": "mnist", "resnet8": "cifar10"}


def problem(arch: str, norm: str, samples: int) -> tuple[nn.Module, Tensor, Tensor]:
    """Return a network in eval mode, with images and labels of the subset that comes along."""
    images = data.load(NETWORKS[arch], "embedded")
    model = models.build(
        arch, norm, in_channels=images.channels, image_size=images.image_size, classes=10, seed=0
    )
    x = torch.from_numpy(data.normalize(images.train.images[:samples], images))
    y = torch.from_numpy(images.train.labels[:samples].astype(np.int64))
    with torch.no_grad():
        model.train()(x[:256])  # running statistics that are not those at the start
    return model.eval(), x, y


def ours(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the norms, float64[N]."""
    return per_sample_norms(model, x, y, bn_mode="running")


def passes(model: nn.Module, x: Tensor, y: Tensor) -> None:
    """Do one forward and one backward pass of the whole batch."""
    torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))


def vmapped(model: nn.Module, x: Tensor, y: Tensor, chunk: int | None = None) -> np.ndarray:
    """Return the same by torch.func: every sample's gradient, and its norm."""
    state = {k: v.detach() for k, v in model.named_parameters()}
    buffers = dict(model.named_buffers())

    def loss(state: dict, one: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(model, (state, buffers), one[None])
        return F.cross_entropy(logits, label[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0), chunk_size=chunk)(state, x, y)
    return _norms(found.values())


def hooked(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the same by the hooks of Opacus, which refuses BN."""
    for parameter in model.parameters():
        parameter.grad = parameter.grad_sample = None
    # Hooks want an input with a gradient, or torch warns; nobody reads it.
    F.cross_entropy(model(x.detach().requires_grad_()), y, reduction="sum").backward()
    return _norms([parameter.grad_sample for parameter in model.parameters()])


def with_hooks(model: nn.Module) -> nn.Module:
    """Return a copy of the model that has Opacus' hooks, which watch in train mode alone."""
    from opacus import GradSampleModule

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GradSampleModule(copy.deepcopy(model), loss_reduction="sum").train()


def looped(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the same sample by sample, each a batch of one."""
    parameters = list(model.parameters())
    rows = []
    for one, label in zip(x.split(1), y.split(1), strict=True):
        found = torch.autograd.grad(F.cross_entropy(model(one), label), parameters)
        rows.append(_norms([g[None] for g in found]))
    return np.concatenate(rows)


def _norms(gradients) -> np.ndarray:
    squares = [g.flatten(1).double().square().sum(1) for g in gradients]
    return torch.stack(squares).sum(0).sqrt().numpy()


def prepare(arch: str, way: str, samples: int):
    """Return the work whose peak memory is measured in a process of its own."""
    model, x, y = problem(arch, "batch", samples)
    call = {"ours": ours, "vmap": vmapped}[way]
    call(model, x[:2], y[:2])  # what is set up at the first call is no part of it
    return lambda: call(model, x, y)


def of_network(arch: str, samples: int, looped_samples: int, repeats: int) -> list[dict]:
    """Return the lines of one network."""
    model, x, y = problem(arch, "batch", samples)
    grouped, *_ = problem(arch, "group", samples)
    hooks = with_hooks(grouped)
    few = x[:looped_samples], y[:looped_samples]
    works = {
        "ours": functools.partial(ours, model, x, y),
        "vmap": functools.partial(vmapped, model, x, y),
        "loop": functools.partial(looped, model, *few),
        "ours, group": functools.partial(ours, grouped, x, y),
        "hooks": functools.partial(hooked, hooks, x, y),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, found = measure.side_by_side(works, repeats)
    # The counter cannot follow ours; the plain passes need as many operations.
    own = measure.of_product(functools.partial(passes, model, x, y), min(seconds["ours"]))
    what = f"per-sample norms, {name(arch)}, N = {samples:,}"

    def line(against, mine, other, target, **more):
        wanted = found[other]
        error = measure.relative(found[mine][: len(wanted)], wanted)
        return measure.compared(
            what, against, seconds[mine], seconds[other], target=target,
            error=error, tolerance=1e-5, **own, **more,
        )  # fmt: skip

    return [
        line("torch.func.vmap(grad)", "ours", "vmap", 3),
        line("Opacus hooks, both on the group-norm network", "ours, group", "hooks", 3),
        line("a loop over samples", "ours", "loop", 15, scale=samples / looped_samples),
    ]


def activations(model: nn.Module, x: Tensor) -> int:
    """Return the bytes of all layers' outputs."""
    sizes = []
    hooks = [
        layer.register_forward_hook(lambda _, __, output: sizes.append(output.nbytes))
        for layer in model.modules()
        if not list(layer.children())
    ]
    model(x)
    for hook in hooks:
        hook.remove()
    return sum(sizes)


def run(
    samples: int = SAMPLES, looped_samples: int = LOOPED, repeats: int = measure.REPEATS
) -> Iterator[dict]:
    """Return the lines of both networks, and peak memory on the ResNet."""
    for arch in NETWORKS:
        yield from of_network(arch, samples, looped_samples, repeats)
    own, other = measure.peak_bytes(
        "norms", *(("resnet8", way, samples) for way in ("ours", "vmap"))
    )
    model, x, _ = problem("resnet8", "batch", CHUNK)
    yield measure.sizes(
        f"the same, growth of peak memory, resnet8, N = {samples:,}", "torch.func.vmap(grad)",
        own, other, target=2, limit="pass", of_limit=own / activations(model, x),
    )  # fmt: skip
