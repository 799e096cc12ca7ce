"""The network that is audited: made by a reader's own factory, and filled from a state dict.

A factory is code, and importing its module runs it. A file of weights is data: it is read with
weights_only=True, and a file that needs more is refused.
"""

import hashlib
import importlib
import inspect
import keyword
import pickle
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from bn_memorization.audit_input import located
from bn_memorization.errors import BadInput

NO_WEIGHTS = "none"
MOST_BYTES = 4 * 2**30  # of a file of weights, unpacked
NAMED = 5  # keys that a message names
_ADVICE = 'Save the weights alone: torch.save(model.state_dict(), "weights.pt").'


def factory(dotted: str) -> Callable[..., nn.Module]:
    """Return what a dotted name `package.module.factory` stands for; its module is imported.

    Raises BadInput for a name of another form, a module that cannot be imported, and a name in it
    that is not there or cannot be called.
    """
    parts = dotted.split(".")
    if len(parts) < 2 or not all(p.isidentifier() and not keyword.iskeyword(p) for p in parts):
        raise BadInput(f"model={dotted} is not a dotted name such as package.module.factory.")
    module_name, name = ".".join(parts[:-1]), parts[-1]
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"model={dotted}: importing {module_name} failed with {type(error).__name__}: {error}. "
            "A file of your own is found when its folder is on PYTHONPATH."
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise BadInput(
            f"model={dotted}: {module_name} has no function {name} that can be called. Give one "
            "that returns a torch.nn.Module, such as torchvision.models.resnet18."
        )
    return found


@cache
def code_sha256(dotted: str) -> str:
    """Return the sha256 of the one file that defines the factory, "" where it has none.

    What that file imports has no part in it. Raises BadInput as `factory` does.
    """
    try:
        path = inspect.getsourcefile(inspect.unwrap(factory(dotted)))
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (TypeError, OSError):  # compiled, or made at run time
        return ""


def build(dotted: str, num_classes: int, seed: int) -> nn.Module:
    """Return the factory's network for `num_classes`, initial weights by `seed`, on the CPU.

    torch's random state is left as it was. Raises BadInput as `factory` does, and for a factory
    that fails, returns no module, or one without parameters that can be trained.
    """
    make = factory(dotted)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        try:
            model = make(num_classes=num_classes)
        except Exception as error:
            raise BadInput(
                f"model={dotted} failed when called with num_classes={num_classes}: "
                f"{type(error).__name__}: {error}. It must take num_classes as a keyword, and "
                "need nothing else."
            ) from error
    if not isinstance(model, nn.Module):
        raise BadInput(
            f"model={dotted} returned a {type(model).__name__}, not a torch.nn.Module. Give the "
            "name of a function that returns a network."
        )
    parameters = list(model.parameters())
    if any(isinstance(p, UninitializedParameter) for p in parameters):
        raise BadInput(f"model={dotted} has lazy layers without a shape yet. Give all shapes.")
    if not any(p.requires_grad and p.numel() for p in parameters):
        raise BadInput(
            f"model={dotted} returned a network with no parameters to train: it can hold nothing "
            "of its training images, so there is nothing to audit."
        )
    return model


@cache
def check(dotted: str, num_classes: int, height: int, width: int) -> None:
    """Raise BadInput unless the factory's network gives logits for such images, in both modes."""
    model = build(dotted, num_classes, 0)
    x = torch.zeros(2, 3, height, width)
    for mode in ("evaluation", "training"):
        model.train(mode == "training")
        try:
            logits = model(x)
        except Exception as error:
            raise BadInput(
                f"model={dotted} fails in {mode} mode on images of shape {list(x.shape)} (N, C, H, "
                f"W): {type(error).__name__}: {error}. Set image_size to what it takes."
            ) from error
        if not isinstance(logits, Tensor) or logits.shape != (2, num_classes):
            what = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise BadInput(
                f"model={dotted} returned {what} in {mode} mode for two images, not logits of "
                f"shape [2, {num_classes}]."
            )


def filled(dotted: str, num_classes: int, weights: str) -> nn.Module:
    """Return the factory's network with the weights of a reader's file, in eval mode.

    Raises BadInput as `build` and `read_state` do, and for a state dict that does not fit, naming
    what is missing, unexpected or of another shape.
    """
    model = build(dotted, num_classes, 0)
    state = read_state(weights)
    _check_fit(weights, dotted, num_classes, model.state_dict(), state)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise BadInput(f"weights={weights} does not fit {dotted}: {error}") from error
    return model.eval()


def read_state(weights: str) -> dict[str, Tensor]:
    """Return the state dict in a file, read with weights_only=True: nothing in it is executed.

    Raises BadInput for a file that is not there, is larger than MOST_BYTES unpacked, was not
    written by torch.save, holds anything but tensors under names, or a value that is not finite.
    """
    path = located(weights)
    if not path.is_file():
        raise BadInput(f"weights={weights} is not there, or no file.")
    if not zipfile.is_zipfile(path):
        raise BadInput(
            f"weights={weights} is not a file of torch.save (since torch 1.6). Pickles and all "
            f"else are refused: loading them can run code. {_ADVICE}"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
        state = None if size > MOST_BYTES else _loaded(path)
    except pickle.UnpicklingError as error:
        raise BadInput(
            f"weights={weights} holds more than weights, such as a whole module. It is refused: "
            f"loading it can run code. {_ADVICE}"
        ) from error
    except Exception as error:  # a damaged file can fail in any way
        told = str(error).partition("\n")[0]
        raise BadInput(f"weights={weights} cannot be read: {told}. {_ADVICE}") from error
    if size > MOST_BYTES:
        raise BadInput(
            f"weights={weights} comes to {size:,} bytes unpacked; at most {MOST_BYTES:,} are read."
        )
    return _only_tensors(weights, state)


def _loaded(path: Path) -> object:
    return torch.load(path, map_location="cpu", weights_only=True)


def _only_tensors(weights: str, state: object) -> dict[str, Tensor]:
    if not isinstance(state, Mapping) or not state:
        raise BadInput(f"weights={weights} holds a {type(state).__name__}. {_ADVICE}")
    others = [key for key, value in state.items() if not isinstance(value, Tensor)]
    if others:
        raise BadInput(
            f"weights={weights} holds more than tensors, under {_named(others)}: it looks like a "
            f"checkpoint. {_ADVICE}"
        )
    broken = [k for k, v in state.items() if v.is_floating_point() and not v.isfinite().all()]
    if broken:
        raise BadInput(f"weights={weights} has values that are not finite in {_named(broken)}.")
    return dict(state)


def _check_fit(
    weights: str, dotted: str, num_classes: int, wanted: Mapping, given: Mapping
) -> None:
    told = []
    for word, keys in (
        ("missing", [key for key in wanted if key not in given]),
        ("unexpected", [key for key in given if key not in wanted]),
    ):
        if keys:
            told.append(f"{word}: {_named(keys)}")
    both = [key for key in wanted if key in given and wanted[key].shape != given[key].shape]
    told += [f"{k} is {list(given[k].shape)}, not {list(wanted[k].shape)}" for k in both[:NAMED]]
    if told:
        raise BadInput(
            f"weights={weights} does not fit {dotted} with num_classes={num_classes}. "
            f"{'; '.join(told)}. If only the last layer differs, set num_classes."
        )


def _named(keys: list) -> str:
    more = len(keys) - NAMED
    return ", ".join(map(str, keys[:NAMED])) + (f" and {more} more" if more > 0 else "")
