"""The simulation of a scenario for a browser, within bounds: the figures are those of `specfleet run`."""

from concurrent.futures import Executor
from functools import partial
from typing import Any

from app.dashboard.estimates import Answer, estimated
from app.dashboard.jobs import Job, Jobs, Progress
from scenarios.store import point_hash
from simulator.errors import ScenarioError
from simulator.planning.study import StudyResult, study, to_json_ready
from simulator.spec.scenario import Scenario

MOST_REQUESTS = 20_000
"""Requests of a simulated run."""
MOST_WORK = 400_000
"""Requests × deployments × replications of a simulation."""

WAY_OUT = "; ask for less, or simulate it with `specfleet run` on the command line"


def simulate(jobs: Jobs, owner: str, scenario: Scenario) -> Job:
    """Simulate a scenario for an owner, in place of what it asked for before.

    Raises ScenarioError for what is too large for a browser.
    """
    check_bounds(scenario)
    return jobs.submit(owner, point_hash(scenario), partial(_simulated, scenario))


def _simulated(scenario: Scenario, executor: Executor, progress: Progress) -> Answer:
    guesses = {row["deployment"]: row["capacity_req_per_s"] or None for row in estimated(scenario).rows}
    found = study(scenario, executor, progress, guess=lambda _, name: guesses[name], fill=False)
    return as_answer(found, scenario)


def as_answer(found: StudyResult, scenario: Scenario) -> Answer:
    """A study as pages show it."""
    ready: dict[str, Any] = to_json_ready(found)
    own = {name: ready[name] for name in ("rows", "comparison", "provenance", "replications", "evidence")}
    return Answer(scenario, method="simulated", **own)


def check_bounds(scenario: Scenario) -> None:
    """ScenarioError for a simulation that is too large to share a server with others."""
    requests, runs = scenario.workload.horizon.requests, len(scenario.deployments) * scenario.replications
    check_requests(scenario, WAY_OUT)
    if requests * runs > MOST_WORK:
        raise ScenarioError(
            f"{requests:,} requests × {len(scenario.deployments)} deployments × {scenario.replications} replications: "
            f"a browser gets at most {MOST_WORK:,} requests in all{WAY_OUT}"
        )


def check_requests(scenario: Scenario, way_out: str) -> None:
    """ScenarioError for runs of more requests than a browser may ask for."""
    requests = scenario.workload.horizon.requests
    if requests > MOST_REQUESTS:
        raise ScenarioError(
            f"workload.horizon.requests: {requests:,}: a browser gets at most {MOST_REQUESTS:,}{way_out}"
        )
