"""What a run folder holds beside its points: the scenario, the summary, the table, the report, the requests."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from scenarios.columns import write_parquet
from scenarios.csv_file import csv_of_parquet
from scenarios.load import LoadedScenario
from scenarios.store import STORE_VERSION, RunFolder, label_of, resolved_document, to_yaml
from scenarios.streamed import Each, indented, json_parts

FILES = ("scenario.yaml", "summary.json", "summary.parquet", "summary.csv", "report.html", "manifest.json")
"""Those of a finished run."""


def write_run(
    folder: RunFolder,
    loaded: LoadedScenario,
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    report: str,
) -> None:
    """Write what came of a scenario file; the manifest last, so that where it says so the rest is whole.

    summary: scenario, provenance, rows, replications and comparison as plain JSON values, lists as such or as `Each`;
    the replications go to the Parquet file only.
    report: the report as HTML.
    """
    short = {key: value for key, value in summary.items() if key != "replications"}
    rows = Each(lambda: chain(summary["rows"], summary["replications"]))
    folder.write_text("scenario.yaml", to_yaml(resolved_document(loaded)))
    folder.write("summary.json", partial(_write_json, short))
    folder.write("summary.parquet", partial(write_parquet, rows))
    folder.write("summary.csv", partial(csv_of_parquet, folder.path / "summary.parquet"))
    folder.write_text("report.html", report)
    _write_manifest(folder, manifest)


def begin_run(folder: RunFolder, loaded: LoadedScenario, manifest: Mapping[str, Any]) -> None:
    """Say in a run folder what is on its way there."""
    folder.write_text("scenario.yaml", to_yaml(resolved_document(loaded)))
    _write_manifest(folder, manifest)


def _write_manifest(folder: RunFolder, manifest: Mapping[str, Any]) -> None:
    folder.write_text("manifest.json", indented({"store_version": STORE_VERSION, **manifest}) + "\n")


def _write_json(value: Mapping[str, Any], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(chain(json_parts(value), "\n"))


def is_whole(folder: RunFolder, hashes: Sequence[str]) -> bool:
    """Whether the folder holds all points and all files of a finished run."""
    if not all((folder.path / file).is_file() for file in FILES):
        return False
    try:
        complete = json.loads((folder.path / "manifest.json").read_bytes()).get("complete") is True
    except (OSError, ValueError, AttributeError):
        return False
    return complete and all(folder.file_of(digest).is_file() for digest in hashes)


def write_requests(folder: RunFolder, loaded: LoadedScenario, skipped: Iterable[tuple[str, str]] = ()) -> None:
    """Write every request of replication 0 of each deployment and point, but for (point, deployment) pairs to skip."""
    left_out = set(skipped)

    def write_to(path: Path) -> None:
        import pyarrow.parquet

        tables = _request_tables(loaded, left_out)
        first = next(tables)
        with pyarrow.parquet.ParquetWriter(path, first.schema, compression="zstd") as writer:
            for table in chain([first], tables):
                writer.write_table(table.cast(first.schema))

    folder.write("requests.parquet", write_to)


def _request_tables(loaded: LoadedScenario, left_out: set[tuple[str, str]]) -> Iterator[Any]:
    """A table for each deployment of each point."""
    import pyarrow

    from simulator.run import simulate_once

    for point in loaded.points:
        label, classes = label_of(point.label), list(point.scenario.workload.classes)
        for name in point.scenario.deployments:
            if (label, name) not in left_out:
                requests = simulate_once(point.scenario, name, 0).requests
                columns = {field: getattr(requests, field) for field in requests.__dataclass_fields__}
                columns["class"] = [classes[index] for index in columns.pop("class_index")]
                size = len(columns["class"])
                yield pyarrow.table({"point": [label] * size, "deployment": [name] * size, **columns})
