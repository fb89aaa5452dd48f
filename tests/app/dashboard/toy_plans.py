"""Answers of the planner by hand, for the built-in scenario with two widths of a replica."""

from typing import Any

from app.dashboard.plan_question import first_question, plan_text
from app.dashboard.planned import Planned, load
from scenarios.load import load_scenario
from tests.app import plan_toys


def point(name: str, **changes: Any) -> dict[str, Any]:
    """A candidate that holds, as the estimate has it."""
    own = {
        "name": name, "offer": name.partition(".")[0], "choices": {"target.tensor_parallel": 2}, "gpu": "h200-sxm",
        "replicas": 3, "num_gpus": 8, "usd_per_hour": 28.0, "usd_per_month": 20_440.0, "capacity_req_per_s": 25.0,
        "utilisation": 0.84, "tokens_per_step": 2.9, "speculation": "llama-3.2-1b, chain of 3", "method": "estimated", "replications": None, "holds_share": None,
        "tpot_s": {"mean": 0.01, "p50": 0.01, "p90": 0.015, "p95": 0.02, "p99": 0.045},
    }  # fmt: skip
    return plan_toys.point("any.h200-sxm") | own | changes


def answer(points: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """What the planner says of candidates, the first of which is the choice."""
    names = [one["name"] for one in points if not one["why_not"]]
    own = {
        "choice": names[0] if names else None, "runner_up": names[1] if len(names) > 1 else None, "pareto": names[:2],
        "points": points, "counts": {"candidates": 56, "refused": 4, "bounded": 30, "estimated": 20, "simulated": 2},
        "latency": {"metric": "tpot_s", "percentile": "p95"},
        "fleet": None, "refused": [{"reason": "too wide", "count": 4, "example": "x.tp1"}],
    }  # fmt: skip
    return plan_toys.answer() | own | changes


def planned() -> Planned:
    """A plan of the built-in scenario, and an answer to it."""
    scenario = load_scenario("h200_vs_b200_chat")
    asked = first_question(scenario.points[0].scenario)
    narrow = asked.plan.model_copy(update={"vary": {"target.tensor_parallel": (2, 4)}})
    loaded = load(plan_text(scenario.base, asked.model_copy(update={"plan": narrow})))
    names = list(loaded.scenario.deployments)
    b200 = next(name for name in names if name.startswith("b200"))
    made = [point(names[0]), point(b200, gpu="b200-sxm", usd_per_hour=33.0, num_gpus=6)]
    return Planned(loaded, answer(made), simulated=False)
