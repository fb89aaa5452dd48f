"""The folder of a plan: the question, what came of it, and its answers as scenario files to run.

runs/plan-<scenario>-<hash8>/
    plan.yaml               the question with sets applied: loads to the same candidates from anywhere
    candidates.parquet      a row a candidate
    pareto/<candidate>.yaml each cluster of the Pareto set
    choice.yaml             the choice beside its runner-up; asserts that the choice holds the load
    plan.json               what came of it; written last, so that where it is the rest is whole
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from scenarios.candidates import LONGEST_NAME
from scenarios.columns import write_parquet
from scenarios.plan_file import LoadedPlan
from scenarios.store import RunFolder, digest_of, point_hash, to_yaml

PLAN_VERSION = 1
"""Part of every plan's hash: raised when plan.json changes its shape."""

Found = dict[str, Any]
"""What came of a plan, in the shape of `plan --json`."""


def plan_folder(out: Path, loaded: LoadedPlan) -> RunFolder:
    """The folder of a plan, by all that its answer follows from."""
    asked = digest_of(point_hash(loaded.scenario), loaded.plan.model_dump_json(), str(PLAN_VERSION))
    return RunFolder(out, f"plan-{loaded.name}", asked)


def find_plan(folder: RunFolder) -> Found | None:
    """What an earlier search of the same question found; None where there is none that is whole."""
    try:
        found = json.loads((folder.path / "plan.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.pop("hash", None) != folder.digest:
        return None
    return found if all((folder.path / name).is_file() for name in _names(found)) else None


def _names(found: Found) -> Iterator[str]:
    """Files of the folder beside plan.json."""
    yield from ("plan.yaml", "candidates.parquet")
    yield from (f"pareto/{name}.yaml" for name in found["pareto"])
    if found["choice"] is not None:
        yield "choice.yaml"


def prepare_plan(folder: RunFolder, loaded: LoadedPlan) -> None:
    """Write the question; ScenarioError where nothing can be written, before anything is computed for nothing."""
    folder.write_text("plan.yaml", to_yaml(loaded.document))


def write_plan(folder: RunFolder, loaded: LoadedPlan, found: Mapping[str, Any]) -> None:
    """Write what came of a plan, and its answers as files to run."""
    points = {point["name"]: point for point in found["points"]}
    folder.write("candidates.parquet", partial(write_parquet, found["points"]))
    for name in found["pareto"]:
        folder.write_text(f"pareto/{name}.yaml", runnable(loaded, [points[name]], name))
    if found["choice"] is not None:
        pair = dict.fromkeys(name for name in (found["choice"], found["runner_up"]) if name is not None)
        folder.write_text("choice.yaml", runnable(loaded, [points[name] for name in pair], "choice"))
    text = json.dumps({"hash": folder.digest, **found}, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    folder.write_text("plan.json", f"{text}\n")


def runnable(loaded: LoadedPlan, points: Iterable[Mapping[str, Any]], suffix: str) -> str:
    """Clusters of a plan as the text of a scenario file, with their replicas and spares, under the plan's load.

    The first one must hold the load, which is its own where users bring it: the file asserts that.
    suffix: end of the scenario's name.
    """
    first, *_ = points = list(points)
    document = {
        **loaded.base,
        "name": f"{loaded.name}-{suffix}"[:LONGEST_NAME],
        "description": f"Does {first['name']} hold the load? An answer of the plan of {loaded.name}.",
        "workload": _workload(loaded, first),
        "deployments": {point["name"]: loaded.documents[point["name"]] | _replicas(point) for point in points},
        "assert": [f"{first['name']}.holds_slo == true"],
    }
    return f"# Written by specfleet plan.\n{to_yaml(document)}"


def _replicas(point: Mapping[str, Any]) -> dict[str, int]:
    return {"replicas": point["replicas"] + point["spare_replicas"]}


def _workload(loaded: LoadedPlan, point: Mapping[str, Any]) -> dict[str, Any]:
    """The workload at the rate that a cluster is offered."""
    workload: dict[str, Any] = loaded.base["workload"]
    if loaded.plan.users is None:
        return workload
    return {**workload, "arrivals": {**workload["arrivals"], "rate_per_s": point["offered_req_per_s"]}}
