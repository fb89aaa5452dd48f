"""What moves the answer of a scenario, for a browser: computed on the processes that all share, and put into words.

Knows nothing of pages.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

from app.dashboard import badges, cards
from app.dashboard.jobs import Compute, Progress
from app.report.markup import Markup
from app.tables.sensitivity import UNITS, drawn_field, lines, stability_lines
from scenarios.store import point_hash
from simulator.planning.sensitivity import DRAWS, sensitivity
from simulator.spec.scenario import Scenario

Found = Mapping[str, Any]
"""A sensitivity, as `estimate --sensitivity --json` has it."""
Within = Mapping[str, tuple[float, float]]
"""Input → the interval of its factor that the reader states."""

ESTIMATED = "Every draw from the steady state, all deployments under the same ones."
SURE = 0.9
"""Chance from which the winner counts as safe: a choice."""

INTERVAL = "Interval"
"""Label of the sentences that say where an interval comes from: the page has them beside the intervals."""
TEXT_BAR = "bar"
"""Column of the table on the command line in place of which the page has a figure."""
COLUMNS = ("input", "from – to", "known by", *UNITS.values(), TEXT_BAR, "turns to")


def key_of(scenario: Scenario, within: Within) -> str:
    """What an answer follows from."""
    return f"sensitivity {point_hash(scenario)} {sorted(within.items())}"


def varying(scenario: Scenario, within: Within) -> Compute:
    """The sensitivity of a scenario's answer."""
    return partial(_varied, scenario, within)


def _varied(scenario: Scenario, within: Within, executor: Executor, progress: Progress) -> dict[str, Any]:
    return sensitivity(scenario, executor, progress, within=within).as_json()


def claim(found: Found) -> Markup:
    """How likely the winner stays, and what turns it round, in the sentences of the command line."""
    method = badges.badge("estimated", "estimated", ESTIMATED)
    said = [line for line in stability_lines(found) if line[0] != INTERVAL]
    if found["winner"] is None:
        said = [("Stays", "no deployment holds the load as it is: there is no winner to lose", "red")]
    elif found["stability"]["chance"] >= SURE:
        label, text, _ = said[0]
        said[0] = label, text, "green"
    return cards.told(said, method, "How safe the answer is")


def bar_rows(found: Found) -> list[dict[str, str]]:
    """Every input: its interval, how that is known, what the winner costs at both ends, and who wins there instead."""
    rows = [dict(zip(COLUMNS, line, strict=True)) for line in lines(found)]
    return [{name: text for name, text in row.items() if name != TEXT_BAR} for row in rows]


def intervals(found: Found) -> dict[str, tuple[float, float]]:
    """Inputs whose interval is one of factors → its ends."""
    return {
        str(bar["input"]): (float(bar["ends"][0]["at"]), float(bar["ends"][1]["at"]))
        for bar in found["bars"]
        if bar["method"] == "estimated" and not any(isinstance(end["at"], str) for end in bar["ends"])
    }


def method(scenario: Scenario) -> str:
    """How the figure and the chance were found."""
    return (
        "estimated: the steady state with each input alone at both ends of its interval; for the chance that the "
        f"winner stays, {DRAWS} draws of all inputs (a Latin hypercube from seed {scenario.seed}), the same for all "
        "deployments"
    )


def end_rows(found: Found) -> list[dict[str, Any]]:
    """A row for each end of each input, unrounded: what every deployment costs there, and who is the cheapest."""
    field = drawn_field(found)
    return [
        {"input": bar["input"], "known by": bar["basis"], "at": end["at"], "cheapest": end["winner"]}
        | {f"{name} {UNITS[field]}": of[field] for name, of in end["costs"].items()}
        for bar in found["bars"]
        for end in bar["ends"]
    ]


def sources(found: Found) -> list[tuple[str, str]]:
    """Where intervals come from: inputs, and the source of theirs."""
    told = (text.partition(": ") for label, text, _ in stability_lines(found) if label == INTERVAL)
    return [(inputs, source) for inputs, _, source in told]
