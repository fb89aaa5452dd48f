"""Hand-made rows and comparisons, a small scenario, and a way to call the command line."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from app.main import build_app

SMALL = """\
schema_version: 1
name: small
seed: 7
replications: 2
workload:
  arrivals: {kind: poisson, rate_per_s: 4}
  lengths: {kind: fixed, prompt_tokens: 200, output_tokens: 20}
  horizon: {requests: 60, warmup_requests: 5}
slo: {ttft_s: {p95: 1.0}}
deployments:
  plain:
    gpu: h200-sxm
    replicas: 1
    price: 3.5
    target: {model: llama-3.1-8b, weights: bf16}
    engine: {policy: vllm, max_model_len: 4096}
"""
TOO_LARGE = "deployments.plain.target.model=llama-3.1-405b"


def row(deployment: str = "plain", **changes: Any) -> dict[str, Any]:
    """A result row with every field of a good run."""
    latency = {"mean": 0.2, "p50": 0.1, "p90": 0.3, "p95": 0.4, "p99": 0.9}
    made = {
        "deployment": deployment,
        "gpu": "h200-sxm",
        "num_gpus": 2,
        "point": "base",
        "replication": "all",
        "offered_req_per_s": 12.0,
        "req_per_s": 11.9,
        "output_tokens_per_s": 2500.0,
        "ttft_s": dict(latency),
        "tpot_s": {name: value / 10 for name, value in latency.items()},
        "itl_s": dict(latency),
        "e2e_s": dict(latency),
        "tokens_per_step": 2.4,
        "draft_tokens_mean": 3.0,
        "acceptance_rate": 0.47,
        "mean_batch": 5.5,
        "kv_utilisation_mean": 0.25,
        "kv_utilisation_max": 0.6,
        "saturated": False,
        "holds_slo": True,
        "fits": True,
        "reason": None,
        "capacity_req_per_s": 15.0,
        "utilisation": 0.8,
        "replicas_for_offered": 2,
        "gpus_for_offered": 2,
        "usd_per_hour_for_offered": 7.0,
        "usd_per_hour": 7.0,
        "usd_per_million_output_tokens": 0.78,
        "usd_per_million_output_tokens_at_capacity": 0.6,
        "bound_by": "weight_bandwidth",
        "interval": {"capacity_req_per_s": [14.5, 15.5]},
    }
    return made | changes


def unfit_row(deployment: str = "huge") -> dict[str, Any]:
    """The row of a deployment that does not fit: nothing is known of it."""
    known = {"deployment": deployment, "gpu": "h100-sxm", "num_gpus": 1, "fits": False, "reason": "lacks 9.00 GiB"}
    latencies = {name: dict.fromkeys(("p50", "p95")) for name in ("ttft_s", "tpot_s", "itl_s", "e2e_s")}
    return dict.fromkeys(row()) | latencies | {"interval": {}, "holds_slo": False, "bound_by": "memory"} | known


def comparison(leader: str | None = "plain", runner_up: str | None = "spec", **changes: Any) -> dict[str, Any]:
    """A comparison by the offered load."""
    costs = {name: cost for name, cost in ((leader, 7.0), (runner_up, 14.0)) if name}
    made = {
        "winner": leader,
        "leader": leader,
        "basis": "usd_per_hour_for_offered",
        "runner_up": runner_up,
        "ratio": 2.0 if runner_up else None,
        "interval": [1.9, 2.1] if runner_up else None,
        "close_call": False,
        "flip": {"sentence": "cheaper while it rains"} if runner_up else None,
        "why": "because it serves more",
        "by_load": {"basis": "usd_per_hour_for_offered", "leader": leader, "costs": costs},
        "by_capacity": {
            "basis": "usd_per_million_output_tokens_at_capacity",
            "leader": leader,
            "costs": {name: cost / 10 for name, cost in costs.items()},
        },
        "disagree": None,
        "unable": {},
    }
    return made | changes


def call(*arguments: str | Path) -> Any:
    """What a command answers: exit_code, stdout, stderr."""
    return CliRunner(env={"COLUMNS": "120"}).invoke(build_app(), [str(argument) for argument in arguments])


def rendered(*blocks: Any, width: int = 120) -> str:
    """Blocks as a terminal without colours shows them."""
    from rich.console import Console

    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        for block in blocks:
            console.print(block)
    return capture.get()
