"""A file of any tool: recognised by what it holds, read for its acceptance."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from calibration.importers import exposition
from calibration.importers.benchmarks import (
    is_aiperf,
    is_guidellm,
    is_vllm_bench,
    read_aiperf,
    read_guidellm,
    read_vllm_bench,
)
from calibration.importers.counters import read_scrape
from calibration.importers.exposition import Scrape
from calibration.importers.finding import AcceptanceFinding
from calibration.importers.options import ReadOptions
from calibration.importers.records import is_iterations, is_records, read_iterations, read_records
from simulator.errors import ScenarioError


class Format(NamedTuple):
    """How a kind of file is known, and who reads its acceptance."""

    title: str
    matches: Callable[[Any], bool]
    acceptance: Callable[[Any, str, ReadOptions], AcceptanceFinding]


FORMATS: dict[str, Format] = {
    "metrics": Format("Prometheus /metrics text", lambda document: isinstance(document, Scrape), read_scrape),
    "vllm-bench": Format("vLLM bench serve JSON", is_vllm_bench, read_vllm_bench),
    "aiperf": Format("AIPerf profile_export_aiperf.json", is_aiperf, read_aiperf),
    "guidellm": Format("GuideLLM report", is_guidellm, read_guidellm),
    "trtllm-iterations": Format("TensorRT-LLM iteration statistics", is_iterations, read_iterations),
    "per-request": Format("responses or records of single requests", is_records, read_records),
}
"""Asked in this order; the first that matches reads."""


def read_acceptance(path: Path, second: Path | None = None, options: ReadOptions | None = None) -> AcceptanceFinding:
    """What a file says of acceptance; two /metrics texts say what happened between them.

    Raises ScenarioError where the file is ambiguous, contradicts itself or says nothing of acceptance.
    """
    document = read_document(path)
    where = str(path)
    if second is not None:
        later = read_document(second)
        if not (isinstance(document, Scrape) and isinstance(later, Scrape)):
            raise ScenarioError(f"{second}: a second file goes with a first of the same kind, both /metrics texts")
        where = f"{path}, {second}"
        document = exposition.between(document, later, where)
    try:
        return FORMATS[format_of(document, where)].acceptance(document, where, options or ReadOptions())
    except ScenarioError as error:
        raise error if str(error).startswith(where) else ScenarioError(f"{where}: {error}") from None


def format_of(document: Any, where: str) -> str:
    """Name of a document's format."""
    for name, kind in FORMATS.items():
        if kind.matches(document):
            return name
    known = "; ".join(kind.title for kind in FORMATS.values())
    raise ScenarioError(f"{where}: not a file that is known here, or nothing of acceptance in it; known: {known}")


def read_document(path: Path) -> Any:
    """A JSON value, a list of JSON lines, or a scrape."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not a text in UTF-8") from None
    if not text.strip():
        raise ScenarioError(f"{path}: empty")
    if text.lstrip()[0] not in "{[":
        if not exposition.looks_like(text):
            raise ScenarioError(f"{path}: neither JSON nor a Prometheus /metrics text: {text.strip()[:40]!r}")
        return exposition.parse(str(path), text)
    return _json(path, text)


def _json(path: Path, text: str) -> Any:
    """One JSON value, or one a line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as whole:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
            raise ScenarioError(f"{path}:{whole.lineno}: not JSON: {whole.msg}") from None
        return [_line(path, number, line) for number, line in lines]


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}:{number}: not a line of JSON: {error.msg}") from None
