"""The manifest of a run folder: what made the results, where and how long it took."""

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.simulate import FileRun


def manifest(run: "FileRun", summary: dict[str, Any]) -> dict[str, Any]:
    """What the results follow from, and what they do not: host, time of day, seconds."""
    from scenarios.store import catalog_hash, code_hash

    provenance = summary["provenance"]
    return {
        "scenario": run.loaded.name,
        "complete": not run.interrupted,
        "hash": run.folder.digest,
        "version": provenance.get("version"),
        "code_hash": code_hash(),
        "catalog_hash": catalog_hash(),
        "seed": provenance.get("seed"),
        "replications": provenance.get("replications"),
        "profile": provenance.get("profile"),
        "prices": provenance.get("prices"),
        "points": [
            {"point": point.label, "hash": point.digest, "seconds": round(point.seconds, 3), "found_again": point.found}
            for point in run.points
        ],
        "points_in_file": len(run.loaded.points),
        "seconds": round(sum(point.seconds for point in run.points), 3),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numpy", "simpy", "pydantic")},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
