"""Which K for which batch, and what policies make of it. Knows nothing of pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.dashboard.speculation.found import PLAIN, flight_of
from app.dashboard.speculation.point import point
from app.dashboard.speculation_inputs import View
from app.figures.ways import WayLine
from simulator.planning.draft_schedule import DraftSchedule
from simulator.spec.scenario import Scenario

FIXED, BY_BATCH, GOODPUT = "fixed", "by-batch", "goodput"
"""Names of the policies, as deployments."""


def speculations(scenario: Scenario, view: View, schedule: DraftSchedule) -> dict[str, Mapping[str, Any]]:
    """Policy → the reader's own point under it, as a file says it."""
    base = point(scenario, view)
    return {
        FIXED: base,
        BY_BATCH: base | {"propose": _chain(schedule.draft_tokens), "policy": whole(schedule)},
        GOODPUT: base | {"propose": _chain(schedule.most_draft_tokens), "policy": {"kind": "goodput"}},
    }


def whole(schedule: DraftSchedule) -> dict[str, Any]:
    """The schedule as a policy for as many sequences as may run, however few have a place."""
    bands = [list(band) for band in schedule.here.bands]
    bands[-1][1] = max(bands[-1][1], schedule.sequences[-1])
    return {"kind": "by_batch", "schedule": bands}


def lines_of(scenario: Scenario) -> list[WayLine]:
    """Every policy over sequences in flight."""
    flights = {name: flight_of(scenario, name) for name in scenario.deployments}
    plain = flights[PLAIN].output_tokens_per_s
    return [
        WayLine(
            name, flight.sequences.tolist(), (flight.output_tokens_per_s / plain).tolist(),
            flight.usd_per_million_output_tokens.tolist(),
        )
        for name, flight in flights.items() if name != PLAIN
    ]  # fmt: skip


def csv_rows(lines: Sequence[WayLine]) -> list[dict[str, Any]]:
    """A row for each policy and batch, unrounded."""
    return [
        {"policy": line.name, "sequences": n, "speedup": gain, "usd_per_million_output_tokens": cost}
        for line in lines
        for n, gain, cost in zip(line.sequences, line.speedup, line.usd_per_million, strict=True)
    ]


def schedule_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each batch and context of a schedule, unrounded."""
    return [
        {"sequences": n, "context_tokens": column["context_tokens"], "draft_tokens": k, "gain": gain}
        for column in found["contexts"]
        for n, k, gain in zip(found["sequences"], column["best_draft_tokens"], column["gain"], strict=True)
    ]


def _chain(draft_tokens: int) -> dict[str, Any]:
    return {"shape": "chain", "draft_tokens": max(draft_tokens, 1)}
