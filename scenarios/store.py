"""The run folder: results by a hash of all that they follow from, written so that no failure leaves half a file.

    runs/<scenario>-<hash8>/
        scenario.yaml  manifest.json  summary.json  summary.parquet  report.html  requests.parquet (on request)
        points/<hash>.json      each finished sweep point, with what its report draws, from which it is found again

A point is found in any folder of the same runs folder, so a longer sweep computes only what it adds.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from scenarios.columns import write_parquet
from scenarios.config_paths import by_content
from scenarios.load import LoadedScenario
from simulator.catalog.load import NOUNS
from simulator.catalog.own import own_files
from simulator.errors import ScenarioError
from simulator.spec.scenario import Scenario

HASH_DIGITS = 16
STORE_VERSION = 2
"""Part of every hash and of every manifest: raised when a stored point changes its shape."""

Point = dict[str, Any]
"""A finished point: `hash`, `seconds`, and `result`, the study as plain JSON values."""


def point_hash(scenario: Scenario) -> str:
    """Hash of a resolved scenario, the catalog and the code: equal hashes mean equal results.

    A trace and a config.json count by their content, wherever they lie; the description counts for nothing.
    """
    document = by_content(scenario.model_dump(mode="json", exclude={"description"}))
    arrivals = document["workload"]["arrivals"]
    if arrivals["kind"] == "trace":
        arrivals["file"] = _file_digest(Path(arrivals["file"]))
    return _digest(json.dumps(document), catalog_hash(), code_hash(), str(STORE_VERSION))


def run_hash(loaded: LoadedScenario) -> str:
    """Hash of all points of a scenario file and of what it asserts."""
    return _digest(*(point_hash(point.scenario) for point in loaded.points), *loaded.asserts)


@cache
def catalog_hash() -> str:
    """Hash of the catalog's content, measured profiles and the user's own entries included."""
    own = [part for file in own_files(tuple(NOUNS)) for part in (f"{file.parent.name}/{file.name}", _file_digest(file))]
    return _digest(*(part for file in _simulator_files() if file.suffix != ".py" for part in _named(file)), *own)


@cache
def code_hash() -> str:
    """Hash of the simulator's code: a version number alone does not tell two working trees apart."""
    return _digest(*(part for file in _simulator_files() if file.suffix == ".py" for part in _named(file)))


def _simulator_files() -> list[Path]:
    with resources.as_file(resources.files("simulator")) as root:
        found = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return sorted(path for path in found if path.suffix in (".py", ".yaml", ".json", ".csv"))


def _named(file: Path) -> tuple[str, str]:
    """A file's place in the package and its content."""
    parts = file.parts
    return "/".join(parts[len(parts) - parts[::-1].index("simulator") :]), _file_digest(file)


def _digest(*parts: str) -> str:
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


class RunFolder:
    """The folder of one scenario file's results."""

    def __init__(self, out: Path, name: str, digest: str) -> None:
        self.out = out
        self.digest = digest
        self.path = out / f"{name}-{digest[:8]}"

    def prepare(self) -> None:
        """Make the folder and try to write; ScenarioError before anything is computed for nothing."""
        with _told(self.path):
            (self.path / "points").mkdir(parents=True, exist_ok=True)
            trial = self.path / f".trial-{os.getpid()}"
            trial.write_bytes(b"")
            trial.unlink()

    def find_point(self, digest: str) -> tuple[Point, Path] | None:
        """A finished point, here or in a neighbouring run folder, and the folder that holds it."""
        own = self.path / "points" / f"{digest}.json"
        for file in [own, *sorted(self.out.glob(f"*/points/{digest}.json"))]:
            point = _read_point(file, digest)
            if point is not None:
                return point, file.parent.parent
        return None

    def save_point(self, digest: str, result: Mapping[str, Any], seconds: float) -> Point:
        """Keep a finished point."""
        point: Point = {"hash": digest, "seconds": seconds, "result": dict(result)}
        self.write_text(f"points/{digest}.json", json.dumps(point, ensure_ascii=False))
        return point

    def write_text(self, name: str, text: str) -> None:
        """Write a file of the folder, whole or not at all."""

        def write_to(path: Path) -> None:
            path.write_text(text, encoding="utf-8")

        self.write(name, write_to)

    def write(self, name: str, write_to: Callable[[Path], None]) -> None:
        """Let a function write a file beside the old one, then put it in its place."""
        path = self.path / name
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        with _told(path):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_to(beside)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
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


def write_run(
    folder: RunFolder,
    loaded: LoadedScenario,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    report: str,
) -> None:
    """Write what came of a scenario file; the manifest last, so that where it is the rest is whole.

    summary: scenario, provenance, rows, replications and comparison as plain JSON values; the replications go to the
    Parquet file only.
    report: the report as HTML.
    """
    short = {key: value for key, value in summary.items() if key != "replications"}
    folder.write_text("scenario.yaml", to_yaml(resolved_document(loaded)))
    folder.write_text("summary.json", _indented(short))
    folder.write("summary.parquet", partial(write_parquet, [*summary["rows"], *summary["replications"]]))
    folder.write_text("report.html", report)
    folder.write_text("manifest.json", _indented({"store_version": STORE_VERSION, **manifest}))


def is_whole(folder: RunFolder, hashes: Sequence[str]) -> bool:
    """Whether the folder holds all points and all files of a finished run."""
    files = ("scenario.yaml", "summary.json", "summary.parquet", "report.html", "manifest.json")
    if not all((folder.path / file).is_file() for file in files):
        return False
    try:
        complete = json.loads((folder.path / "manifest.json").read_bytes()).get("complete") is True
    except (OSError, ValueError, AttributeError):
        return False
    return complete and all((folder.path / "points" / f"{digest}.json").is_file() for digest in hashes)


class _NoAnchors(yaml.SafeDumper):
    """Writes what two deployments share twice: the loader refuses anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(document: Mapping[str, Any]) -> str:
    """A scenario's mapping as the text of a file that loads to it again."""
    return str(yaml.dump(dict(document), Dumper=_NoAnchors, sort_keys=False, allow_unicode=True))


def _indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def resolved_document(loaded: LoadedScenario) -> dict[str, Any]:
    """The scenario as a file of its own that loads to the same points from anywhere."""
    document = dict(loaded.document) if "sweep" in loaded.document else dict(loaded.base)
    if loaded.asserts:
        document["assert"] = list(loaded.asserts)
    workload, arrivals = document.get("workload"), loaded.points[0].scenario.workload.arrivals
    if arrivals.kind == "trace" and isinstance(workload, dict):
        document["workload"] = workload | {"arrivals": workload["arrivals"] | {"file": arrivals.file}}
    return document


def write_requests(folder: RunFolder, loaded: LoadedScenario, skipped: Iterable[tuple[str, str]] = ()) -> None:
    """Write every request of replication 0 of each deployment and point, but for (point, deployment) pairs to skip."""
    from simulator.run import simulate_once

    left_out = set(skipped)

    def write_to(path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        tables = []
        for point in loaded.points:
            label, classes = label_of(point.label), list(point.scenario.workload.classes)
            for name in point.scenario.deployments:
                if (label, name) not in left_out:
                    requests = simulate_once(point.scenario, name, 0).requests
                    columns = {field: getattr(requests, field) for field in requests.__dataclass_fields__}
                    columns["class"] = [classes[index] for index in columns.pop("class_index")]
                    size = len(columns["class"])
                    tables.append(pyarrow.table({"point": [label] * size, "deployment": [name] * size, **columns}))
        pyarrow.parquet.write_table(pyarrow.concat_tables(tables), path, compression="zstd")

    folder.write("requests.parquet", write_to)


def label_of(values: Mapping[str, Any]) -> str:
    """Name of a sweep point; `base` where nothing is swept.

    >>> label_of({}), label_of({"seed": 1, "replications": 2})
    ('base', 'seed=1, replications=2')
    """
    return ", ".join(f"{path}={value}" for path, value in values.items()) or "base"
