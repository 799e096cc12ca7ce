from dataclasses import replace

import made_audit
import numpy as np
import pytest
import torch
from made_audit import CLASSES, GROUPED, NET, PLAIN

from bn_memorization import audit_input, audit_runs, cli, machine, masks, runs
from bn_memorization.errors import BadInput, Failure


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """An empty folder of runs, the CPU, torch's settings restored, no images remembered."""
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(machine.DEVICE_VARIABLE, "cpu")
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    audit_input.load.cache_clear()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


@pytest.fixture
def npz(tmp_path) -> str:
    return made_audit.npz(tmp_path / "a.npz")


def configs(npz, **changes):
    return audit_runs.configs(made_audit.parameters(npz, **changes))


def fit(config):
    return audit_runs.fit(config, audit_runs.images(config)).arrays


def test_one_config_a_model_that_differ_in_nothing_else(npz):
    found = configs(npz, n_models=8)
    assert [config.model for config in found] == list(range(8))
    assert {replace(config, model=0) for config in found} == {found[0]}
    assert len({config.recipe.seed for config in found}) == 8
    assert found[0].factory == NET
    assert "torchvision " in found[0].versions
    assert len(found[0].code_sha256) == 64


@pytest.mark.parametrize("n_models", [4, 7])
def test_a_number_of_models_that_the_attack_cannot_use(npz, n_models):
    with pytest.raises(BadInput, match=f"n_models={n_models} is not allowed"):
        configs(npz, n_models=n_models)


def test_all_that_a_reader_gives_is_checked_before_anything_is_trained(npz, tmp_path):
    with pytest.raises(BadInput, match="is not there"):
        configs("no/such.npz")
    with pytest.raises(BadInput, match="no parameters to train"):
        configs(npz, model="made_audit.empty")
    with pytest.raises(BadInput, match="fails in evaluation mode"):
        configs(npz, image_size=9)
    bad = made_audit.weights(tmp_path / "w.pt", made_audit.plain(CLASSES).state_dict())
    with pytest.raises(BadInput, match="does not fit"):
        configs(npz, weights=bad, planted_rate=0.0)
    with pytest.raises(BadInput, match="Unknown scaling"):
        configs(npz, scaling="none")
    with pytest.raises(BadInput, match="Unknown optimizer"):
        configs(npz, optimizer="lion")


def test_nothing_is_planted_beside_a_saved_network(npz, tmp_path):
    good = made_audit.weights(tmp_path / "w.pt")
    with pytest.raises(BadInput, match=r"planted_rate=0\.1 beside weights.*Set planted_rate=0"):
        configs(npz, weights=good)
    assert len(configs(npz, weights=good, planted_rate=0.0)) == 6


def test_a_shadow_model_is_measured_on_all_images(npz):
    config = configs(npz)[3]
    found = fit(config)
    for name in ("phi", "correct", "norm", "member", "planted", "given_label"):
        assert found[name].shape == (60,), name
    np.testing.assert_array_equal(found["member"], masks.member_mask(3, 60, 0))
    assert found["gamma"].shape == found["sigma"].shape == found["bn_layer"].shape == (4,)
    assert bool(found["fast"])


def test_planted_labels_are_wrong_and_all_others_the_readers(npz):
    config = configs(npz)[0]
    labels, planted = audit_runs.given_labels(config, audit_runs.images(config))
    true = audit_runs.images(config).labels
    assert planted.sum() == 6
    np.testing.assert_array_equal(labels != true, planted)
    labels, planted = audit_runs.given_labels(
        replace(config, planted_rate=0.0), audit_runs.images(config)
    )
    assert not planted.any()
    np.testing.assert_array_equal(labels, true)


def test_members_are_learned_and_wrong_labels_of_the_others_are_not(npz):
    found = fit(configs(npz, epochs=30, planted_rate=0.2)[0])
    member, planted = found["member"], found["planted"]
    assert found["correct"][member].mean() > 0.9
    assert found["correct"][~member & ~planted].mean() > 0.6
    assert found["correct"][~member & planted].mean() < 0.5


@pytest.mark.parametrize("model", [NET, GROUPED])
def test_the_same_config_gives_the_same_bits(npz, model):
    """Dropout draws from the run's own seed, and the world's random state is left alone."""
    config = configs(npz, model=model)[0]
    torch.manual_seed(1)
    first, state = fit(config), torch.random.get_rng_state()
    second = fit(config)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(2)
    third = fit(config)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
        np.testing.assert_array_equal(first[name], third[name])
    other = fit(replace(config, model=1))
    assert not np.array_equal(first["phi"], other["phi"])


def test_a_network_without_bn_has_no_ratio(npz):
    assert fit(configs(npz, model=PLAIN)[0])["gamma"].size == 0


def test_a_layer_without_a_rule_is_said_to_be_slow(npz):
    assert not fit(configs(npz, model=GROUPED)[0])["fast"]


def test_resnet18_of_torchvision_unchanged(npz):
    changes = {"model": "torchvision.models.resnet18", "image_size": 32, "epochs": 4}
    found = fit(configs(npz, **changes)[0])
    assert bool(found["fast"])
    assert np.isfinite(found["phi"]).all()
    assert found["bn_layer"].max() == 20  # its BN layers, those of the shortcuts included


def test_a_run_that_diverges_is_named(npz):
    config = configs(npz, model=PLAIN, lr=1e38)[2]
    with pytest.raises(Failure, match=r"shadow model 2 of made_audit\.plain.*Lower the"):
        fit(config)


def test_gradients_beyond_all_numbers_are_an_error(npz, monkeypatch):
    huge = np.full(60, 1e39)  # more than a record's float32 holds
    monkeypatch.setattr(audit_runs.audit_gradients, "norms", lambda *given: (huge, True))
    with pytest.raises(Failure, match=r"shadow model 1 of .* beyond all numbers.*more epochs"):
        fit(configs(npz)[1])


def test_shadow_models_are_trained_once_and_kept(npz, monkeypatch):
    fitted, real = [], audit_runs.fit
    monkeypatch.setattr(
        audit_runs, "fit", lambda config, *a, **k: fitted.append(config) or real(config, *a, **k)
    )
    asked = configs(npz)
    first = runs.run_all(asked, "serial")
    again = runs.run_all(asked, "serial")
    assert fitted == asked
    for one, other in zip(first, again, strict=True):
        assert one.config == other.config
        assert all(np.array_equal(one.arrays[k], other.arrays[k]) for k in one.arrays)
    assert runs.missing(configs(npz, epochs=3)) == configs(npz, epochs=3)


def test_other_images_under_the_same_name_are_other_runs(npz, tmp_path):
    asked = configs(npz)[:1]
    runs.run_all(asked, "serial")
    assert not runs.missing(asked)
    audit_input.load.cache_clear()
    made_audit.npz(tmp_path / "a.npz", n=61)
    assert runs.missing(asked) == asked


def test_a_saved_network_answers_for_the_images(npz, tmp_path):
    given = made_audit.parameters(npz, planted_rate=0.0)
    images = audit_runs.images(configs(npz)[0])
    assert audit_runs.saved(given, images) is None
    found = audit_runs.saved(given | {"weights": made_audit.weights(tmp_path / "w.pt")}, images)
    assert found.phi.shape == found.norm.shape == (60,)
    np.testing.assert_allclose(found.ratio, 1 / np.sqrt(1 + 1e-5))  # as initialized


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["images=no/such.npz"], "is not there"),
        (["model=os.system"], "failed when called with num_classes"),
        (["model=made_audit.empty"], "no parameters to train"),
        (["weights=no/such.pt", "planted_rate=0"], "is not there, or no file"),
        (["model=resnet18"], "a dotted name such as package.module.factory"),
    ],
)
def test_the_command_line_refuses_with_a_sentence_and_status_2(words, told, capsys):
    assert cli.main(["chapter", "10_audit", *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error
