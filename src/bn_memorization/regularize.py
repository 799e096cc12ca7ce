"""The gamma/sigma penalty: a term to add to the loss, from the batch's own statistics.

sigma is read during the forward pass and stays part of the graph. With sigma detached only gamma
can answer: it shrinks, and with it the input and the sigma of the next layer, whose ratio grows
back. So layer after layer shrinks, and training collapses.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.hooks import RemovableHandle

from bn_memorization.errors import BadInput, Failure, check_choice

LEAST_RATIO = 1e-12  # a gamma of exactly 0 has a logarithm too, and no gradient

FORMS: dict[str, Callable[[Tensor, float], Tensor]] = {
    # r = |gamma| / sigma of each channel, [C]; each form is averaged over channels.
    "square": lambda r, target: r.square(),
    "hinge": lambda r, target: (r - target).clamp(min=0).square(),
    "log": lambda r, target: (r.clamp(min=LEAST_RATIO) / target).log().square(),
}
UNTARGETED = "square"


class gamma_sigma_penalty(AbstractContextManager):  # noqa: N801 - used like a function
    """Measure gamma/sigma of every BN layer in each training pass; `value()` is the penalty.

    Use as::

        with gamma_sigma_penalty(model, weight=1.0, target=0.5, form="log") as penalty:
            for x, y in batches:
                loss = cross_entropy(model(x), y) + penalty.value()
                loss.backward()

    With r = |gamma|/sigma of a channel, sigma = sqrt(var + eps) of the batch, the forms are: square
    r^2 (pulls to 0 and ignores `target`), hinge max(r - target, 0)^2, log (log(r/target))^2. The
    penalty is `weight` times the mean over the channels of a layer, averaged over layers; a layer
    that a pass goes through twice counts twice. `model` may be part of a larger one. Passes in eval
    mode, under `no_grad`, and through layers that are frozen in eval mode are not measured.

    Hooks are removed at the end of the block, also when it ends by an exception; the same object
    can then be entered again. Hooks of DataParallel's replicas are not followed: use one device a
    process.

    Raises BadInput for a model without affine BN layers, an unknown form, a weight that is not
    finite and at least 0, or a target that is not finite and above 0; Failure when it is entered
    twice at once. Source: the paper's regularization claim (arXiv:2605.24420); the forms are ours.
    """

    def __init__(self, model: nn.Module, *, weight: float, target: float = 1.0, form: str = "log"):
        self._form = FORMS[check_choice("penalty form", form, FORMS)]
        if not 0 <= weight < math.inf:
            raise BadInput(f"weight={weight} of the penalty must be finite and at least 0.")
        if not 0 < target < math.inf:
            raise BadInput(f"target={target} of the penalty must be finite and above 0.")
        self._layers = [m for m in model.modules() if isinstance(m, _BatchNorm) and m.affine]
        if not self._layers:
            raise BadInput(
                "The model has no batch normalization with gamma: there is nothing to penalize. "
                "Train it without a penalty, or build it with norm=batch."
            )
        self._model, self._weight, self._target = model, weight, target
        self._measured: list[Tensor] = []
        self._hooks: list[RemovableHandle] = []

    def __enter__(self) -> "gamma_sigma_penalty":
        """Start to measure."""
        if self._hooks:
            raise Failure("This penalty is measuring already: leave its block before another.")
        self._hooks = [
            self._model.register_forward_pre_hook(self._begin, prepend=True),
            *(layer.register_forward_pre_hook(self._measure) for layer in self._layers),
        ]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove every hook."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._measured.clear()

    def _begin(self, model: nn.Module, inputs: tuple[Tensor]) -> None:
        # A pass whose value nobody asked for must not be kept, with its graph, for the next one.
        if model.training and torch.is_grad_enabled():
            self._measured.clear()

    def _measure(self, layer: _BatchNorm, inputs: tuple[Tensor]) -> None:
        if layer.training and torch.is_grad_enabled():
            ratio = layer.weight.abs() / self.sigma(layer, inputs[0])
            self._measured.append(self._form(ratio, self._target).mean())

    def sigma(self, layer: _BatchNorm, u: Tensor) -> Tensor:
        """Return sigma[C] = sqrt(var + eps) of a batch u[B, C] or u[B, C, ...], with its graph."""
        # Under autocast u may be of half precision, in which a variance has few digits.
        variance = u.to(layer.weight.dtype).var([0, *range(2, u.ndim)], unbiased=False)
        return (variance + layer.eps).sqrt()

    def value(self) -> Tensor:
        """Return the penalty of the model's last training pass, a scalar with its graph.

        Raises Failure when no training pass has been measured since the last call.
        """
        if not self._measured:
            raise Failure("No training pass since the last penalty: call the model first.")
        value = self._weight * torch.stack(self._measured).mean()
        self._measured.clear()
        return value
