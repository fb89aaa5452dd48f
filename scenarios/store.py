"""The run folder: results by a hash of all that they follow from, written so that no failure leaves half a file.

    runs/<scenario>-<hash8>/
        scenario.yaml  manifest.json  summary.json  summary.parquet  report.html  requests.parquet (on request)
        points/<hash>.json      each finished sweep point, with what its report draws, from which it is found again

A point is found in any folder of the same runs folder, so a longer sweep computes only what it adds. Any number of
processes may write into one runs folder: what two of them write at once is the same.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from scenarios.config_paths import by_content
from scenarios.load import LoadedScenario
from simulator.catalog.load import NOUNS
from simulator.catalog.own import own_files
from simulator.errors import ScenarioError
from simulator.spec.scenario import Scenario

HASH_DIGITS = 16
STORE_VERSION = 2
"""Part of every hash and of every manifest: raised when a stored point changes its shape."""
RECENT = 32
"""Points that are kept in memory once they have been read."""
STALE_S = 86_400.0
"""Age from which a file that a write has not finished is removed [s]."""

Point = dict[str, Any]
"""A finished point: `hash`, `seconds`, and `result`, the study as plain JSON values."""


def point_hash(scenario: Scenario) -> str:
    """Hash of a resolved scenario, the catalog and the code: equal hashes mean equal results.

    A trace and a config.json count by their content, wherever they lie; the description counts for nothing.
    """
    document = by_content(scenario.model_dump(mode="json", exclude={"description"}))
    arrivals = document["workload"]["arrivals"]
    if arrivals["kind"] == "trace":
        arrivals["file"] = _trace_digest(Path(arrivals["file"]))
    return digest_of(json.dumps(document), catalog_hash(), code_hash(), str(STORE_VERSION))


def run_hash(loaded: LoadedScenario) -> str:
    """Hash of all points of a scenario file and of what it asserts."""
    return hash_of_points([point_hash(point.scenario) for point in loaded.points], loaded)


def hash_of_points(hashes: list[str], loaded: LoadedScenario) -> str:
    """The hash of a scenario file whose points' hashes are known."""
    return digest_of(*hashes, *loaded.asserts)


@cache
def catalog_hash() -> str:
    """Hash of the catalog's content, measured profiles and the user's own entries included."""
    own = [part for file in own_files(tuple(NOUNS)) for part in (f"{file.parent.name}/{file.name}", _file_digest(file))]
    return digest_of(*(part for file in _simulator_files() if file.suffix != ".py" for part in _named(file)), *own)


@cache
def code_hash() -> str:
    """Hash of the simulator's code: a version number alone does not tell two working trees apart."""
    return digest_of(*(part for file in _simulator_files() if file.suffix == ".py" for part in _named(file)))


def _simulator_files() -> list[Path]:
    with resources.as_file(resources.files("simulator")) as root:
        found = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return sorted(path for path in found if path.suffix in (".py", ".yaml", ".json", ".csv"))


def _named(file: Path) -> tuple[str, str]:
    """A file's place in the package and its content."""
    parts = file.parts
    return "/".join(parts[len(parts) - parts[::-1].index("simulator") :]), _file_digest(file)


def digest_of(*parts: str) -> str:
    """Hash of texts, each apart from the next."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(f"{len(part)}:".encode())
        whole.update(part.encode())
    return whole.hexdigest()[:HASH_DIGITS]


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


def _trace_digest(path: Path) -> str:
    """Digest of a file that all points of a sweep share: read again only when it has changed."""
    try:
        found = path.stat()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    return _digest_as_of(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _digest_as_of(path: Path, mtime_ns: int, size: int) -> str:
    return _file_digest(path)


class RunFolder:
    """The folder of one scenario file's results."""

    def __init__(self, out: Path, name: str, digest: str) -> None:
        self.out = out
        self.digest = digest
        self.path = out / f"{name}-{digest[:8]}"
        self._neighbours: dict[str, Path] | None = None

    def prepare(self) -> None:
        """Make the folder and try to write; ScenarioError before anything is computed for nothing."""
        with told(self.path):
            (self.path / "points").mkdir(parents=True, exist_ok=True)
            trial = self.path / f".trial-{secrets.token_hex(4)}"
            trial.write_bytes(b"")
            trial.unlink()
        _remove_stale(self.path)

    def file_of(self, digest: str) -> Path:
        """Where a point is kept."""
        return self.path / "points" / f"{digest}.json"

    def find_point(self, digest: str) -> tuple[Point, Path] | None:
        """A finished point, here or in a neighbouring run folder, and the folder that holds it."""
        for file in (self.file_of(digest), self._of_neighbours().get(digest)):
            point = None if file is None else _read_point(file, digest)
            if file is not None and point is not None:
                return point, file.parent.parent
        return None

    def has_point(self, digest: str) -> bool:
        """Whether there is a file of a point, here or in a neighbouring run folder."""
        return digest in self._of_neighbours() or self.file_of(digest).is_file()

    def _of_neighbours(self) -> dict[str, Path]:
        """Digest → file of all points of this runs folder, as it is first looked at."""
        if self._neighbours is None:
            found = sorted(self.out.glob("*/points/*.json"), reverse=True)
            self._neighbours = {file.stem: file for file in found}
        return self._neighbours

    def save_point(self, digest: str, result: Mapping[str, Any], seconds: float) -> None:
        """Keep a finished point."""
        point: Point = {"hash": digest, "seconds": seconds, "result": dict(result)}
        self.write_text(f"points/{digest}.json", json.dumps(point, ensure_ascii=False))

    def result(self, digest: str) -> Mapping[str, Any]:
        """A finished point's result, read when it is looked into; ScenarioError then where it has gone."""
        return StoredResult(partial(_result, self.file_of(digest)))

    def write_text(self, name: str, text: str) -> None:
        """Write a file of the folder, whole or not at all."""

        def write_to(path: Path) -> None:
            path.write_text(text, encoding="utf-8")

        self.write(name, write_to)

    def write(self, name: str, write_to: Callable[[Path], None]) -> None:
        """Let a function write a file beside the old one, then put it in its place."""
        path = self.path / name
        beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        with told(path):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_to(beside)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)


def _remove_stale(folder: Path) -> None:
    """Remove what writes have left behind that were killed, not what others write now."""
    for half in folder.rglob(".*.tmp"):
        with suppress(OSError):
            if time.time() - half.stat().st_mtime > STALE_S:
                half.unlink()


class StoredResult(Mapping[str, Any]):
    """A mapping that is read when it is looked into, and that memory need not hold."""

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read = read

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


@lru_cache(maxsize=RECENT)
def _result(file: Path) -> Mapping[str, Any]:
    """The result in a point's file, whose name is its hash: it never changes."""
    point = _read_point(file, file.stem)
    if point is None:
        raise ScenarioError(f"{file}: cannot be read any more; run the scenario again")
    found: Mapping[str, Any] = point["result"]
    return found


@contextmanager
def told(path: Path) -> Iterator[None]:
    """An error of the file system as one that names the way out."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ScenarioError(f"{path}: cannot be written: {why}; name another folder with --out") from None


def _read_point(file: Path, digest: str) -> Point | None:
    """A stored point; None where there is none, or one that cannot be read."""
    try:
        point = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    whole = isinstance(point, dict) and point.get("hash") == digest and isinstance(point.get("result"), dict)
    return point if whole else None


def label_of(values: Mapping[str, Any]) -> str:
    """Name of a sweep point; `base` where nothing is swept.

    >>> label_of({}), label_of({"seed": 1, "replications": 2})
    ('base', 'seed=1, replications=2')
    """
    return ", ".join(f"{path}={value}" for path, value in values.items()) or "base"


class _NoAnchors(yaml.SafeDumper):
    """Writes what two deployments share twice: the loader refuses anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(document: Mapping[str, Any]) -> str:
    """A scenario's mapping as the text of a file that loads to it again."""
    return str(yaml.dump(dict(document), Dumper=_NoAnchors, sort_keys=False, allow_unicode=True))


def resolved_document(loaded: LoadedScenario) -> dict[str, Any]:
    """The scenario as a file of its own that loads to the same points from anywhere."""
    document = dict(loaded.document) if "sweep" in loaded.document else dict(loaded.base)
    if loaded.asserts:
        document["assert"] = list(loaded.asserts)
    workload, arrivals = document.get("workload"), loaded.points[0].scenario.workload.arrivals
    if arrivals.kind == "trace" and isinstance(workload, dict):
        document["workload"] = workload | {"arrivals": workload["arrivals"] | {"file": arrivals.file}}
    return document
