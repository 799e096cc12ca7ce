import pickle
import zipfile
from contextlib import suppress

import made_audit
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_audit import CLASSES, NET, SIZE, Trap
from torch import nn

from bn_memorization import audit_network
from bn_memorization.audit_network import build, check, code_sha256, factory, filled, read_state
from bn_memorization.errors import BadInput

RESNET = "torchvision.models.resnet18"


def test_a_dotted_name_is_found():
    assert factory(NET) is made_audit.net


@pytest.mark.parametrize(
    ("dotted", "told"),
    [
        ("net", "is not a dotted name"),
        ("", "is not a dotted name"),
        ("made_audit.", "is not a dotted name"),
        ("made_audit..net", "is not a dotted name"),
        (".made_audit.net", "is not a dotted name"),
        ("made_audit.net()", "is not a dotted name"),
        ("made_audit.net; import os", "is not a dotted name"),
        ("__import__('os').system", "is not a dotted name"),
        ("made_audit.class", "is not a dotted name"),
        ("no_such_package.net", "importing no_such_package failed with ModuleNotFoundError"),
        ("made_audit.no_such", "has no function no_such"),
        ("made_audit.CLASSES", "has no function CLASSES"),
    ],
)
def test_other_names_are_refused(dotted, told):
    with pytest.raises(BadInput, match=told):
        factory(dotted)


@pytest.mark.parametrize(
    "code", ["raise ValueError('broken')", "import sys; sys.exit(3)", "def net(:"]
)
def test_a_module_that_fails_is_refused_with_its_error(tmp_path, monkeypatch, code):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_broken_module.py").write_text(code)
    with pytest.raises(BadInput, match=r"importing a_broken_module failed with \w+:"):
        factory("a_broken_module.net")


def test_a_factory_in_a_file_on_the_path(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "readers_own.py").write_text("from made_audit import net as make")
    assert factory("readers_own.make") is made_audit.net


def test_the_sum_is_that_of_the_file_that_defines_the_factory(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    code = "def make(num_classes):\n    return None\n"
    (tmp_path / "first_own.py").write_text(code)
    (tmp_path / "second_own.py").write_text(code)
    (tmp_path / "third_own.py").write_text(code + "# more\n")
    sums = [code_sha256(f"{name}_own.make") for name in ("first", "second", "third")]
    assert sums[0] == sums[1] != sums[2]
    assert code_sha256("builtins.list") == ""
    assert len(code_sha256(RESNET)) == 64  # behind a decorator


def test_the_seed_decides_the_weights_and_nothing_else_is_moved():
    state = torch.random.get_rng_state()
    first, second, other = (build(NET, CLASSES, seed)[0].weight for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("empty", "no parameters to train"),
        ("frozen", "no parameters to train"),
        ("lazy", "lazy layers"),
        ("list_of", r"returned a list, not a torch\.nn\.Module"),
        ("positional", "failed when called with num_classes=3: TypeError"),
        ("Trap", "failed when called"),
    ],
)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_what_is_no_network_to_audit(name, told):
    with pytest.raises(BadInput, match=rf"^model=made_audit\.{name}.*{told}"):
        build(f"made_audit.{name}", CLASSES, 0)


def test_images_that_the_network_does_not_take():
    check(NET, CLASSES, SIZE, SIZE)
    with pytest.raises(BadInput, match=r"fails in evaluation mode on images of shape \[2, 3, 9, 9"):
        check(NET, CLASSES, 9, 9)
    with pytest.raises(BadInput, match=r"returned \[2, 4\] in evaluation mode .* logits of shape"):
        check("made_audit.wordy", CLASSES, SIZE, SIZE)
    with pytest.raises(BadInput, match="returned tuple in training mode"):
        check("made_audit.TwoOutputs", CLASSES, SIZE, SIZE)


def test_resnet18_of_torchvision_is_taken_unchanged():
    check(RESNET, 10, 32, 32)
    assert build(RESNET, 7, 0).fc.out_features == 7


def test_a_state_dict_fills_the_network(tmp_path):
    found = filled(NET, CLASSES, made_audit.weights(tmp_path / "w.pt"))
    with torch.random.fork_rng():
        torch.manual_seed(7)
        wanted = made_audit.net(CLASSES)
    for name, value in wanted.state_dict().items():
        assert torch.equal(found.state_dict()[name], value)
    assert not found.training


def test_a_pickle_is_refused_and_not_executed(tmp_path):
    trap = Trap(tmp_path / "sprung")
    for name in ("w.pkl", "w.pt", "w.pth"):
        (tmp_path / name).write_bytes(pickle.dumps(trap))
        with pytest.raises(BadInput, match=r"not a file of torch\.save.*loading them can run"):
            read_state(str(tmp_path / name))
    assert not trap.mark.exists()


@pytest.mark.parametrize("inside", [False, True])
def test_code_in_a_file_of_torch_is_refused_and_not_executed(tmp_path, inside):
    trap = Trap(tmp_path / "sprung")
    assert made_audit.springs(trap)
    where = made_audit.weights(tmp_path / "w.pt", {"fc.weight": trap} if inside else trap)
    with pytest.raises(BadInput, match=r"holds more than weights.*loading it can run code"):
        read_state(where)
    assert not trap.mark.exists()


def test_a_whole_module_is_refused(tmp_path):
    where = made_audit.weights(tmp_path / "w.pt", made_audit.net(CLASSES))
    with pytest.raises(BadInput, match=r"such as a whole module.*model\.state_dict\(\)"):
        read_state(where)


def test_a_traced_module_is_refused(tmp_path):
    where = tmp_path / "w.pt"
    with zipfile.ZipFile(where, "w") as archive:
        archive.writestr("w/code/made.py", "raise SystemExit")
        archive.writestr("w/constants.pkl", b"")
    with pytest.raises(BadInput, match="cannot be read"):
        read_state(str(where))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"epoch": 3, "model": {"a": torch.zeros(1)}}, "more than tensors, under epoch, model"),
        ([torch.zeros(1)], "holds a list"),
        (torch.zeros(2), "holds a Tensor"),
        ({}, "holds a dict"),
    ],
)
def test_other_contents_are_refused(tmp_path, content, told):
    with pytest.raises(BadInput, match=told):
        read_state(made_audit.weights(tmp_path / "w.pt", content))


def test_values_that_are_not_finite_are_named(tmp_path):
    state = made_audit.net(CLASSES).state_dict()
    state["1.running_var"][2] = torch.nan
    with pytest.raises(BadInput, match=r"not finite in 1\.running_var"):
        read_state(made_audit.weights(tmp_path / "w.pt", state))


def test_a_bomb_of_weights_is_refused(tmp_path, monkeypatch):
    where = made_audit.weights(tmp_path / "w.pt")
    monkeypatch.setattr(audit_network, "MOST_BYTES", 1000)
    with pytest.raises(BadInput, match=r"comes to \S+ bytes unpacked; at most 1,000"):
        read_state(where)


def test_a_file_that_is_not_there(tmp_path):
    for where in (tmp_path / "none.pt", tmp_path):
        with pytest.raises(BadInput, match="is not there, or no file"):
            read_state(str(where))


@given(damage=st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_damage_is_refused_or_does_no_harm(tmp_path_factory, damage):
    path = tmp_path_factory.mktemp("damaged") / "w.pt"
    made_audit.weights(path)
    content = path.read_bytes()
    first = damage.draw(st.integers(0, len(content) - 1))
    new = damage.draw(st.binary(min_size=1, max_size=40))
    path.write_bytes(content[:first] + new + content[first + len(new) :])
    with suppress(BadInput):
        read_state(str(path))


def test_what_does_not_fit_is_named(tmp_path):
    state = made_audit.net(CLASSES).state_dict()
    del state["1.weight"]
    state["module.extra"] = torch.zeros(2)
    where = made_audit.weights(tmp_path / "w.pt", state)
    with pytest.raises(BadInput, match=r"missing: 1\.weight; unexpected: module\.extra\."):
        filled(NET, CLASSES, where)
    with pytest.raises(BadInput, match=r"4\.weight is \[3, 256\], not \[5, 256\].*num_classes"):
        filled(NET, 5, made_audit.weights(tmp_path / "v.pt"))


def test_of_many_names_some_are_given(tmp_path):
    where = made_audit.weights(tmp_path / "w.pt", nn.Linear(1, 1).state_dict())
    with pytest.raises(BadInput, match=r"missing: 0\.weight, .* and 4 more; unexpected: weight"):
        filled(NET, CLASSES, where)
