"""The whole check of a small model on this device: prepared, run, taken up again, summed up."""

import pytest

from calibration.check import checking
from calibration.check.campaign import Grid
from calibration.check.checking import Plan, check
from calibration.check.workload import TINY
from calibration.device_catalog import write_device
from calibration.fit_device import fit_device
from calibration.measure import measure, parser
from calibration.measuring.session import Pace
from simulator.catalog import load
from simulator.errors import ProfileError

GRID = {TINY.name: Grid({0.5: 6}, {2: 4}, (0, 2))}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What a quick measuring run of the small models leaves behind."""
    path = tmp_path_factory.mktemp("device") / "tiny.json"
    flags = "--model random:tiny-6m --draft model --draft-model random:tiny-1m --threads 1 --clock cpu --quick "
    limits = f"--max-model-len 512 --kv-blocks 512 --out {path}"
    pace = Pace(steps=1, least_blocks=1, most_blocks=1, tight=1.0, budget_s=1.0)
    return measure(parser().parse_args((flags + limits).split()), lambda *said: None, pace)


@pytest.fixture
def plan(measured, tmp_path, monkeypatch):
    """A check of the device, whose profile is in a catalog of its own."""
    monkeypatch.setenv("SPECFLEET_CATALOG", str(tmp_path))
    monkeypatch.setitem(checking.GRIDS, "quick", GRID)
    write_device(fit_device(measured, "here"), tmp_path, force=False)
    load.forget()
    yield Plan("quick", "here", tmp_path / "check", tmp_path / "measured", clock="cpu", seed=3)
    load.forget()


def ran(plan):
    return check(plan, lambda done, of: None, lambda text: None)


@pytest.mark.slow
def test_a_check_replays_its_schedule_exactly_and_is_taken_up_where_it_stopped(plan):
    first = ran(plan)
    runs = sorted((plan.folder / TINY.name / "runs").glob("*.json"))
    before = [path.stat().st_mtime_ns for path in runs]
    runs[0].unlink()
    again = ran(plan)

    (replay,) = (line for line in first["lines"] if line["what"] == "scheduler replay")
    assert replay["passed"] is True
    assert len(runs) == replay["count"] == 8
    assert [path.stat().st_mtime_ns for path in runs[1:]] == before[1:]
    assert len(again["points"]) == len(first["points"]) == 4
    assert first["about"]["gpu"] == "here"
    assert len(first["about"]["since_profile"][TINY.name]) == 2


@pytest.mark.slow
def test_a_profile_whose_steps_are_half_as_long_is_told(plan, measured):
    halved = {
        key: [[[*step[:7], *(s / 2 for s in step[7:])] for step in visit] for visit in visits]
        for key, visits in measured["visits"].items()
    }
    write_device(fit_device(measured | {"visits": halved}, "here"), plan.folder.parent, force=True)
    load.forget()
    said = []

    found = check(plan, lambda done, of: None, said.append)

    assert found["about"]["since_profile"][TINY.name][0] > 0.4
    assert any("longer than the profile says" in text for text in said)


@pytest.mark.slow
def test_a_profile_of_another_device_is_refused_unless_forced(plan, measured):
    other = measured | {"device": measured["device"] | {"name": "Another CPU"}}
    write_device(fit_device(other, "other"), plan.folder.parent, force=False)
    load.forget()

    with pytest.raises(ProfileError, match=r"profile other-specfleet.*Another CPU"):
        ran(Plan("quick", "other", plan.folder, plan.acceptance, clock="cpu"))
