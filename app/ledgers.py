"""HBM ledgers as rows: of a scenario's deployments, or of one that a few flags describe."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario

FLAGS = {"tensor_parallel": "tp", "data_parallel": "dp", "expert_parallel": "ep"}
"""Field → flag, where they differ by more than dashes."""


def draft_parts(row: Mapping[str, Any]) -> dict[str, int]:
    """Draft weights by draft, and those of the router where there is one [bytes]."""
    router = row["router_weights_bytes"]
    return {**row["draft_weights_bytes_by_draft"], **({"(router)": router} if router else {})}


def of_scenario(loaded: "LoadedScenario") -> list[dict[str, Any]]:
    """Ledger rows of all points, by deployment; what a sweep does not change stands once and names no point."""
    from scenarios.store import label_of
    from simulator.physics.ledger import memory_ledger

    found: dict[str, list[tuple[Any, str]]] = {}
    for point in loaded.points:
        for name, deployment in point.scenario.deployments.items():
            rows = found.setdefault(name, [])
            known = [row for row, _ in rows]
            rows += [(row, label_of(point.label)) for row in memory_ledger(name, deployment) if row not in known]
    return [
        {**asdict(row), "point": point if len(rows) > 1 else label_of({})}
        for rows in found.values()
        for row, point in rows
    ]


def of_deployment(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ledger rows of a deployment without price or traffic; ScenarioError names the flags that are wrong."""
    from pydantic import ValidationError

    from simulator.errors import ScenarioError
    from simulator.physics.checks import check_deployment
    from simulator.physics.ledger import memory_ledger
    from simulator.spec.deployment import Deployment

    try:
        deployment = Deployment.model_validate({"replicas": 1, "price": 1.0, **described})
    except ValidationError as error:
        raise ScenarioError("\n".join(_flag_problem(problem) for problem in error.errors())) from None
    _check_names(deployment.gpu, deployment.target.model, deployment.engine.policy)
    name = deployment.target.model
    problems = check_deployment(name, deployment)
    if problems:
        raise ScenarioError("\n".join(_with_flag(problem) for problem in problems))
    return [asdict(row) for row in memory_ledger(name, deployment)]


def _check_names(gpu: str, model: str, policy: str) -> None:
    from simulator.catalog.load import load_engine, load_gpu, load_model
    from simulator.errors import CatalogError, ScenarioError

    problems = []
    for flag, name, load in (
        ("--gpu", gpu, load_gpu),
        ("--model", model, load_model),
        ("--policy", policy, load_engine),
    ):
        try:
            load(name)
        except (CatalogError, ScenarioError) as error:
            problems.append(f"{flag}: {error}")
    if problems:
        raise ScenarioError("\n".join(problems))


def _flag_problem(problem: Any) -> str:
    place = next((part for part in reversed(problem["loc"]) if isinstance(part, str)), "")
    flag = f"{_flag(place)}: " if place not in ("", "target") else ""
    return f"{flag}{problem['msg'].removeprefix('Value error, ')}, not {problem['input']!r}" if flag else problem["msg"]


def _with_flag(problem: str) -> str:
    place, colon, message = problem.partition(":")
    return f"{_flag(place.rpartition('.')[2])}{colon}{message}"


def _flag(field: str) -> str:
    """The flag of a field.

    >>> _flag("tensor_parallel"), _flag("max_model_len")
    ('--tp', '--max-model-len')
    """
    return f"--{FLAGS.get(field, field.replace('_', '-'))}"
