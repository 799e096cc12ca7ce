"""The gamma/sigma penalty: a term to add to the loss, from the batch's own statistics.

sigma is read during the forward pass and stays part of the graph. With sigma detached the penalty
shrinks gamma and sigma together from layer to layer, and training collapses.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.errors import BadInput, check_choice

FORMS: dict[str, Callable[[Tensor, float], Tensor]] = {
    # r = |gamma| / sigma of each channel, [C]; each form is averaged over channels.
    "square": lambda r, target: r.square(),
    "hinge": lambda r, target: (r - target).clamp(min=0).square(),
    "log": lambda r, target: (r.clamp(min=1e-12) / target).log().square(),
}


class gamma_sigma_penalty(AbstractContextManager):  # noqa: N801 - used like a function
    """Measure gamma/sigma of every BN layer in each training pass; `value()` is the penalty.

    Use as::

        with gamma_sigma_penalty(model, weight=1.0, target=0.5, form="log") as penalty:
            for x, y in batches:
                loss = cross_entropy(model(x), y) + penalty.value()
                loss.backward()

    With r = |gamma|/sigma of a channel, sigma = sqrt(var + eps) of the batch, the forms are: square
    r^2 (pulls to 0 and ignores `target`), hinge max(r - target, 0)^2, log (log(r/target))^2. The
    penalty is `weight` times the mean over the channels of a layer, averaged over layers. Passes in
    eval mode are not measured. Hooks are removed at the end of the block.

    Raises BadInput for a model without affine BN layers, an unknown form, a weight below 0 or a
    target that is not above 0. Source: the paper's regularization claim (arXiv:2605.24420); the
    forms are ours.
    """

    def __init__(self, model: nn.Module, *, weight: float, target: float = 1.0, form: str = "log"):
        self._form = FORMS[check_choice("penalty form", form, FORMS)]
        if weight < 0 or not target > 0:
            raise BadInput(f"weight={weight}, target={target}: weight >= 0 and target > 0 needed.")
        self._layers = [m for m in model.modules() if isinstance(m, _BatchNorm) and m.affine]
        if not self._layers:
            raise BadInput("The model has no batch normalization with gamma: nothing to penalize.")
        self._weight, self._target = weight, target
        self._measured: dict[nn.Module, Tensor] = {}
        self._hooks: list = []

    def __enter__(self) -> "gamma_sigma_penalty":
        """Start to measure."""
        self._hooks = [layer.register_forward_pre_hook(self._measure) for layer in self._layers]
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
        self._measured.clear()

    def _measure(self, layer: _BatchNorm, inputs: tuple[Tensor]) -> None:
        if layer.training:
            axes = [0, *range(2, inputs[0].ndim)]
            variance = inputs[0].var(axes, unbiased=False)
            ratio = layer.weight.abs() / (variance + layer.eps).sqrt()
            self._measured[layer] = self._form(ratio, self._target).mean()

    def value(self) -> Tensor:
        """Return the penalty of the last training pass, a scalar with its graph.

        Raises RuntimeError when no training pass has been measured since the last call.
        """
        if not self._measured:
            raise RuntimeError("No training pass since the last penalty: call the model first.")
        value = self._weight * torch.stack(list(self._measured.values())).mean()
        self._measured.clear()
        return value
