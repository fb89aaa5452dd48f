"""The built-in scenarios in small, studied: what golden files hold. A freeze of what came out, not proof of it."""

import json
from pathlib import Path
from typing import Any

from scenarios.load import load_scenario
from simulator.planning.estimate import guess_capacity
from simulator.planning.study import study, to_json_ready

FOLDER = Path(__file__).parent
SMALL = ("workload.horizon={requests: 400, warmup_requests: 40}", "replications=2")
FULL_SOONER = "deployments.one-plain.engine={policy: vllm, max_model_len: 16384, max_num_seqs: 32}"
"""In a short run a large batch is never full."""
KEPT = ("rows", "comparison")
"""Parts of a study that are kept: the replications would be many, the provenance follows the catalog."""
DIGITS = 6
"""Significant digits that are kept: those beyond differ between processors."""


def small_report(name: str) -> dict[str, Any]:
    """A built-in scenario with few requests and replications, studied."""
    sets = (*SMALL, FULL_SOONER) if name == "saturated" else SMALL
    scenario = load_scenario(name, sets).points[0].scenario
    return to_json_ready(study(scenario, guess=guess_capacity))


def text_of(report: dict[str, Any]) -> str:
    """A report as a golden file holds it."""
    return json.dumps({part: rounded(report[part]) for part in KEPT}, indent=1, ensure_ascii=False) + "\n"


def rounded(value: Any) -> Any:
    """All numbers of a value to DIGITS significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value
