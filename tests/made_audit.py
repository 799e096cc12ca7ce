"""What a reader might bring to an audit, good and bad: networks, files of images, weights."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from PIL import Image
from torch import nn
from torch.nn import functional as F

from bn_memorization.audit import Audited
from bn_memorization.audit_input import Images
from bn_memorization.audit_runs import AuditConfig, Saved
from bn_memorization.masks import paired_masks

NET, PLAIN, GROUPED = "made_audit.net", "made_audit.plain", "made_audit.grouped"
CLASSES, SIZE = 3, 8
NOT_A_FUNCTION = 5
NO_RATIO = {"ratio": np.zeros((8, 0)), "bn_layer": np.zeros(0, int)}  # of `audited`
CONFIG = AuditConfig(
    factory="package.module.make",
    code_sha256="0123456789abcdef",
    versions="",
    model=0,
    images="mine.npz",
    pool_size=80,
    image_size=0,
    num_classes=0,
    scaling="unit",
    planted_rate=0.1,
    seed=0,
    epochs=1,
    batch_size=2,
    optimizer="sgd",
    lr=0.1,
    momentum=0.0,
    weight_decay=0.0,
)


def net(num_classes: int) -> nn.Module:
    """Return a small network with one BN layer."""
    layers = [nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(4 * SIZE * SIZE, num_classes))


def plain(num_classes: int) -> nn.Module:
    """Return a network without BN."""
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, num_classes))


def grouped(num_classes: int) -> nn.Module:
    """Return a network with a layer that has no per-sample rule."""
    layers = [nn.Conv2d(3, 6, 3, groups=3), nn.BatchNorm2d(6), nn.Dropout(0.5), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(6 * (SIZE - 2) ** 2, num_classes))


class Twice(nn.Module):
    """A layer's weight is used outside of the layer too, where no hook sees it."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 4)

    def forward(self, x):
        return self.last(x) + F.linear(x, self.last.weight)


def empty(num_classes: int) -> nn.Module:
    """Return a network without parameters."""
    return nn.Sequential(nn.Flatten(), nn.AdaptiveAvgPool1d(num_classes))


def frozen(num_classes: int) -> nn.Module:
    """Return a network none of whose parameters is trained."""
    return plain(num_classes).requires_grad_(False)


def lazy(num_classes: int) -> nn.Module:
    """Return a network whose shapes are not known yet."""
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(num_classes))


def wordy(num_classes: int) -> nn.Module:
    """Return a network with more outputs than classes."""
    return plain(num_classes + 1)


def list_of(num_classes: int) -> list:
    """Return no network."""
    return [num_classes]


def positional(classes: int) -> nn.Module:
    """Return a network, but without the keyword."""
    return plain(classes)


def arrays(n: int = 60, **changes) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file: the brightest third of an image is its label."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % CLASSES)
    x = rng.integers(0, 100, (n, SIZE, SIZE, 3), np.uint8)
    for image, label in zip(x, y, strict=True):
        image[..., label] += 150
    return {"x": x, "y": y} | changes


def npz(path: Path, **changes) -> str:
    """Write an .npz file; return its path as a reader types it."""
    np.savez_compressed(path, **arrays(**changes))
    return str(path)


def folder(path: Path, n: int = 60) -> str:
    """Write the same images as PNG files, one folder a class; return the path."""
    made = arrays(n)
    for number, (image, label) in enumerate(zip(made["x"], made["y"], strict=True)):
        place = path / f"kind {label}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number:03}.png")
    return str(path)


def forged(path: Path, shape: tuple, descr: str = "|u1", content: bytes = b"") -> str:
    """Write an .npz file whose x has a header that its content does not live up to."""
    header = io.BytesIO()
    npy.write_array_header_1_0(
        header, {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    )
    y = io.BytesIO()
    np.save(y, np.zeros(4, np.int64))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header.getvalue() + content)
        archive.writestr("y.npy", y.getvalue())
    return str(path)


class Trap:
    """An object that makes a file when it is unpickled: what a hostile pickle can do."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def springs(trap: Trap) -> bool:
    """Say whether loading the trap as a pickle would have done harm; then undo it."""
    pickle.loads(pickle.dumps(trap))
    sprung = trap.mark.exists()
    trap.mark.unlink()
    return sprung


def weights(path: Path, content: object = None) -> str:
    """Write a file with torch.save, without a content the state dict of `net`; return its path."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        torch.save(net(CLASSES).state_dict() if content is None else content, path)
    return str(path)


def parameters(images: str, **changes) -> dict[str, object]:
    """Return the parameters of an audit that takes well under a second a model."""
    values = {
        "model": NET,
        "weights": "none",
        "images": images,
        "pool_size": 100,
        "image_size": 0,
        "num_classes": 0,
        "scaling": "standard",
        "planted_rate": 0.1,
        "n_models": 6,
        "epochs": 2,
        "batch_size": 8,
        "optimizer": "sgd",
        "lr": 0.05,
        "momentum": 0.9,
        "weight_decay": 0.0,
        "seed": 0,
    }
    return values | changes


class TwoOutputs(nn.Module):
    """A network that gives a second output in training, as some of torchvision's do."""

    def __init__(self, num_classes: int):
        super().__init__()
        self.net = plain(num_classes)

    def forward(self, x):
        return (self.net(x), self.net(x)) if self.training else self.net(x)


def audited(shift: float = 1.0, pull: float = 1.0, **changes) -> Audited:
    """Return shadow models made up for the purpose: M = 8, N = 80, one image in ten planted.

    Margins of members are `shift` standard deviations higher, and the log gradient norms of planted
    labels `pull` larger.
    """
    rng, keep = np.random.default_rng(3), paired_masks(8, 80, 0)
    planted = np.arange(80) % 10 == 0
    phi = 2 * rng.normal(size=80) + rng.normal(size=keep.shape) + shift * keep
    values = {
        "phi": phi,
        "correct": phi > 0,
        "norm": np.exp(rng.normal(size=keep.shape) + pull * planted),
        "keep": keep,
        "planted": planted,
        "given_label": np.arange(80) % CLASSES,
        "ratio": np.exp(0.3 * rng.normal(size=(8, 6))),
        "bn_layer": np.array([1, 1, 2, 2, 2, 2]),
        "fast": True,
    }
    return Audited(**values | changes)


def images(
    member: np.ndarray | None = None,
    names: tuple[str, ...] | None = None,
    classes: tuple[str, ...] = ("a", "b", "c"),
) -> Images:
    """Return the 80 images of `audited`."""
    x = arrays(80)["x"]
    names = names or tuple(f"row {row}" for row in range(80))
    return Images(x, np.arange(80) % 3, names, classes, member, 100)


def saved(shift: float = 0.0, member: np.ndarray | None = None) -> Saved:
    """Return what a network says of them whose margins of members are `shift` higher."""
    rng = np.random.default_rng(2)
    made = audited(shift=3.0)
    moved = 0 if member is None else shift * member
    phi = made.phi.mean(axis=0) - 1.5 + rng.normal(size=80) + moved
    return Saved(phi, rng.random(80), np.full(6, 2.0))
