"""A small plan file, and a hand-made answer to it."""

from typing import Any

from tests.app import toys

SMALL = (
    toys.SMALL.replace("price: 3.5", "price: {catalog: nebius-on-demand}")
    + """\
plan:
  vary: {gpu: [h200-sxm, b200-sxm], engine.max_num_seqs: [8, 64]}
  headroom: 0.2
"""
)
CHEAP, OTHER = "plain.h200-sxm.seqs64", "plain.b200-sxm.seqs64"


def point(name: str = CHEAP, **changes: Any) -> dict[str, Any]:
    """A candidate that holds, as it was simulated."""
    latency = {"mean": 0.2, "p50": 0.1, "p90": 0.3, "p95": 0.4, "p99": 0.9}
    made = {
        "name": name,
        "gpu": name.split(".")[1],
        "replicas": 2,
        "spare_replicas": 1,
        "num_gpus": 3,
        "usd_per_hour": 13.5,
        "usd_per_month": 9855.0,
        "usd_per_million_output_tokens": 46.9,
        "usd_per_million_output_tokens_at_capacity": 4.0,
        "ttft_s": dict(latency),
        "tpot_s": {key: value / 10 for key, value in latency.items()},
        "e2e_s": dict(latency),
        "offered_req_per_s": 4.0,
        "capacity_req_per_s": 16.0,
        "users_served": None,
        "utilisation": 0.25,
        "tokens_per_step": 1.0,
        "mean_batch": 3.5,
        "bound_by": "weight_bandwidth",
        "why_not": None,
        "method": "simulated",
        "replications": 6,
        "holds_share": 1.0,
        "interval": {"capacity_req_per_s": [15.0, 17.0]},
    }
    return made | changes


def no_answer(name: str, why: str = "does not fit: lacks 9.00 GiB") -> dict[str, Any]:
    """A candidate of which nothing holds."""
    unknown = dict.fromkeys(point()) | {"interval": {}, "spare_replicas": 1, "method": "bound"}
    return unknown | {"name": name, "gpu": name.split(".")[1], "why_not": why}


def answer(**changes: Any) -> dict[str, Any]:
    """The answer to SMALL as the search gives it."""
    points = [
        no_answer("plain.h200-sxm.seqs8"),
        point(CHEAP),
        no_answer("plain.b200-sxm.seqs8", "needs at least $99.00/h, over 2 times the cheapest"),
        point(OTHER, usd_per_hour=20.25, usd_per_month=14_783.0, method="estimated", replications=None),
    ]
    made = {
        "choice": CHEAP,
        "runner_up": OTHER,
        "pareto": [CHEAP, OTHER],
        "points": points,
        "counts": {"candidates": 4, "refused": 0, "bounded": 2, "estimated": 1, "simulated": 1},
        "flip": [{"kind": "price", "sentence": "cheaper while the moon is full", "tie": 1.5}],
        "binds": {"kind": "slo", "sentence": "with one replica less ttft_s.p95 is at 1.20 of its limit"},
        "nearest": None,
        "relax": [],
        "draft_schedule": None,
        "fleet": None,
        "confidence": {"sentence": "held in 6 of 6 replications"},
        "provenance": {"version": "1", "seed": 7, "replications": 2, "prices": {}, "assumptions": []},
        "seconds": 1.5,
    }
    return made | changes


def nothing() -> dict[str, Any]:
    """The answer where nothing holds."""
    none = {"choice": None, "runner_up": None, "pareto": [], "flip": [], "binds": None, "confidence": None}
    return answer(
        **none,
        points=[no_answer(name) for name in ("plain.h200-sxm.seqs8", CHEAP, "plain.b200-sxm.seqs8", OTHER)],
        nearest={"sentence": "with slo.ttft_s.p95 2, it holds"},
        relax=[{"sentence": "with slo.ttft_s.p95 2, it holds"}],
    )
