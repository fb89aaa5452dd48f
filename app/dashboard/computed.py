"""How the numbers of a figure were computed, in labelled sentences: formula, method, step times, seeds, prices.

Knows nothing of pages.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.dashboard.estimates import Answer
from app.format import plural
from app.tables.verdict import error_lines, price_lines

How = Sequence[tuple[str, str]]
"""Labels and sentences."""

ESTIMATED = "estimated: the steady state, solved by formulas; no random numbers, so no seeds"
LEDGER = "computed: bytes of the catalog's models and engines; no step times, no random numbers"


def computed_by(formula: str, found: Answer, *, method: str | None = None) -> How:
    """How a figure of a scenario was computed.

    formula: in words. method: how it was found; None: as the answer was, simulated with its seeds or estimated.
    """
    return list(_lines(formula, found.provenance, method or method_of(found)))


def method_of(found: Answer) -> str:
    """How an answer was found, with its seeds."""
    scenario = found.scenario
    if found.method == "estimated":
        return ESTIMATED
    runs, requests = plural(scenario.replications, "replication"), scenario.workload.horizon.requests
    return (
        f"simulated: {runs} of {requests:,} requests, random streams from seed {scenario.seed}; what was not simulated "
        "is estimated, and drawn or said as such"
    )


def _lines(formula: str, provenance: Mapping[str, Any], method: str) -> Iterator[tuple[str, str]]:
    calibration = provenance.get("calibration") or {}
    yield "Formula", formula
    yield "Method", method
    if provenance.get("profile"):
        yield "Step times", f"measured profile {provenance['profile']}" if calibrated(calibration) else "uncalibrated"
    for said, names in error_lines(calibration).items():
        yield "Error", f"{', '.join(names)}: {said}"
    for price, names in price_lines(provenance.get("prices") or {}).items():
        yield "Price", f"{', '.join(names)}: {price}"
    yield "Version", f"specfleet {provenance.get('version')}"


def calibrated(calibration: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether any deployment has a measured profile."""
    return any(known.get("profile") for known in calibration.values())
