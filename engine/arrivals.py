"""Traces of requests in the forms that people have them: arrival, prompt length, output length."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import RequestError


class Arrival(NamedTuple):
    """One request of a trace."""

    arrival_s: float
    """From the trace's own origin."""
    prompt_tokens: int
    output_tokens: int
    label: str = ""


def _plain(row: Mapping[str, Any]) -> Arrival:
    label = str(row.get("label") or "")
    return Arrival(float(row["arrival_s"]), int(row["prompt_tokens"]), int(row["output_tokens"]), label)


def _azure(row: Mapping[str, Any]) -> Arrival:
    when = datetime.fromisoformat(row["TIMESTAMP"][:26])
    seconds = (when - datetime(2023, 1, 1)).total_seconds()
    return Arrival(seconds, int(row["ContextTokens"]), int(row["GeneratedTokens"]))


def _mooncake(row: Mapping[str, Any]) -> Arrival:
    return Arrival(float(row["timestamp"]) / 1000.0, int(row["input_length"]), int(row["output_length"]))


FORMS: dict[str, Callable[[Mapping[str, Any]], Arrival]] = {
    "arrival_s": _plain,
    "TIMESTAMP": _azure,
    "timestamp": _mooncake,
}
"""Column by which a form is known -> its reader."""


def read_arrivals(path: Path, limit: int | None = None) -> list[Arrival]:
    """Read a trace in order of arrival, its first arrival at 0.

    Known: CSV with arrival_s, prompt_tokens, output_tokens and, if there is one, label; the CSV of the Azure LLM
    inference traces; the JSON lines of the Mooncake traces.
    """
    if not path.exists():
        raise RequestError(f"{path}: no such file")
    arrivals = []
    for number, row in enumerate(_rows(path), start=1):
        if limit is not None and number > limit:
            break
        read = next((FORMS[key] for key in row if key in FORMS), None)
        if read is None:
            raise RequestError(f"{path}: none of the columns {', '.join(FORMS)} is there; found {', '.join(row)}")
        try:
            arrivals.append(read(row))
        except (KeyError, TypeError, ValueError) as error:
            raise RequestError(f"{path}: request {number}: {type(error).__name__}: {error}") from None
    arrivals.sort(key=lambda arrival: arrival.arrival_s)
    origin = arrivals[0].arrival_s if arrivals else 0.0
    return [arrival._replace(arrival_s=arrival.arrival_s - origin) for arrival in arrivals]


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix == ".jsonl":
            for line in file:
                if line.strip():
                    yield json.loads(line)
        else:
            yield from csv.DictReader(file)
