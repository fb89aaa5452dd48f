"""The article's claims for a browser: checked on the processes that all share, filtered, put into HTML and CSV.

Knows nothing of pages.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Any

from app.dashboard import badges, cards
from app.dashboard.document import mapping_of
from app.dashboard.jobs import Progress
from app.format import ABSENT, plural
from app.report.markup import Markup, join, table, tag
from scenarios.csv_file import write_csv
from scenarios.files import builtin_names
from scenarios.load import load_scenario
from simulator.planning.claims.article import SYSTEMS, check_claims, summary
from simulator.planning.claims.claim import VERDICTS, Figure, number

Found = Mapping[str, Any]
"""The claims, as `claims --json` has them, with `date` and `systems`."""
Row = Mapping[str, Any]
"""One claim."""
Address = Callable[[dict[str, Any]], str]
"""Scenario → a link that opens it."""

KEY = "claims"
"""What the answer follows from: nothing that a browser sends."""
FOLDER = "article"
"""Of the built-in scenarios."""

PREDICTED = "Computed from the catalog, the formulas and measured step times, not copied from the article."
ICONS = {"holds": "✓", "holds if": "◐", "does not hold": "✕", "impossible": "⊘", "cannot be checked": "?"}
"""Verdict → its sign."""
TONES = {name: f"verdict-{place}" for place, name in enumerate(VERDICTS)}
"""Verdict → its colour, a class of the style sheet."""

MOST_FIGURES = 5
"""Figures of a claim that stand in the table; its arithmetic has all."""
FIELDS = ("number", "topic", "claim", "claimed", "verdict", "figure", "low", "high", "unit", "condition", "by_hand",
          "scenario")  # fmt: skip
"""Columns of the CSV."""


def checking(executor: Executor, progress: Progress) -> dict[str, Any]:
    """All claims and the systems that the article describes."""
    found = executor.submit(systems)
    claims = check_claims(executor, progress)
    return summary(claims) | {"date": datetime.now(UTC).date().isoformat(), "systems": found.result()}


def systems() -> dict[str, dict[str, Any]]:
    """Name → what is asked of a system of the article, the claims about it, and its scenario as a mapping."""
    loaded = {name.removeprefix(f"{FOLDER}/"): load_scenario(name) for name in builtin_names(FOLDER)}
    return {
        name: {
            "question": one.points[0].scenario.description or one.name,
            "claims": [claim for claim, system in SYSTEMS.items() if system == name],
            "mapping": mapping_of(one),
        }
        for name, one in loaded.items()
    }


def named(verdict: str) -> str:
    """A verdict as it is read: never by its colour alone."""
    return f"{ICONS[verdict]} {verdict}"


def counts(found: Found) -> Markup:
    """How many claims got each verdict, and what that means."""
    holding, total = found["verdicts"]["holds"], len(found["rows"])
    lines = [
        (named(name), f"{plural(count, 'claim')}: {VERDICTS[name]}", "") for name, count in found["verdicts"].items()
    ]
    claim = f"{plural(total, 'claim')} of the article: {holding} {'holds' if holding == 1 else 'hold'} as stated"
    return cards.told([("", claim, ""), *lines], badges.badge("predicted", "estimated", PREDICTED), "The verdicts")


def filtered(found: Found, verdicts: Sequence[str], topics: Sequence[str]) -> list[Row]:
    """The claims with one of the verdicts about one of the topics; none chosen: whichever."""
    return [
        row
        for row in found["rows"]
        if (not verdicts or row["verdict"] in verdicts) and (not topics or row["topic"] in topics)
    ]


def topics(found: Found) -> list[str]:
    """What the claims are about, in the order of the article."""
    return list(dict.fromkeys(row["topic"] for row in found["rows"]))


def claims_table(found: Found, rows: Sequence[Row], address: Address) -> Markup:
    """A line for each claim: what is claimed, what is predicted, the verdict; condition and arithmetic to unfold."""
    links = {name: address(of["mapping"]) for name, of in found["systems"].items()}
    lines = [
        (
            row["number"], badges.badge(named(row["verdict"]), TONES[row["verdict"]], VERDICTS[row["verdict"]]),
            join(row["claim"], ".", _unfolds(row, links)), row["claimed"], _predicted(row),
        )
        for row in rows
    ]  # fmt: skip
    head = ("#", "verdict", "the article says", "claimed", "predicted, from low to high")
    return tag("div", table(head, lines), class_="sf-table sf-claims")


def _predicted(row: Row) -> Markup:
    """The first figures."""
    left = len(row["figures"]) - MOST_FIGURES
    more = tag("p", f"and {plural(left, 'figure')} more", class_="sf-dim") if left > 0 else None
    return join(*map(_line, row["figures"][:MOST_FIGURES]), more)


def _line(figure: Mapping[str, Any]) -> Markup:
    name, colon, value = Figure(**figure).text.rpartition(": ")
    return tag("p", name, colon, tag("strong", value))


def _unfolds(row: Row, links: Mapping[str, str]) -> Markup:
    """When a claim would hold, and every figure that the verdict rests on."""
    arithmetic = table(("figure", "low", "high", "unit"), [tuple(_figure(figure)) for figure in row["figures"]])
    return tag(
        "details",
        tag("summary", f"Condition and arithmetic of claim {row['number']}"),
        cards.labelled(_said(row)),
        arithmetic,
        _link(row["scenario"], links),
    )


def _said(row: Row) -> Iterator[tuple[str, str]]:
    yield "About", str(row["topic"])
    if row["condition"]:
        yield "Condition", f"{row['condition']}."
    if row["by_hand"]:
        yield "By hand", str(row["by_hand"])


def _figure(figure: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return figure["name"], number(figure["low"]), number(figure["high"]), figure["unit"]


def _link(system: str | None, links: Mapping[str, str]) -> Markup | None:
    return None if system is None else tag("p", tag("a", f"Open {system} in Compare", href=links[system]))


def systems_table(found: Found, address: Address) -> Markup:
    """A line for each system that the article describes, with a link that opens it."""
    lines = [
        (
            name, tag("a", "Open in Compare", href=address(of["mapping"]), aria_label=f"Open {name} in Compare"),
            of["question"], ", ".join(map(str, of["claims"])) or ABSENT,
        )
        for name, of in found["systems"].items()
    ]  # fmt: skip
    return tag("div", table(("system", "as a scenario", "question", "claims"), lines), class_="sf-table sf-claims")


def origin(found: Found) -> list[tuple[str, str]]:
    """How the figures were computed: labels and sentences."""
    profiles = ", ".join(f"{one['name']} ({one['date']})" for one in found["profiles"])
    return [
        ("Command", "specfleet claims --json gives the same figures; docs/claims.md has them as a page"),
        ("Computed", f"on {found['date']}, when this page was first opened on this server"),
        ("Step times", f"measured profiles {profiles}; how wrong they are stands on the page Evidence"),
        ("Formulas", "docs/formulas.md; prices, models and measured acceptance are those of the catalog"),
        ("A range", "is over what a claim leaves open, such as an acceptance from 0.80 to 0.90"),
    ]


def as_csv(rows: Sequence[Row]) -> bytes:
    """A line for each figure, unrounded, with the claim that it belongs to."""
    out = io.StringIO(newline="")
    lines = (
        {name: row[name] for name in FIELDS if name in row}
        | {"figure": figure["name"], "low": figure["low"], "high": figure["high"], "unit": figure["unit"]}
        for row in rows
        for figure in row["figures"]
    )
    write_csv(FIELDS, lines, out)
    return out.getvalue().encode()
