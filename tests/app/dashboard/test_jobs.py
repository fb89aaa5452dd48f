"""Simulations for browsers: bounded, one each, kept for who asks the same."""

import time

import pytest

from app.dashboard.document import edited
from app.dashboard.jobs import Jobs
from app.dashboard.simulations import check_bounds, simulate
from scenarios.load import load_scenario
from scenarios.store import point_hash
from simulator.errors import ScenarioError
from simulator.planning.estimate import guess_capacity
from simulator.planning.study import study, to_json_ready


@pytest.fixture(scope="module")
def tiny():
    found = edited(
        load_scenario("h200_vs_b200_chat"),
        {"workload.horizon": {"requests": 60}, "replications": 2},
    ).points[0].scenario  # fmt: skip
    return found.model_copy(update={"deployments": {"h200-plain": found.deployments["h200-plain"]}})


@pytest.fixture(scope="module")
def jobs():
    made = Jobs(1)
    yield made
    made.close()


def ended(job):
    deadline_s = time.monotonic() + 60
    while job.state == "running" and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return job


def test_a_simulation_gives_what_the_command_line_gives(jobs, tiny):
    job = ended(simulate(jobs, "a", tiny))

    assert (job.state, job.problem) == ("done", "")
    assert job.answer.rows == to_json_ready(study(tiny, guess=guess_capacity))["rows"]
    assert job.answer.method == "simulated"


def test_the_same_again_is_found(jobs, tiny):
    first = ended(simulate(jobs, "a", tiny))

    again = simulate(jobs, "b", tiny)

    assert again.state == "done"
    assert again.answer is first.answer is jobs.kept(point_hash(tiny))


def test_a_cancelled_simulation_says_so_and_keeps_nothing(jobs, tiny):
    other = tiny.model_copy(update={"seed": 99, "replications": 40})
    job = simulate(jobs, "a", other)

    jobs.cancel("a")

    assert job.state == "cancelled"
    assert ended(simulate(jobs, "b", tiny)).state == "done"
    assert jobs.kept(job.key) is None


def test_a_browser_has_one_simulation(jobs, tiny):
    first = simulate(jobs, "a", tiny.model_copy(update={"seed": 98, "replications": 40}))

    second = ended(simulate(jobs, "a", tiny))

    assert (first.state, second.state) == ("cancelled", "done")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"workload.horizon.requests": 50_000}, r"50,000: a browser gets at most 20,000.*specfleet run"),
        ({"workload.horizon.requests": 20_000, "replications": 9}, r"20,000 requests × 4 deployments × 9 replications"),
    ],
)
def test_what_is_too_large_to_share_is_refused_with_the_way_out(changes, told):
    scenario = edited(load_scenario("h200_vs_b200_chat"), changes).points[0].scenario

    with pytest.raises(ScenarioError, match=told):
        check_bounds(scenario)
