import re

import planted
import pytest
import torch

from bn_memorization import fading, train
from bn_memorization.ratios import bn_layers

CPU = torch.device("cpu")


def networks(*gammas):
    """Yield the planted set's network with every gamma at each of the values."""
    net = train.new_model(planted.config(), planted.planted_set(), CPU)
    for gamma in gammas:
        with torch.no_grad():
            for layer in bn_layers(net).values():
                layer.weight.fill_(gamma)
                layer.running_var.fill_(4 - layer.eps)
        yield net


@pytest.fixture
def watched():
    sample = train.draw(planted.config(), planted.planted_set(), CPU)
    return fading.watch({"attached": networks(1, -2), "detached": networks(0.5)}, sample)


def test_a_row_a_pass_and_network(watched):
    assert watched.sigma.tolist() == ["attached", "attached", "detached"]
    assert watched["pass"].tolist() == [1, 2, 1]
    assert watched["median gamma"].tolist() == [1, 2, 0.5]
    assert watched["median sigma"].tolist() == [2, 2, 2]
    assert watched["median ratio"].tolist() == [0.5, 1, 0.25]
    assert watched["test accuracy"].between(0, 1).all()


def test_the_accuracy_is_that_of_the_test_images():
    sample = train.draw(planted.config(), planted.planted_set(), CPU)
    (net,) = networks(1)
    x, y = sample.subsets["test"]
    accuracy = (net.eval()(x).argmax(1) == y).double().mean().item()
    assert fading.watch({"a": networks(1)}, sample)["test accuracy"].item() == accuracy


def test_the_sentence_tells_the_last_pass_of_each(watched):
    watched["test accuracy"] = [0.1, 0.25, 0.5]
    text = fading.sentence(watched, "smoke")
    assert "(smoke)" in text
    found = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]
    assert found == [25, 0.5, 1, 1, 2, 2, 2, 50, 0.25, 0.25, 0.5, 0.5, 2, 2]
    assert text.index("attached") < text.index("detached")
