"""Estimates of whole sweeps: the same wherever and in whatever order they are computed."""

import json

import pytest

from app import estimates
from app.estimates import Packed, estimate_points, estimated
from scenarios.load import load_scenario
from scenarios.store import label_of

SPEC = "deployments.h200-spec"
SWEEP = {
    "workload.arrivals.rate_per_s": [4, 20],
    f"{SPEC}.speculation.propose.draft_tokens": [1, 3],
    f"{SPEC}.price": [2.0, 3.0],
}


@pytest.fixture(scope="module")
def swept():
    base = load_scenario("h200_vs_b200_chat").base
    chosen = {name: base["deployments"][name] for name in ("h200-plain", "h200-spec")}
    return load_scenario("sweep.yaml", text=json.dumps({**base, "deployments": chosen, "sweep": SWEEP}))


@pytest.fixture(scope="module")
def one_by_one(swept):
    """The rows of each point, estimated for itself."""
    points = [(label_of(point.label), point.scenario) for point in swept.points]
    return [row for point in points for row in Packed(estimate_points([point])[0])["rows"]]


@pytest.mark.parametrize("chunk", [3, 100])
def test_points_stand_in_the_order_of_the_grid_whatever_is_computed_together(swept, one_by_one, chunk, monkeypatch):
    monkeypatch.setattr(estimates, "CHUNK", chunk)

    assert list(estimated(swept)["rows"]) == one_by_one


@pytest.mark.slow
def test_processes_find_what_one_finds(swept, monkeypatch):
    alone = estimated(swept)
    monkeypatch.setattr(estimates, "WORTH_PROCESSES", 1)
    monkeypatch.setattr(estimates, "CHUNK", 3)

    together = estimated(swept, jobs=2)

    assert list(together["rows"]) == list(alone["rows"])
    assert together["comparison"] == alone["comparison"]
    assert list(together["points"]) == list(alone["points"])


def test_points_that_share_steady_states_are_neighbours(swept):
    places = [place for chunk in estimates._chunks(swept.points) for place in chunk.places]

    drafted = [swept.points[place].label[f"{SPEC}.speculation.propose.draft_tokens"] for place in places]
    assert drafted == [1, 1, 1, 1, 3, 3, 3, 3]
    assert sorted(places) == list(range(8))


def test_a_deployment_that_does_not_fit_is_a_row_of_the_sweep():
    sets = ["sweep={deployments.plain.engine.hbm_budget_gb: [30, 100]}"]

    rows = list(estimated(load_scenario("code_completion", sets))["rows"])

    assert [row["fits"] for row in rows if row["deployment"] == "plain"] == [False, True]
