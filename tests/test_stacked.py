import pytest
import torch
from torch import nn

from bn_memorization import models
from bn_memorization.errors import BadInput
from bn_memorization.models import NORMS
from bn_memorization.stacked import side_by_side, spread

M, BATCH = 3, 5


def networks(arch="lenet", norm="batch", count=M):
    """Networks in double precision whose gamma, beta and statistics are not those of a start."""
    found = []
    for seed in range(count):
        net = models.build(arch, norm, in_channels=2, image_size=12, classes=4, seed=seed).double()
        generator = torch.Generator().manual_seed(seed)
        for tensor in net.state_dict().values():
            if tensor.is_floating_point():
                tensor.mul_(1 + 0.1 * torch.rand(tensor.shape, generator=generator).double())
        found.append(net)
    return found


def batches(count=M):
    return torch.randn(
        (count, BATCH, 2, 12, 12), generator=torch.Generator().manual_seed(9)
    ).double()


def beside(x):
    return x.transpose(0, 1).flatten(1, 2)


def same(one, other):
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("arch", ["lenet", "resnet8"])
@pytest.mark.parametrize("norm", NORMS)
def test_outputs_gradients_and_statistics_are_those_of_each_network(arch, norm):
    own, x = networks(arch, norm), batches()
    stack = side_by_side(own)
    logits = [net.train()(images) for net, images in zip(own, x, strict=True)]
    together = stack.train()(beside(x)).unflatten(1, (M, -1))
    for place, one in enumerate(logits):
        same(together[:, place], one)
    sum(one.square().mean() for one in logits).backward()
    sum(together[:, place].square().mean() for place in range(M)).backward()
    for name, joined in stack.named_parameters():
        wanted = [net.get_parameter(name).grad for net in own]
        if joined.grad is None:  # gamma held at 1 has none
            assert wanted == [None] * M
        else:
            same(joined.grad, torch.cat(wanted))
    for name, joined in stack.named_buffers():
        if joined.ndim:
            same(joined, torch.cat([net.get_buffer(name) for net in own]))


def test_a_channel_of_the_wrong_network_would_be_seen():
    own, x = networks(), batches()
    swapped = side_by_side([own[1], own[0], own[2]]).eval()(beside(x)).unflatten(1, (M, -1))
    assert not torch.allclose(swapped[:, 0], own[0].eval()(x[0]))
    same(swapped[:, 2], own[2].eval()(x[2]))


def test_spread_gives_each_network_its_part():
    own, others = networks(), networks()
    stack = side_by_side(own)
    for net in others:
        for tensor in net.state_dict().values():
            tensor.zero_()
    spread(stack, others)
    for net, other in zip(own, others, strict=True):
        for name, tensor in net.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name]), name


def test_the_networks_stay_as_they_are():
    own = networks()
    before = [{k: v.clone() for k, v in net.state_dict().items()} for net in own]
    stack = side_by_side(own)
    with torch.no_grad():
        for tensor in stack.parameters():
            tensor.zero_()
    for net, kept in zip(own, before, strict=True):
        assert all(torch.equal(net.state_dict()[name], kept[name]) for name in kept)


def test_one_network_alone_is_a_stack_too():
    own, x = networks(count=1), batches(1)
    same(side_by_side(own).eval()(beside(x)), own[0].eval()(x[0]))


def test_an_unknown_layer_with_weights_is_refused():
    with pytest.raises(BadInput, match=r"PReLU.* cannot be stacked.*Conv2d.*one by one"):
        side_by_side([nn.Sequential(nn.PReLU()), nn.Sequential(nn.PReLU())])
    grouped = [nn.Sequential(nn.Conv2d(4, 4, 1, groups=2)) for _ in range(2)]
    with pytest.raises(BadInput, match="cannot be stacked"):
        side_by_side(grouped)
