"""Predicted against measured speed-ups of speculation: every row that can be, and why the others cannot.

Host times that were fitted on rows of a target and GPU never predict those rows: there they are fitted without them.
"""

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from statistics import median
from typing import NamedTuple

from calibration.accepted_lengths import published
from calibration.speculation_csv import SpeculationRow, read_speculation
from calibration.speculation_host import HostTimes, left_out, with_host_times
from calibration.speculation_rows import SpeculationCase, Unit, case_of
from calibration.speculation_times import Times, times_of
from simulator.errors import SimulatorError


class SpeculationOutcome(NamedTuple):
    """What became of a row; nan where nothing is predicted."""

    row: SpeculationRow
    case: SpeculationCase | None
    times: Times | None
    """With the host times that it is judged by: none that was fitted on rows of its engine, GPU and target."""
    shipped_times: Times | None
    """With the host times of its engine's policy, which may have been fitted on this very row."""
    speedup: float
    """Predicted by `times`."""
    baseline: float
    """A constant × the accepted length, the constant from the rows of other targets and GPUs."""
    reason: str = ""
    """Why it could not be predicted; empty: it was."""


class SpeculationValidation(NamedTuple):
    """All rows, in the order of the file."""

    path: str
    outcomes: list[SpeculationOutcome]


def validate_speculation(path: Path, judges: Mapping[str, HostTimes] | None = None) -> SpeculationValidation:
    """Predict every row of a file.

    judges: host times that units are judged by in place of their engine's; None: those of the last fit.
    """
    known, by_unit = published(path.parent), left_out() if judges is None else judges
    outcomes = [_outcome(row, case_of(row, known), by_unit) for row in read_speculation(path)]
    return SpeculationValidation(str(path), _with_baseline(outcomes))


def _outcome(row: SpeculationRow, case: SpeculationCase | str, judges: Mapping[str, HostTimes]) -> SpeculationOutcome:
    nothing = SpeculationOutcome(row, None, None, None, nan, nan)
    if isinstance(case, str):
        return nothing._replace(reason=case)
    try:
        times = times_of(case)
    except (SimulatorError, ValueError) as error:
        return nothing._replace(reason=" ".join(str(error).split())[:300])
    host = judges.get(" ".join(case.unit))
    judged = times if host is None else with_host_times(times, case, host)
    return SpeculationOutcome(row, case, judged, times, judged.speedup, nan)


def _with_baseline(outcomes: Sequence[SpeculationOutcome]) -> list[SpeculationOutcome]:
    """The trivial prediction beside each: what other targets and GPUs gain per accepted token."""
    gains: dict[Unit, list[float]] = {}
    for one in outcomes:
        if one.case is not None:
            gains.setdefault(one.case.unit, []).append(one.row.speedup / one.case.tokens_per_step)
    constants = {unit: median_of_others(gains, unit) for unit in gains}
    return [
        one if one.case is None else one._replace(baseline=constants[one.case.unit] * one.case.tokens_per_step)
        for one in outcomes
    ]


def median_of_others(gains: dict[Unit, list[float]], unit: Unit) -> float:
    """Median over all units but one; nan where there is no other."""
    found = [gain for other, of in gains.items() if other != unit for gain in of]
    return median(found) if found else nan


def predicted(validation: SpeculationValidation) -> list[SpeculationOutcome]:
    """The rows that were."""
    return [one for one in validation.outcomes if isfinite(one.speedup)]
