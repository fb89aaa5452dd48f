"""A plan file, strictly loaded: the question, and one scenario whose deployments are all its candidates.

What is wrong with the file is told as with any scenario. What a choice of `plan.vary` makes impossible, such as a draft
split over more GPUs than its target, is left out, with the reason, unless nothing is left of an offer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scenarios.candidates import (
    MOST_CANDIDATES,
    Axis,
    Candidate,
    candidates,
    one_price_for_all,
    read_axes,
    unused_axes,
)
from scenarios.catalog_names import misnamed
from scenarios.load import Document, open_document, point_only, resolve_trace, wrong_trace
from scenarios.plan_check import CandidateCheck, with_deployments
from scenarios.possible_drafts import unused_temperature
from scenarios.problems import Problem, fail
from scenarios.wording import problems_of
from scenarios.yaml_nodes import Node, child, plain, problem_at
from simulator.errors import SimulatorError
from simulator.spec.base import Spec
from simulator.spec.fleet import Fleet
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload


@dataclass(frozen=True, slots=True)
class Refused:
    """Why some candidates are left out."""

    reason: str
    count: int
    example: str
    """Name of the first of them."""


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """A checked plan file."""

    name: str
    """The scenario's own name."""
    path: Path | None
    """Where the file is; None for a text without a file."""
    scenario: Scenario
    """Its deployments are the candidates; their replicas mean nothing yet."""
    plan: Plan
    choices: dict[str, dict[str, Any]]
    """Candidate → dotted path → chosen value."""
    offers: dict[str, str]
    """Candidate → the deployment of the file that it comes from."""
    refused: tuple[Refused, ...]
    documents: dict[str, dict[str, Any]]
    """Candidate → its deployment as a file says it."""
    base: dict[str, Any]
    """The file without deployments and plan, as a runnable scenario has it."""
    document: dict[str, Any]
    """The whole file with sets applied: loads to the same candidates from anywhere."""


class _Asked(Spec):
    """The part of a plan file that no scenario has."""

    plan: Plan


def load_plan(path_or_name: str | Path, sets: Sequence[str] = (), text: str | None = None) -> LoadedPlan:
    """Load a plan file by path or by the name of a built-in one; ScenarioError lists all that is wrong with it.

    A scenario without `plan:` asks for the fewest replicas of each of its deployments.
    sets, text: as of `load_scenario`.
    """
    document = open_document(path_or_name, sets, text)
    problems = [*document.problems, *_out_of_place(document.root)]
    plan = _plan(document.root, problems)
    offers = _offers(document.seen)
    axes, wrong = read_axes(child(child(document.root, "plan"), "vary"))
    found = _all_candidates(offers, axes)
    problems += [*wrong, *unused_axes(axes, found, offers), *one_price_for_all(axes, offers)]
    check = _first_look(document, found, problems)
    deployments = check.all(found)
    if problems or check.mistakes:
        fail([*problems, *check.mistakes])
    scenario = Scenario.model_validate(check.head | {"deployments": deployments})
    if wrong := [*_unused(scenario, document.seen), *_unanswerable(scenario, plan, document.seen)]:
        fail(wrong)
    return _loaded(document, plan, scenario, check, [one for one in found if one.name in deployments])


def _plan(root: Node, problems: list[Problem]) -> Plan:
    """The question; a file that says none asks for replicas alone."""
    node = child(root, "plan")
    if node is None or node.value is None:
        return Plan()
    try:
        return _Asked.model_validate({"plan": plain(node)}).plan
    except ValidationError as error:
        problems += problems_of(error, root)
        return Plan()


def _out_of_place(root: Node) -> list[Problem]:
    """What spans points that a plan does not have."""
    says = {
        "sweep": "a plan has no sweep: let `plan.vary` hold choices of a deployment, and plan each load on its own",
        "assert": "a plan asserts nothing: what it writes is a scenario, whose file takes assert",
    }
    found = {key: child(root, key) for key in says}
    return [Problem(n.file, n.line, key, says[key]) for key, n in found.items() if n is not None and n.value]


def _offers(seen: Node) -> dict[str, Node]:
    deployments = child(seen, "deployments")
    named = deployments.value if deployments is not None and isinstance(deployments.value, dict) else {}
    return {str(name): node for name, node in named.items()}


def _all_candidates(offers: Mapping[str, Node], axes: Sequence[Axis]) -> list[Candidate]:
    found: list[Candidate] = []
    for candidate in candidates(offers, axes):
        if len(found) == MOST_CANDIDATES:
            message = f"more than {MOST_CANDIDATES:,} candidates: vary fewer places, or fewer values of each"
            place = axes[0].line if axes else candidate.node
            fail([Problem(place.file, place.line, "plan.vary", message)])
        found.append(candidate)
    return found


def _first_look(document: Document, found: Sequence[Candidate], problems: list[Problem]) -> CandidateCheck:
    """What all candidates have in common, checked with the first one of each offer; fails where that is wrong."""
    first: dict[str | int, Node] = {}
    for candidate in found:
        first.setdefault(candidate.offer, candidate.node)
    seen = point_only(document.seen)
    seen = with_deployments(seen, first) if first else seen
    data = plain(seen)
    problems += resolve_trace(data, seen, document.source)
    try:
        Scenario.model_validate(data)
    except ValidationError as error:
        told = list(problems_of(error, seen))
        if any(not problem.where.startswith("deployments.") for problem in told):
            fail([*problems, *misnamed(seen), *told])
    workload = Workload.model_validate(data["workload"])
    if not problems:
        problems += wrong_trace(workload, seen)
    return CandidateCheck(seen, {key: value for key, value in data.items() if key != "deployments"}, workload)


def _unused(scenario: Scenario, seen: Node) -> Iterator[Problem]:
    """A temperature that no candidate depends on."""
    if told := unused_temperature(scenario):
        yield problem_at(seen, ("workload", "temperature"), told)


def _unanswerable(scenario: Scenario, plan: Plan, seen: Node) -> Iterator[Problem]:
    """Arrivals that wait for the service, and so state no load to plan for; contracts without a price."""
    from simulator.planning.fleet_money import check_fleet
    from simulator.planning.search.asked import asked_of

    try:
        asked_of(scenario, plan)
        check_fleet(plan.fleet or Fleet())
    except SimulatorError as error:
        where, _, message = str(error).partition(": ")
        yield problem_at(seen, tuple(where.split(".")), message)


def _loaded(
    document: Document, plan: Plan, scenario: Scenario, check: CandidateCheck, kept: Sequence[Candidate]
) -> LoadedPlan:
    whole = plain(document.root)
    if scenario.workload.arrivals.kind == "trace":
        whole["workload"] = check.head["workload"]
    return LoadedPlan(
        name=scenario.name,
        path=document.source.path,
        scenario=scenario,
        plan=plan,
        choices={candidate.name: candidate.choices for candidate in kept},
        offers={candidate.name: candidate.offer for candidate in kept},
        refused=tuple(Refused(why, len(of), of[0].name) for why, of in check.refused.items()),
        documents=check.documents,
        base=check.head,
        document=whole,
    )


def described(found: Mapping[str, Any], loaded: LoadedPlan) -> dict[str, Any]:
    """What a search found, with what the file says of each candidate, and of those that are none.

    found: in the shape of `simulator.planning.search.plan_json`.
    """
    points = [
        {**point, "offer": loaded.offers[point["name"]], "choices": loaded.choices[point["name"]]}
        for point in found["points"]
    ]
    counts = {**found["counts"], "refused": sum(one.count for one in loaded.refused)}
    refused = [{"reason": one.reason, "count": one.count, "example": one.example} for one in loaded.refused]
    return {**found, "points": points, "counts": counts, "refused": refused}
