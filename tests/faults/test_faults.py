"""Each fault happens for real: no finished run is lost or trained again, no half one is left."""

import pytest
from trials import FAULTS, Ground


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    ground = Ground(tmp_path_factory.mktemp("faults"))
    yield ground
    ground.forks.close()


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost(ground, name):
    trial = FAULTS[name].trial(name, ground)
    assert trial.tried == FAULTS[name].tries
    assert trial.finished > 0
    assert trial.harmless, trial
