"""The manifest of a run folder: what made the results, where and how long it took."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.simulate import FileRun


def manifest(run: "FileRun", summary: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
    """What the results follow from, and what they do not: host, time of day, seconds.

    summary: of what is finished; empty while nothing is.
    """
    from scenarios.store import catalog_hash, code_hash

    provenance = summary.get("provenance") or {}
    return {
        "scenario": run.loaded.name,
        "complete": complete,
        "hash": run.folder.digest,
        "version": _version("specfleet"),
        "code_hash": code_hash(),
        "catalog_hash": catalog_hash(),
        "seed": provenance.get("seed"),
        "replications": provenance.get("replications"),
        "profile": provenance.get("profile"),
        "prices": provenance.get("prices"),
        "own_sources": _own_sources(provenance),
        "gpus": _gpus(run),
        "winner": (summary.get("comparison") or {}).get("winner"),
        "points": [
            {"point": point.label, "hash": point.digest, "seconds": round(point.seconds, 3), "found_again": point.found}
            for point in run.finished()
        ],
        "points_in_file": len(run.loaded.points),
        "hashes": run.digests,
        "seconds": round(sum(point.seconds for point in run.finished()), 3),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numpy", "simpy", "pydantic")},
    }


def _own_sources(provenance: Mapping[str, Any]) -> list[str]:
    """What the run takes from files of the user's own, the catalog's beside the package and every config.json."""
    sources = provenance.get("sources") or ()
    return [f"{source['file']}: {source['ref']}" for source in sources if source.get("own_file") or not source["date"]]


def _gpus(run: "FileRun") -> list[str]:
    """GPUs of all deployments, those of drafts not counted."""
    return sorted({of.gpu for point in run.loaded.points for of in point.scenario.deployments.values()})


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
