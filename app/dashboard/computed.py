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
COMPARISON = (
    "latencies over the requests of the offered load; capacity is the highest rate that holds every target; "
    "$ per million = cluster $/h ÷ 3,600 ÷ tokens/s × 10⁶; the fleet is the fewest replicas that hold the load"
)
"""How the figures of a comparison follow from a run, in words."""

LEDGER = "computed: bytes of the catalog's models and engines; no step times, no random numbers"


def computed_by(formula: str, found: Answer, *, method: str | None = None) -> How:
    """How a figure of a scenario was computed.

    formula: in words. method: how it was found; None: as the answer was, simulated with its seeds or estimated.
    """
    return said_of(formula, method or method_of(found), found.provenance)


def said_of(formula: str, method: str, provenance: Mapping[str, Any]) -> How:
    """How a figure was computed, of which the formula, the method and where its numbers come from are known."""
    return list(_lines(formula, method, provenance))


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


def _lines(formula: str, method: str, provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Formula", formula
    yield "Method", method
    if provenance.get("profile"):
        yield "Profile", str(provenance["profile"])
    for said, names in error_lines(provenance.get("calibration") or {}).items():
        yield "Error", f"{', '.join(names)}: {said}"
    for price, names in price_lines(provenance.get("prices") or {}).items():
        yield "Price", f"{', '.join(names)}: {price}"
    yield "Version", f"specfleet {provenance.get('version')}"
