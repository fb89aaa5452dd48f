"""What an acceptance run leaves behind: figures by class, a block for scenarios, and presets for a catalog."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from calibration.acceptance_plan import AcceptancePlan
from calibration.acceptance_scenario import Measured, acceptance_by_class, ahead, any_tree, choices, speculation
from calibration.importers.finding import AcceptanceFinding, held_out_error
from calibration.whole_file import write_whole


def write_results(of: Measured, folder: Path, catalog: Path) -> dict[str, Path]:
    """Write acceptance.json and scenario-block.yaml, and a preset for each class into a catalog; where each lies.

    Presets are of chains that one draft proposes; a tree, a router and a union need a whole block.
    """
    paths = {"figures": folder / "acceptance.json", "block": folder / "scenario-block.yaml"}
    write_whole(paths["figures"], json.dumps(figures(of), indent=2) + "\n")
    write_whole(paths["block"], _yaml({"speculation": speculation(of)}))
    drafts = of.plan.drafts
    for name, parts in of.found.items() if drafts.shape() is None and not drafts.several else ():
        preset = f"{of.plan.name}-{name}".lower()
        paths[name] = catalog / "acceptance" / f"{preset}.yaml"
        write_whole(paths[name], _yaml(_preset(of.plan, preset, name, parts["all"])))
    return paths


def figures(of: Measured) -> dict[str, Any]:
    """All that was found, by class: of all requests, of those to fit to, of those held out."""
    more = {"any_tree": any_tree(of), "ahead": ahead(of), "routed_to": choices(of.records)}
    blocks = acceptance_by_class(of)
    return {
        "plan": asdict(of.plan),
        "classes": {
            name: {
                **{
                    part: asdict(finding) | {"acceptance_rate": finding.acceptance_rate}
                    for part, finding in parts.items()
                },
                "block": blocks[name],
                "held_out_error": held_out_error(parts),
                **{what: by_class[name] for what, by_class in more.items() if name in by_class},
            }
            for name, parts in of.found.items()
        },
        "parts": {name: figures(alone) for name, alone in of.parts.items()},
    }


def _preset(plan: AcceptancePlan, preset: str, name: str, finding: AcceptanceFinding) -> dict[str, Any]:
    block = finding.block()
    said = {"name": preset, "title": f"{plan.model}, {plan.drafts.label} at K = {plan.draft_tokens}, {name}", **block}
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
