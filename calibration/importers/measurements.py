"""Results of benchmarks as rows that `specfleet validate` takes: means of latency and throughput of one load.

What a file does not hold (the GPU, the split, the precision, …) the user states; what is then still missing is one
error. Runs that `validate` cannot replay are refused: open arrivals, and runs that speculated.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from calibration.importers.benchmarks import complete, is_aiperf, is_guidellm, is_vllm_bench, metric
from calibration.importers.fields import Record, count, number
from calibration.importers.read import read_document
from calibration.serving_csv import MEASURED, REQUIRED
from simulator.errors import ScenarioError

Row = dict[str, Any]
COLUMNS = (
    "id", "source", "engine", "engine_version", "gpu", "model", "precision", "tp", "pp", "dp", "moe_tp", "moe_ep",
    "isl", "osl", "load", "concurrency", "ttft_ms", "tpot_ms", "output_tokens_per_s_per_gpu", "measured_on",
)  # fmt: skip
"""Header of what is written."""
MS = {"ms": 1.0, "s": 1e3, "us": 1e-3, "ns": 1e-6}
OPEN = (
    "arrivals at a rate: `validate` replays closed loops and requests queued at once; measure with a concurrency, or "
    "state --concurrency if that is what bounded the run"
)


def read_benchmarks(paths: Sequence[Path], stated: Mapping[str, Any]) -> list[Row]:
    """One row for each run in the files.

    stated: columns that hold for all rows; they go before what the files say.
    """
    rows = [row for path in paths for row in _rows(path, stated)]
    missing = sorted({name for row in rows for name in _missing(row)}, key=COLUMNS.index)
    if missing:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise ScenarioError(f"{paths[0]}: the files do not say {', '.join(missing)}: add {flags}")
    return rows


def csv_text(rows: Sequence[Row]) -> str:
    """The rows as the CSV that `validate` reads."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(path: Path, stated: Mapping[str, Any]) -> Iterator[Row]:
    document, where = read_document(path), str(path)
    for matches, read in READERS:
        if matches(document):
            for index, run in enumerate(read(document, where)):
                row = {"id": path.stem if index == 0 else f"{path.stem}-{index + 1}", "source": path.name, **run}
                yield _with_load(row, {name: value for name, value in stated.items() if value is not None}, where)
            return
    raise ScenarioError(
        f"{where}: no result of a benchmark that is known here: vLLM bench serve JSON, AIPerf "
        "profile_export_aiperf.json, GuideLLM report"
    )


def _with_load(found: Row, stated: Mapping[str, Any], where: str) -> Row:
    """How the requests came, and throughput by GPU; open arrivals are refused."""
    rate, throughput = found.pop("rate", None), found.pop("output_tokens_per_s", None)
    if rate is not None and isfinite(rate) and "concurrency" not in stated:
        raise ScenarioError(f"{where}: {rate:g} requests/s: {OPEN}")
    row = {**found, **stated}
    if row.get("concurrency") is not None:
        row["load"] = "closed_loop"
    elif rate is not None:
        row["load"] = "queued_at_once"
    if throughput is not None and row.get("tp"):
        gpus = row["tp"] * (row.get("pp") or 1) * (row.get("dp") or 1)
        row["output_tokens_per_s_per_gpu"] = throughput / gpus
    return row


def _missing(row: Row) -> Iterator[str]:
    yield from (name for name in (*REQUIRED, "precision") if row.get(name) is None and name != "load")
    if row.get("load") is None:
        yield "concurrency"
    if row.get("tp") is not None and all(row.get(name) is None for name in MEASURED):
        raise ScenarioError(f"{row['source']}: neither latencies nor throughput in it")


# Readers: runs of a document as rows, with `rate` and `output_tokens_per_s` beside the columns.


def _vllm_bench(document: Any, where: str) -> Iterator[Row]:
    for run in document if isinstance(document, list) else [document]:
        if any(name.startswith("spec_decode_") and run[name] is not None for name in run):
            raise ScenarioError(f"{where}: {_SPECULATED}; its acceptance: specfleet import acceptance {where}")
        done = count(run, "completed", f"{where}: ")
        if not done:
            raise ScenarioError(f"{where}: no request was completed")
        yield {
            "engine": "vllm" if run.get("backend", run.get("endpoint_type")) == "vllm" else None,
            "isl": _mean_of(run, "total_input_tokens", done, where),
            "osl": _mean_of(run, "total_output_tokens", done, where),
            "concurrency": count(run, "max_concurrency", f"{where}: "),
            "rate": _rate(run.get("request_rate"), where),
            "ttft_ms": number(run, "mean_ttft_ms", f"{where}: "),
            "tpot_ms": number(run, "mean_tpot_ms", f"{where}: "),
            "output_tokens_per_s": number(run, "output_throughput", f"{where}: "),
            "measured_on": _day(run.get("date")),
        }


_SPECULATED = "the run speculated, and `validate` replays plain decoding"


def _mean_of(run: Record, name: str, done: int, where: str) -> int | None:
    total = count(run, name, f"{where}: ")
    return None if total is None else max(round(total / done), 1)


def _rate(value: Any, where: str) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ScenarioError(f"{where}: request_rate: {value!r} is neither a number nor 'inf'") from None


def _day(value: Any) -> str | None:
    """ISO date of vLLM's 20261128-101010.

    >>> _day("20261128-101010")
    '2026-11-28'
    """
    text = str(value or "")[:8]
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if len(text) == 8 and text.isdecimal() else None


def _aiperf(document: Any, where: str) -> Iterator[Row]:
    complete(document, where)
    if metric(document, "total_spec_decode_steps", where):
        raise ScenarioError(f"{where}: {_SPECULATED}; its acceptance: specfleet import acceptance {where}")
    load = _loadgen(document)
    yield {
        "isl": _rounded(metric(document, "input_sequence_length", where)),
        "osl": _rounded(metric(document, "output_sequence_length", where)),
        "concurrency": count(load, "concurrency", f"{where}: input_config: "),
        "rate": number(load, "request_rate", f"{where}: input_config: "),
        "ttft_ms": _in_ms(document, "time_to_first_token", where),
        "tpot_ms": _in_ms(document, "inter_token_latency", where),
        "output_tokens_per_s": metric(document, "output_token_throughput", where),
        "measured_on": str(document["start_time"])[:10] if document.get("start_time") else None,
    }


def _loadgen(document: Record) -> Record:
    config = document.get("input_config")
    load = config.get("loadgen") if isinstance(config, dict) else None
    return load if isinstance(load, dict) else {}


def _rounded(value: float | None) -> int | None:
    return None if value is None else max(round(value), 1)


def _in_ms(document: Record, name: str, where: str) -> float | None:
    value = metric(document, name, where)
    if value is None:
        return None
    unit = document[name].get("unit")
    if unit not in MS:
        raise ScenarioError(f"{where}: {name} is in {unit!r}, not in one of {', '.join(MS)}")
    return value * MS[unit]


def _guidellm(document: Any, where: str) -> Iterator[Row]:
    for index, run in enumerate(document["benchmarks"]):
        place = f"{where}: benchmarks[{index}]: "
        metrics, strategy = run["metrics"], _strategy(run)
        kind = strategy.get("type_") or strategy.get("kind") or strategy.get("type")
        if kind in ("constant", "poisson", "async"):
            raise ScenarioError(f"{place}{kind} {OPEN}")
        streams = 1 if kind == "synchronous" else count(strategy, "streams", place)
        yield {
            "isl": _rounded(_successful(metrics, "prompt_token_count", place)),
            "osl": _rounded(_successful(metrics, "output_token_count", place)),
            "concurrency": streams if streams is not None else count(strategy, "max_concurrency", place),
            "rate": float("inf") if kind == "throughput" else None,
            "ttft_ms": _successful(metrics, "time_to_first_token_ms", place),
            "tpot_ms": _successful(metrics, "inter_token_latency_ms", place),
            "output_tokens_per_s": _successful(metrics, "output_tokens_per_second", place),
        }


def _strategy(run: Record) -> Record:
    config = run.get("config")
    found = config.get("strategy") if isinstance(config, dict) else None
    return found if isinstance(found, dict) else {}


def _successful(metrics: Record, name: str, place: str) -> float | None:
    """Mean over the requests that ended well."""
    by_status = metrics.get(name)
    summary = by_status.get("successful") if isinstance(by_status, dict) else None
    return number(summary, "mean", f"{place}{name}.successful.") if isinstance(summary, dict) else None


READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Iterator[Row]]], ...] = (
    (is_vllm_bench, _vllm_bench),
    (is_aiperf, _aiperf),
    (is_guidellm, _guidellm),
)
"""What a document is → who reads its runs."""
