"""What an acceptance run leaves behind: figures by class, a block for scenarios, and presets for a catalog."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from calibration.acceptance_run import AcceptancePlan
from calibration.importers.finding import AcceptanceFinding, held_out_error
from calibration.whole_file import write_whole

Parts = Mapping[str, AcceptanceFinding]


def write_results(plan: AcceptancePlan, folder: Path, catalog: Path, found: Mapping[str, Parts]) -> dict[str, Path]:
    """Write acceptance.json and scenario-block.yaml, and a preset for each class into a catalog; where each lies."""
    paths = {"figures": folder / "acceptance.json", "block": folder / "scenario-block.yaml"}
    write_whole(paths["figures"], json.dumps(figures(plan, found), indent=2) + "\n")
    block = {"acceptance": {name: parts["all"].block() for name, parts in found.items()}}
    write_whole(paths["block"], _yaml(block))
    for name, parts in found.items():
        preset = f"{plan.name}-{name}".lower()
        paths[name] = catalog / "acceptance" / f"{preset}.yaml"
        write_whole(paths[name], _yaml(_preset(plan, preset, name, parts["all"])))
    return paths


def figures(plan: AcceptancePlan, found: Mapping[str, Parts]) -> dict[str, Any]:
    """All that was found, by class: of all requests, of those to fit to, of those held out."""
    return {
        "plan": asdict(plan),
        "classes": {
            name: {
                **{
                    part: asdict(finding) | {"acceptance_rate": finding.acceptance_rate} for part, finding in of.items()
                },
                "block": of["all"].block(),
                "held_out_error": held_out_error(of),
            }
            for name, of in found.items()
        },
    }


def _preset(plan: AcceptancePlan, preset: str, name: str, finding: AcceptanceFinding) -> dict[str, Any]:
    block = finding.block()
    said = {"name": preset, "title": f"{plan.model}, {plan.draft} at K = {plan.draft_tokens}, {name}", **block}
    texts = f"texts of {plan.text}" if plan.text else "the engine's own texts"
    run = f"{finding.requests} requests of up to {plan.tokens} output tokens, greedy"
    measured = {
        "kind": "measured",
        "ref": f"specfleet calibrate acceptance: {run}, {texts}",
        "date": datetime.now(UTC).date(),
    }
    return {**said, "source": "run", "sources": {"run": measured}}


def _yaml(document: Mapping[str, Any]) -> str:
    said: str = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return said
