"""A run folder as it was written; one message where it is none, or another version's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Key = tuple[str, str]
"""Point and deployment."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a run folder holds."""

    path: Path
    manifest: Mapping[str, Any]
    provenance: Mapping[str, Any]
    document: Mapping[str, Any]
    """The resolved scenario."""
    rows: Mapping[Key, Mapping[str, Any]]
    """Over replications."""
    replications: Mapping[Key, Mapping[int, Mapping[str, Any]]]

    @property
    def points(self) -> list[str]:
        """Labels of its points."""
        return list(dict.fromkeys(point for point, _ in self.rows))


def read_run(path: Path) -> StoredRun:
    """Read a run folder.

    Raises ScenarioError where it is no run folder, is not finished, or was written by another version.
    """
    import yaml

    from scenarios.runs import read_manifest
    from simulator.errors import ScenarioError

    manifest = read_manifest(path)
    if not manifest.get("complete"):
        raise ScenarioError(f"{path}: interrupted, or still going on; run the scenario again to finish it")
    try:
        summary = json.loads((path / "summary.json").read_bytes())
        document = yaml.safe_load((path / "scenario.yaml").read_bytes())
        points = {point["point"]: _point(path, point["hash"]) for point in manifest["points"]}
        rows = {(row["point"], row["deployment"]): row for row in summary["rows"]}
        replications: dict[Key, dict[int, Mapping[str, Any]]] = {key: {} for key in rows}
        for label, result in points.items():
            for row in result["replications"]:
                replications[label, row["deployment"]][row["replication"]] = row
        return StoredRun(path, manifest, summary["provenance"], document, rows, replications)
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise ScenarioError(f"{path}: not a whole run folder ({error}); run the scenario again with --force") from None


def _point(path: Path, digest: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((path / "points" / f"{digest}.json").read_bytes())["result"]
    return found
