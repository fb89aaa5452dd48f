"""Errors of predictions by group, and the rows that are worst: what `validate --json` prints."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite, log, nan
from statistics import fmean, median
from typing import Any

from calibration.fitted_on import FITTED, HELD_OUT
from calibration.validate import Outcome, Validation

METRICS = ("ttft", "tpot", "output_tokens_per_s")
GROUP = ("engine", "gpu", "model", "precision", "load")
WORST = 10
WORST_OF_A_KIND = 3
"""Of one engine, GPU and model: one fault would fill the list."""


def pair(one: Outcome, metric: str) -> tuple[float, float]:
    """Predicted and measured, in seconds or output tokens/s per GPU; nan where there is none."""
    return {
        "ttft": (one.ttft_s, one.row.ttft_ms * 1e-3),
        "tpot": (one.tpot_s, one.row.tpot_ms * 1e-3),
        "output_tokens_per_s": (one.tokens_per_s, one.row.output_tokens_per_s_per_gpu),
    }[metric]


def ratio(one: Outcome, metric: str) -> float:
    """Predicted ÷ measured; nan where either is missing."""
    predicted, measured = pair(one, metric)
    return predicted / measured if isfinite(predicted) and measured > 0 else nan


def score(ratios: Iterable[float]) -> dict[str, float | int | None]:
    """Absolute percentage errors and bias, as fractions, of predicted ÷ measured.

    >>> score([1.1, 0.8])["count"], round(score([1.1, 0.8])["mean_ape"], 3), round(score([1.1, 0.8])["bias"], 3)
    (2, 0.15, -0.05)
    """
    found = [value for value in ratios if isfinite(value)]
    if not found:
        return {"count": 0, "median_ape": None, "mean_ape": None, "bias": None}
    errors = [abs(value - 1.0) for value in found]
    bias = fmean(found) - 1.0
    return {"count": len(found), "median_ape": median(errors), "mean_ape": fmean(errors), "bias": bias}


def scores(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Count, share predicted, and the error of each metric."""
    done = [one for one in outcomes if not one.reason]
    share = len(done) / len(outcomes) if outcomes else None
    table = {metric: score(ratio(one, metric) for one in done) for metric in METRICS}
    return {"count": len(outcomes), "share_predicted": share} | table


def by_group(outcomes: Iterable[Outcome], keys: Sequence[str] = GROUP) -> list[dict[str, Any]]:
    """Scores of the groups that these columns make, in alphabetical order."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(tuple(_value(one, key) for key in keys), []).append(one)
    return [dict(zip(keys, group, strict=True)) | scores(groups[group]) for group in sorted(groups)]


def _value(one: Outcome, key: str) -> str:
    return one.half if key == "half" else str(getattr(one.row, key))


def counted(validation: Validation) -> list[Outcome]:
    """The rows that goals are about."""
    return [one for one in validation.outcomes if not one.skipped]


def summary(validation: Validation) -> dict[str, Any]:
    """All that `validate --json` prints."""
    kept = counted(validation)
    fails = [one for one in validation.outcomes if one.reason]
    return {
        "file": validation.path,
        "overall": scores(kept),
        "halves": {half: scores([one for one in kept if one.half == half]) for half in (FITTED, HELD_OUT)},
        "groups": by_group(kept),
        "groups_by_half": by_group(kept, (*GROUP, "half")),
        "worst": [worst_row(one) for one in worst(kept)],
        "unpredicted": [{"id": one.row.id, "line": one.row.line, "reason": one.reason} for one in fails],
        "skipped": [{"id": one.row.id, "reason": one.skipped} for one in validation.outcomes if one.skipped],
        "flagged": [{"id": one.row.id, "reason": one.flag} for one in validation.outcomes if one.flag],
        "rows": [plain(one) for one in validation.outcomes],
    }


def largest(one: Outcome) -> tuple[str, float]:
    """The metric that is furthest off, and predicted ÷ measured there; nan without any."""
    known = {metric: value for metric in METRICS if isfinite(value := ratio(one, metric)) and value > 0}
    if not known:
        return "", nan
    metric = max(known, key=lambda name: abs(log(known[name])))
    return metric, known[metric]


def worst(outcomes: Iterable[Outcome], most: int = WORST, of_a_kind: int = WORST_OF_A_KIND) -> list[Outcome]:
    """The rows furthest off, by ratio in either direction, few of each engine, GPU and model."""
    known = [(abs(log(value)), one) for one in outcomes if isfinite(value := largest(one)[1])]
    kinds: Counter[tuple[str, str, str]] = Counter()
    found = []
    for _, one in sorted(known, key=lambda item: (-item[0], item[1].row.line)):
        kind = (one.row.engine, one.row.gpu, one.row.model)
        kinds[kind] += 1
        if kinds[kind] <= of_a_kind:
            found.append(one)
    return found[:most]


def worst_row(one: Outcome) -> dict[str, Any]:
    """A row far off, with the likely cause."""
    metric, value = largest(one)
    row = one.row
    predicted, measured = pair(one, metric)
    return {
        "id": row.id,
        **{key: getattr(row, key) for key in GROUP},
        **{key: getattr(row, key) for key in ("tp", "isl", "osl", "concurrency")},
        "metric": metric,
        "predicted": predicted,
        "measured": measured,
        "ratio": value,
        "cause": one.cause,
        "flag": one.flag,
        "half": one.half,
    }


def plain(one: Outcome) -> dict[str, Any]:
    """A row with its predictions beside its measurements; what is not known is null."""
    row = one.row
    named = {key: getattr(row, key) for key in ("id", *GROUP, "tp", "isl", "osl", "concurrency")}
    for metric in METRICS:
        predicted, measured = pair(one, metric)
        named[metric] = {"predicted": predicted, "measured": measured}
    notes = {"reason": one.reason, "skip_reason": one.skipped, "flag": one.flag, "cause": one.cause}
    return named | {"mean_batch": one.mean_batch, "half": one.half} | notes
