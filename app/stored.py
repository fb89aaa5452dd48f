"""A run folder's summary put together again from the points that it holds, finished or not."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.results import PointResult, put_together

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario


def stored_summary(path: Path) -> "tuple[LoadedScenario, dict[str, Any]]":
    """The scenario of a run folder, and the summary of those of its points that are finished.

    Raises ScenarioError where it is no run folder, holds no point yet, or was written by another version.
    """
    from scenarios.load import load_scenario
    from scenarios.runs import read_manifest
    from simulator.errors import ScenarioError

    manifest = read_manifest(path)
    loaded = load_scenario(path / "scenario.yaml")
    points = _points(path, loaded, manifest)
    if not points:
        raise ScenarioError(f"{path}: no point of it is finished yet")
    whole = len(points) == len(loaded.points)
    return loaded, put_together(loaded.name, points, loaded.asserts if whole else ())


def _points(path: Path, loaded: "LoadedScenario", manifest: Mapping[str, Any]) -> list[PointResult]:
    """The finished points, in the order of the grid; by their hashes as they were when the run was begun."""
    from scenarios.store import RunFolder, label_of

    hashes = manifest.get("hashes") or [point["hash"] for point in manifest["points"]]
    folder = RunFolder(path.parent, loaded.name, str(manifest["hash"]))
    return [
        PointResult(label_of(point.label), point.label, digest, folder.result(digest), 0.0)
        for point, digest in zip(loaded.points, hashes, strict=False)
        if folder.file_of(digest).is_file()
    ]
