"""A check in plain numbers: what `calibrate check --json` prints, and what tables and pages are drawn from."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from calibration.check.compare import Compared, at_pace
from calibration.check.figures import NAMES
from calibration.check.gains import best_choices, gains, paying_batches, saturation
from calibration.check.verdicts import Line, verdicts


def summary(points: Sequence[Compared], about: dict[str, Any]) -> dict[str, Any]:
    """Verdicts, points, gains; numbers that are not there are None."""
    lines = verdicts(points, about.get("wider"))
    paced = verdicts([at_pace(point) for point in points], about.get("wider"))
    found = gains(points)
    return {
        "about": about,
        "passed": all(line.passed is not False for line in lines),
        "lines": [_line(line) | {"at_pace": _at_pace(then)} for line, then in zip(lines, paced, strict=True)],
        "points": [_point(one) for one in points],
        "saturation": [
            {"where": s.where, "predicted": s.predicted, "measured": s.measured, "error": _number(s.error),
             "apart": _number(s.apart)}
            for s in saturation(points)
        ],
        "gains": [
            {"load": g.load, "draft_tokens": g.draft_tokens, "predicted": g.predicted, "measured": g.measured,
             "apart": _number(g.apart)}
            for g in found
        ],
        "best": [
            {"load": c.where, "predicted": c.predicted_k, "measured": c.measured_k, "regret": c.regret,
             "gain_of_predicted": c.gain}
            for c in best_choices(found)
        ],
        "pays_up_to_batch": [
            {"where": b.where, "predicted": _number(b.predicted), "measured": _number(b.measured), "largest": b.most}
            for b in paying_batches(points)
        ],
    }  # fmt: skip


def _line(line: Line) -> dict[str, Any]:
    worst = line.worst
    return {
        "what": line.what,
        "note": line.note,
        "goal": line.goal,
        "count": len(line.items),
        "held": len(line.items) - len(line.missed),
        "passed": line.passed,
        "by_scatter": line.by_scatter,
        "mean_error": _number(line.mean),
        "worst_error": None if worst is None else _number(worst.error),
        "worst_at": None if worst is None else worst.where,
        "apart": _number(line.apart),
        "missed": [
            {"where": i.where, "error": _number(i.error), "allowed": i.allowed(line.goal), "predicted": i.predicted,
             "measured": i.measured}
            for i in line.missed
        ],
    }  # fmt: skip


def _at_pace(line: Line) -> dict[str, Any]:
    """What a line would be, had the profile known how slow the machine was beside each run."""
    return {
        "held": len(line.items) - len(line.missed),
        "count": len(line.items),
        "mean_error": _number(line.mean),
        "passed": line.passed,
    }


def _point(one: Compared) -> dict[str, Any]:
    point = one.point
    return {
        "key": point.key,
        "system": point.system,
        "load": point.load,
        "level": point.level,
        "rate_per_s": point.rate_per_s,
        "draft_tokens": point.draft_tokens,
        "requests": point.requests,
        "replay": [{"steps": r.steps, "equal": r.equal, "first_difference": r.first_difference} for r in one.replayed],
        "pace": list(one.pace),
        "steps": {"count": one.steps.steps, "mape": one.steps.mape, "bias": one.steps.bias,
                  "apart": _number(one.steps.apart), "mape_at_pace": one.paced_steps.mape},
        "overloaded": {"predicted": bool(one.predicted["overloaded"]),
                       "measured": [bool(m["overloaded"]) for m in one.measured]},
        "figures": {name: _figure(one, name) for name in NAMES},
    }  # fmt: skip


def _figure(one: Compared, name: str) -> dict[str, Any]:
    return {
        "predicted": _number(one.predicted[name]),
        "with_measured_acceptance": _number(one.timing[name]),
        "measured": [_number(m[name]) for m in one.measured],
        "error": _number(one.error(name)),
        "error_at_pace": _number(one.error(name, of="paced")),
        "error_of_timing": _number(one.error(name, of="timing")),
        "apart": _number(one.apart(name)),
    }


def _number(value: float) -> float | None:
    return value if isfinite(value) else None
