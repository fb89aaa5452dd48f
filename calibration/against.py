"""Predicted against measured, of one benchmark: the result of a script that `specfleet export` wrote.

What was measured must be what was predicted: as many requests, as long, accepted as often. It imports neither torch nor
the engine.
"""

import json
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from calibration.importers.benchmarks import is_vllm_bench, one_run
from calibration.importers.fields import Record, count, number
from calibration.importers.read import read_document
from simulator.errors import ScenarioError
from simulator.spec.prediction import Prediction

SAME_LOAD = 0.05
"""Share by which token counts may differ: a client's tokenizer puts prompts together to within some tokens."""
SAME_ACCEPTANCE = 0.02
"""Share by which tokens per step may differ before the difference is told."""
LATENCIES = {"ttft_s": "ttft", "tpot_s": "tpot", "e2e_s": "e2el"}
"""Our name of a latency → the benchmark's."""
STATISTICS = ("mean", "p50", "p90", "p95", "p99")


class Compared(NamedTuple):
    """One figure."""

    figure: str
    predicted: float
    measured: float
    within: bool | None
    """Whether the measurement lies within the error to expect (95 %); None: there is none to hold it against."""

    @property
    def error(self) -> float:
        """Predicted ÷ measured − 1."""
        return self.predicted / self.measured - 1.0


def compare(result: Path, against: Path) -> dict[str, Any]:
    """All figures that both hold, as plain JSON values.

    Raises ScenarioError for a file that is none of the two, and where another load was measured than predicted.
    """
    prediction, run = read_prediction(against), read_result(result)
    _check_load(prediction, run, str(result))
    rows = list(_figures(prediction, run, f"{result}: "))
    if not rows:
        raise ScenarioError(f"{result}: no latency and no throughput that was predicted: was it saved by bench.sh?")
    return {
        "prediction": prediction.model_dump(mode="json"),
        "result": str(result),
        "rows": [{**row._asdict(), "error": row.error} for row in rows],
        "notes": list(_notes(prediction, run, f"{result}: ")),
    }


def read_prediction(path: Path) -> Prediction:
    """The file that `specfleet export` wrote beside the script."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ScenarioError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != "specfleet-prediction":
        raise ScenarioError(f"{path}: no prediction: `specfleet export FILE --out DIR` writes predicted.json")
    try:
        return Prediction.model_validate_json(json.dumps(document))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ScenarioError(f"{path}: {place}: {first['msg']}; export it anew") from None


def read_result(path: Path) -> Record:
    """One run of `vllm bench serve --save-result`."""
    document = read_document(path)
    if not is_vllm_bench(document):
        raise ScenarioError(f"{path}: no result of `vllm bench serve --save-result`, which is what bench.sh writes")
    return one_run(document, str(path))


def _check_load(prediction: Prediction, run: Record, where: str) -> None:
    """Refuse a run of another load."""
    load = prediction.load
    completed, failed = count(run, "completed", f"{where}: ") or 0, count(run, "failed", f"{where}: ") or 0
    if failed or completed != load.requests:
        told = f"{completed:,} requests ended well{f' and {failed:,} failed' if failed else ''}"
        raise ScenarioError(f"{where}: {told}, {load.requests:,} were predicted: run bench.sh to its end")
    for name, what, predicted in (
        ("total_input_tokens", "prompt", load.prompt_tokens),
        ("total_output_tokens", "output", load.output_tokens),
    ):
        measured = count(run, name, f"{where}: ")
        if measured is not None and abs(measured / predicted - 1.0) > SAME_LOAD:
            raise ScenarioError(
                f"{where}: {measured:,} {what} tokens, {predicted:,} were predicted: this is another load; run bench.sh"
                " with the requests.jsonl beside it"
            )


def _figures(prediction: Prediction, run: Record, where: str) -> Iterator[Compared]:
    figures = prediction.figures
    for name, theirs in LATENCIES.items():
        ours: dict[Any, float | None] = getattr(figures, name)
        for statistic in STATISTICS:
            measured = _latency_ms(run, statistic, theirs, where)
            predicted = ours.get(statistic)
            if predicted and measured:
                yield _compared(prediction, f"{name}.{statistic}", predicted, measured * 1e-3)
    for name, theirs in (("req_per_s", "request_throughput"), ("output_tokens_per_s", "output_throughput")):
        measured = number(run, theirs, where)
        if measured:
            yield _compared(prediction, name, getattr(figures, name), measured)


def _latency_ms(run: Record, statistic: str, name: str, where: str) -> float | None:
    found = number(run, f"{statistic}_{name}_ms", where)
    return number(run, f"median_{name}_ms", where) if found is None and statistic == "p50" else found


def _compared(prediction: Prediction, name: str, predicted: float, measured: float) -> Compared:
    factor = _factor(prediction, name)
    return Compared(name, predicted, measured, None if factor is None else 1 / factor <= measured / predicted <= factor)


def _factor(prediction: Prediction, name: str) -> float | None:
    """Factor within which the measurement is to be expected, where that is known of the figure itself."""
    factors = prediction.factors
    if factors is None:
        return None
    return {"ttft_s": factors.ttft, "tpot_s": factors.tpot}.get(name.partition(".")[0])


def _notes(prediction: Prediction, run: Record, where: str) -> Iterator[str]:
    """What a reader has to know before the errors mean anything."""
    predicted, measured = prediction.figures.tokens_per_step, number(run, "spec_decode_acceptance_length", where)
    if predicted is not None and measured is None:
        yield (
            f"the result says nothing of speculation, {predicted:.3g} tokens per step were predicted: "
            "not every engine lets the client see it; make sure that the server speculated"
        )
    if predicted is not None and measured is not None and abs(measured / predicted - 1.0) > SAME_ACCEPTANCE:
        yield (
            f"{measured:.3g} tokens per step were measured, {predicted:.3g} predicted: the errors hold this "
            "difference; with synthetic acceptance there is none"
        )
    if predicted is None and measured is not None:
        yield f"the run speculated ({measured:.3g} tokens per step), and the prediction has no drafts"
    if prediction.factors is None:
        yield f"no error is known of such predictions ({prediction.profile})"
    peak = number(run, "max_concurrent_requests", where)
    if prediction.load.clients and peak and isfinite(peak) and peak < prediction.load.clients:
        yield f"at most {peak:g} requests were in flight, {prediction.load.clients} were predicted"
