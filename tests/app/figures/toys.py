"""Curves, ledgers and drawn deployments by hand, and what a figure shows."""

from typing import Any

from app.figures.load import Drawn
from app.figures.style import looks
from simulator.planning.load_curve import CurvePoint, LoadCurve

LOOKS = looks({"h200": ("h200-sxm", False), "b200": ("b200-sxm", True)})


def point(rate: float, seconds: float, good: float | None = None) -> CurvePoint:
    latency = dict.fromkeys(("mean", "p50", "p90", "p95", "p99"), seconds)
    return CurvePoint(rate, dict.fromkeys(("ttft_s", "tpot_s", "e2e_s"), latency), good, rate * 200, 30 / rate, True)


def curve(capacity: float = 6.0) -> LoadCurve:
    """A queue that saturates at 10 requests/s; its knee lies at 5."""
    points = [point(rate, 1 / (10 - rate), min(rate, capacity)) for rate in (1, 2, 3, 4, 5, 6, 7, 8, 9)]
    spread = [0.1, 0.2, 0.4]
    return LoadCurve(points, capacity, 4.0, [0.1, 0.5, 0.9], {"ttft_s": spread, "tpot_s": spread, "e2e_s": spread})


def drawn(name: str = "h200", **changes: Any) -> Drawn:
    return Drawn(name, LOOKS[name], curve(), "profile x")._replace(**changes)


def trial(load: float, **changes: Any) -> dict[str, Any]:
    made = {
        "replication": 0, "load": load, "req_per_s": load, "ttft_s_p95": 0.3, "tpot_s_p95": 0.02, "e2e_s_mean": 1.0,
        "goodput_req_per_s": load * 0.9, "holds": True, "saturated": False,
    }  # fmt: skip
    return made | changes


def ledger_row(deployment: str = "h200", **changes: Any) -> dict[str, Any]:
    made = {
        "deployment": deployment, "role": "target", "gpu": "h200-sxm", "hbm_bytes": 100e9, "usable_bytes": 90e9,
        "target_weights_bytes": 40e9, "draft_weights_bytes": 0, "draft_weights_bytes_by_draft": {},
        "router_weights_bytes": 0, "activation_bytes": 5e9, "runtime_bytes": 1e9,
        "kv_host_bytes": 0, "kv_host_share": 0.0, "kv_budget_bytes": 44e9, "kv_tokens": 1000, "max_sequences_at": {1024: 80, 8192: 10, 131072: 0}, "fits": True,
        "shortfall_bytes": 0, "reason": "",
    }  # fmt: skip
    return made | changes


def texts(figure: Any) -> str:
    """All that hovering over a figure says."""
    found = []
    for trace in figure.data:
        for said in (trace.text, getattr(trace, "customdata", None)):
            found += [str(item) for item in said] if said is not None else []
    return "\n".join(found)


def named(figure: Any, name: str) -> list[Any]:
    """The traces of a deployment."""
    return [trace for trace in figure.data if trace.name == name]
