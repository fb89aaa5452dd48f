"""A plan for a browser: its file read and bounded, searched on the processes that all share, its points as scenarios.

Knows nothing of pages.
"""

import hashlib
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.dashboard.document import NO_TRACES, refuse_files, trace_sets
from app.dashboard.jobs import Compute, Progress
from app.dashboard.plan_question import Question, check_combinations
from app.dashboard.simulations import MOST_WORK, check_requests
from app.dashboard.traces import Traces
from app.planned import searched
from scenarios.load import open_document
from scenarios.plan_file import LoadedPlan, load_plan
from scenarios.plan_store import runnable
from scenarios.yaml_nodes import child, plain
from simulator.errors import ScenarioError

FILE = "plan.yaml"
"""How messages call a plan that has no file."""

MOST_CANDIDATES = 1_000
"""Candidates that a browser may have searched."""

WAY_OUT = "; take the plan file to `specfleet plan` on the command line"


@dataclass(frozen=True, slots=True)
class Planned:
    """What came of a question."""

    loaded: LoadedPlan
    found: dict[str, Any]
    """In the shape of `plan --json`."""
    simulated: bool
    """Whether the nearest candidates were confirmed by simulation."""

    @property
    def points(self) -> dict[str, dict[str, Any]]:
        """Name → candidate."""
        return {str(point["name"]): point for point in self.found["points"]}

    @property
    def choice(self) -> dict[str, Any] | None:
        """The cheapest cluster that holds the load; None where none does."""
        return self.points.get(str(self.found["choice"]))


def read_plan(text: str, file: str, traces: Traces = NO_TRACES) -> tuple[dict[str, Any], Question]:
    """The scenario of a plan file's offers, as a mapping, and what is asked of it.

    An offer stands there in its first possible choice. Raises ScenarioError for what is wrong with the file.
    """
    loaded = load(text, file, traces)
    deployments: dict[str, Any] = {}
    for candidate, offer in loaded.offers.items():
        deployments.setdefault(offer, loaded.documents[candidate])
    return {**loaded.base, "deployments": deployments}, Question(plan=loaded.plan)


def load(text: str, file: str = FILE, traces: Traces = NO_TRACES) -> LoadedPlan:
    """A plan file from a browser: none but a known trace is opened, no more is expanded than a browser may ask for."""
    refuse_files(text, file, traces)
    seen = open_document(file, (), text).seen
    vary = child(child(seen, "plan"), "vary")
    offers = child(seen, "deployments")
    num_offers = len(offers.value) if offers is not None and isinstance(offers.value, dict) else 0
    check_combinations(num_offers, plain(vary) if vary is not None else {})
    loaded = load_plan(file, trace_sets(text, file, (), traces), text)
    candidates = len(loaded.scenario.deployments)
    if candidates > MOST_CANDIDATES:
        raise ScenarioError(f"{candidates:,} candidates: a browser gets at most {MOST_CANDIDATES:,}{WAY_OUT}")
    return loaded


def key_of(text: str, *, simulate: bool) -> str:
    """What an answer follows from, as long as this server runs."""
    return f"plan {simulate} {hashlib.sha256(text.encode()).hexdigest()}"


def searching(text: str, *, simulate: bool, traces: Traces = NO_TRACES) -> Compute:
    """The search for the cheapest cluster.

    simulate: whether the nearest candidates are confirmed by simulation; else every figure is estimated.
    """
    return partial(_searched, text, simulate, traces)


def _searched(text: str, simulate: bool, traces: Traces, executor: Executor, progress: Progress) -> Planned:
    loaded = load(text, traces=traces)
    if simulate:
        check_work(loaded)
    else:
        loaded = replace(loaded, plan=loaded.plan.model_copy(update={"confirm": 0}))
    return Planned(loaded, searched(loaded, executor, progress), simulate)


def check_work(loaded: LoadedPlan) -> None:
    """ScenarioError for a confirmation that is too large to share a server with others."""
    scenario, confirm = loaded.scenario, loaded.plan.confirm
    requests, replications = scenario.workload.horizon.requests, scenario.replications
    check_requests(scenario, WAY_OUT)
    if requests * replications * confirm > MOST_WORK:
        raise ScenarioError(
            f"{requests:,} requests × {replications} replications × {confirm} candidates to confirm: a browser gets at "
            f"most {MOST_WORK:,} requests in all{WAY_OUT}"
        )


def as_file(planned: Planned, names: Iterable[str]) -> str:
    """Points of a plan as a scenario file, with the replicas that each needs and its spares."""
    first, *_ = points = [planned.points[name] for name in dict.fromkeys(names)]
    return runnable(planned.loaded, points, str(first["name"]))
