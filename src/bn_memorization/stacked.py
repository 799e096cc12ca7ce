"""Many small networks as one: their channels side by side, so that one kernel serves all of them.

Convolutions become one of M groups. BN works on each channel alone, so each network keeps
statistics of its own. Outputs are those of the networks one by one, up to rounding: sums are taken
in another order.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bn_memorization.errors import BadInput
from bn_memorization.norms import ChannelAffine

# What of a layer counts channels or groups of them, and so grows with the number of networks.
COUNTS: dict[type, tuple[str, ...]] = {
    nn.Conv2d: ("in_channels", "out_channels", "groups"),
    nn.BatchNorm1d: ("num_features",),
    nn.BatchNorm2d: ("num_features",),
    nn.GroupNorm: ("num_groups", "num_channels"),
    ChannelAffine: (),
}


class StackedLinear(nn.Linear):
    """Linear layers side by side: [B, M * I] in, [B, M * O] out, weight [M * O, I]."""

    def __init__(self, models: int, layer: nn.Linear):
        super().__init__(layer.in_features, models * layer.out_features, device="meta")
        self.models = models

    def forward(self, x: Tensor) -> Tensor:
        """Return each network's outputs behind those of the network before it."""
        weight = self.weight.view(self.models, -1, self.in_features)
        own = x.unflatten(1, (self.models, self.in_features)).transpose(0, 1)
        out = torch.baddbmm(self.bias.view(self.models, 1, -1), own, weight.mT)
        return out.transpose(0, 1).flatten(1)


def side_by_side(models: Sequence[nn.Module]) -> nn.Module:
    """Return one network with the weights of M: [B, M * C, H, W] in, [B, M * K] out.

    Network m has the m-th C of the input's channels and the m-th K of the outputs. The networks
    are of one architecture and leave channels in their order, as LeNets and ResNets do; one that
    concatenates channels, as a DenseNet does, comes out wrong. They stay as they are. Raises
    BadInput for a layer that has weights and is not known here.
    """
    stack = copy.deepcopy(models[0])
    for path, layer in list(stack.named_modules()):
        if any(True for _ in layer.children()) or not list(layer.state_dict()):
            continue
        parent, _, name = path.rpartition(".")
        joined = _joined([model.get_submodule(path) for model in models])
        setattr(stack.get_submodule(parent), name, joined)
    return stack


def _joined(layers: Sequence[nn.Module]) -> nn.Module:
    first, count = layers[0], len(layers)
    if type(first) is nn.Linear:
        joined = StackedLinear(count, first)
    else:
        joined = copy.deepcopy(first)
        for name in _counts(first):
            setattr(joined, name, count * getattr(first, name))
    for name, own in first.named_parameters():
        beside = torch.cat([layer.get_parameter(name).detach() for layer in layers])
        setattr(joined, name, nn.Parameter(beside.contiguous(), own.requires_grad))
    for name, own in first.named_buffers():
        if own.ndim:  # the number of batches that were seen is the same for all
            setattr(joined, name, torch.cat([layer.get_buffer(name) for layer in layers]))
    return joined


def _counts(layer: nn.Module) -> tuple[str, ...]:
    for kind, names in COUNTS.items():
        if isinstance(layer, kind) and getattr(layer, "groups", 1) == 1:
            return names
    raise BadInput(
        f"{layer} cannot be stacked. Known are {', '.join(kind.__name__ for kind in COUNTS)} and "
        "Linear; train these networks one by one."
    )


@torch.no_grad()
def spread(stack: nn.Module, models: Sequence[nn.Module]) -> None:
    """Give each network its part of the stack's weights and statistics."""
    states = [model.state_dict() for model in models]
    for name, joined in stack.state_dict().items():
        parts = joined.chunk(len(models)) if joined.ndim else [joined] * len(models)
        for state, part in zip(states, parts, strict=True):
            state[name].copy_(part)
