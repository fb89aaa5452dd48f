"""The answer of a plan, as plain JSON values too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.outcome.latency import METRICS
from simulator.outcome.plain import plain
from simulator.planning.economics import HOURS_PER_MONTH
from simulator.planning.search.pareto import Latency
from simulator.planning.search.points import Point
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

TOLD = (*METRICS, "tokens_per_step", "mean_batch", "req_per_s", "output_tokens_per_s")
"""Figures whose intervals a point tells."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What a search found."""

    scenario: Scenario
    question: Plan
    points: tuple[Point, ...]
    """Every candidate, in their order."""
    choice: Point | None
    """The cheapest that holds; None where nothing does."""
    runner_up: Point | None
    """The cheapest of another GPU type, else of the same."""
    runner_ups: Mapping[str, str | None]
    """`other_gpu` and `same_gpu` → name of the cheapest besides the choice."""
    pareto: tuple[str, ...]
    """Names of the Pareto set, the cheapest first."""
    latency: Latency
    """By which the Pareto set is told."""
    counts: Mapping[str, int]
    flip: list[dict[str, Any]]
    binds: dict[str, Any] | None
    confidence: dict[str, Any] | None
    """How sure it is that the choice holds; None where it was not simulated."""
    nearest: dict[str, Any] | None
    """Where nothing holds, what comes nearest."""
    relax: list[dict[str, Any]]
    """Where nothing holds, what would have to change, the least first."""
    draft_schedule: dict[str, Any] | None
    """Best K by batch and context of the choice; None without one, or without drafts."""
    provenance: dict[str, Any]
    seconds: float


def plan_json(result: PlanResult) -> dict[str, Any]:
    """A plan as plain JSON values, None for what is not known."""
    found: dict[str, Any] = plain(
        {
            "scenario": result.scenario.name,
            "choice": None if result.choice is None else result.choice.name,
            "runner_up": None if result.runner_up is None else result.runner_up.name,
            "runner_ups": result.runner_ups,
            "pareto": list(result.pareto),
            "latency": result.latency._asdict(),
            "points": [_point(result, point) for point in result.points],
            "counts": dict(result.counts),
            "flip": result.flip,
            "binds": result.binds,
            "confidence": result.confidence,
            "nearest": result.nearest,
            "relax": result.relax,
            "draft_schedule": result.draft_schedule,
            "provenance": result.provenance,
            "seconds": result.seconds,
        }
    )
    return found


def _point(result: PlanResult, point: Point) -> dict[str, Any]:
    row: Mapping[str, Any] = point.row or {}
    usd, offered, capacity = point.usd_per_hour, point.offered_req_per_s, point.capacity_req_per_s
    return {
        "name": point.name,
        "gpu": point.gpu,
        "replicas": point.replicas,
        "spare_replicas": point.spare_replicas,
        "num_gpus": point.num_gpus,
        "usd_per_hour": usd,
        "usd_per_month": None if usd is None else usd * HOURS_PER_MONTH,
        "usd_per_million_output_tokens": point.usd_per_million(row.get("output_tokens_per_s")),
        "usd_per_million_output_tokens_at_capacity": point.usd_per_million(point.output_tokens_per_s_at_capacity),
        **{metric: row.get(metric) for metric in METRICS},
        "offered_req_per_s": offered,
        "capacity_req_per_s": capacity,
        "utilisation": None if offered is None or not capacity else offered / capacity,
        "users_served": _users_served(result.question, row, capacity),
        "tokens_per_step": row.get("tokens_per_step"),
        "mean_batch": row.get("mean_batch"),
        "bound_by": row.get("bound_by"),
        "speculation": row.get("speculation"),
        "why_not": point.why_not,
        "method": point.method,
        **_replicated(point),
        "interval": {key: ends for key, ends in (row.get("interval") or {}).items() if key.partition(".")[0] in TOLD},
    }


def _users_served(question: Plan, row: Mapping[str, Any], capacity: float | None) -> float | None:
    """Users whose cycle of thinking and waiting brings the capacity, if answers stay as fast as they are.

    The headroom stays free.
    """
    if question.users is None or capacity is None or not row:
        return None
    return capacity * (1.0 - question.headroom) * (question.users.think_s + float(row["e2e_s"]["mean"]))


def _replicated(point: Point) -> dict[str, Any]:
    tried = point.tried
    if tried is None:
        return {"replications": None, "holds_share": None, "holds_share_interval": None}
    count = len(tried.outcomes)
    return {"replications": count, "holds_share": tried.held / count, "holds_share_interval": list(tried.interval)}
