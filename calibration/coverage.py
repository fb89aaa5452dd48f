"""Whether measurements lie as near to predictions as a report says of its kind: the stated 95 %, counted."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from calibration.fitted_on import HELD_OUT
from calibration.rows import deployment_of
from calibration.scores import METRICS, ratio
from calibration.validate import Outcome
from simulator.planning.model_error import StepError, step_error

GROUP = ("engine", "gpu", "model", "load")


class Coverage(NamedTuple):
    """How many rows of a group lie within the factor that a report would state."""

    group: tuple[str, ...]
    known: StepError
    rows: int
    inside: dict[str, tuple[int, int]]
    """Metric → rows within the factor, and rows that have it."""


def coverage(outcomes: Sequence[Outcome]) -> list[Coverage]:
    """Rows of groups that no constant was fitted on, by engine, GPU, model and load; none where no error is known."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for one in outcomes:
        if one.half == HELD_OUT and not one.reason:
            groups.setdefault(tuple(str(getattr(one.row, key)) for key in GROUP), []).append(one)
    found = [
        (group, step_error(deployment_of(rows[0].row), queued_at_once=rows[0].row.load == "queued_at_once"), rows)
        for group, rows in groups.items()
    ]
    return sorted(
        (_covered(group, known, rows) for group, known, rows in found if known is not None), key=lambda c: c.group
    )


def _covered(group: tuple[str, ...], known: StepError, rows: Sequence[Outcome]) -> Coverage:
    factors = {"ttft": known.ttft, "tpot": known.step, "output_tokens_per_s": known.step}
    inside: dict[str, Any] = {}
    for metric in METRICS:
        ratios = [value for one in rows if (value := ratio(one, metric)) == value]
        within = [value for value in ratios if 1.0 / factors[metric] <= value <= factors[metric]]
        inside[metric] = (len(within), len(ratios))
    return Coverage(group, known, len(rows), inside)
