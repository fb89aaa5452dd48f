"""Deployments to export."""

from typing import Any

import yaml

from app.export.exported import Exported, exported
from scenarios.load import load_scenario
from simulator.spec.scenario import Scenario
from tests.app import toys

ACCEPTED = {"all": {"survival": [0.8, 0.6, 0.4]}}
CHAIN = {"draft_tokens": 3}
MODEL = {"kind": "drafts", "drafts": {"small": {"model": "llama-3.2-1b", "acceptance": ACCEPTED}}, "propose": CHAIN}
NGRAM = {"kind": "ngram", "drafts": {"copy": {"ngram": {}, "acceptance": ACCEPTED}}, "propose": CHAIN}
DYNAMIC_TREE = {"shape": "dynamic_tree", "depth": 3, "top_k": 2, "nodes": 6}
BANDS = [[1, 8, 3], [9, 64, 1], [65, 256, 0]]
BY_BATCH = {"kind": "by_batch", "schedule": BANDS}


def head(method: str, **propose: Any) -> dict[str, Any]:
    """A head of the target."""
    acceptance = {"all": ACCEPTED["all"] | ({"of": "tree"} if propose.get("shape") == "dynamic_tree" else {})}
    drafts = {"head": {"head": {"method": method}, "acceptance": acceptance}}
    return {"kind": "heads", "drafts": drafts, "propose": propose or CHAIN}


def scenario(speculation: dict[str, Any] | None = None, **changes: dict[str, Any]) -> Scenario:
    """One deployment `plain`; changes: of its target and engine, or of the workload."""
    document = yaml.safe_load(toys.SMALL)
    plain = document["deployments"]["plain"]
    for name in ("target", "engine"):
        plain[name] |= changes.get(name, {})
    plain |= changes.get("deployment", {})
    document["workload"] |= changes.get("workload", {})
    if speculation is not None:
        plain["speculation"] = speculation
    return load_scenario("small.yaml", text=yaml.safe_dump(document)).points[0].scenario


def export(name: str, speculation: dict[str, Any] | None = None, **changes: dict[str, Any]) -> Exported:
    """The deployment exported to an engine of this name."""
    return exported(scenario(speculation, **changes), "plain", name)


def filled(one: Exported) -> list[str]:
    """Words of the command, names in place of variables."""
    return one.as_json()["command"]
