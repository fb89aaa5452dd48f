"""Which device a check is of: the user's own, if one was measured."""

import pytest

from calibration.check.checking import profiled_gpu
from simulator.catalog import load
from simulator.errors import ScenarioError


@pytest.fixture
def profiles(tmp_path, monkeypatch):
    """The user's own profiles, none yet."""
    monkeypatch.setenv("SPECFLEET_CATALOG", str(tmp_path))
    (tmp_path / "profiles").mkdir()
    load.forget()
    yield tmp_path / "profiles"
    load.forget()


def test_a_profile_of_ones_own_comes_before_the_packages(profiles):
    (profiles / "laptop-specfleet.json").write_text("{}")

    assert profiled_gpu() == "laptop"


def test_without_one_the_packages_are_to_choose_from(profiles):
    with pytest.raises(ScenarioError, match=r"cpu-1thread, cpu-2core\): name the one to check with --gpu"):
        profiled_gpu()


def test_of_several_of_ones_own_one_must_be_named(profiles):
    for name in ("laptop", "server"):
        (profiles / f"{name}-specfleet.json").write_text("{}")

    with pytest.raises(ScenarioError, match="laptop, server"):
        profiled_gpu()
