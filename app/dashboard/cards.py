"""The answer in HTML: who wins and when, and a card for each figure that decides. Every text is escaped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from app.dashboard import badges, terms
from app.dashboard.estimates import Answer
from app.dashboard.sides import Row, ratio, sides
from app.figures.style import gpu_look
from app.format import ABSENT, Formatter, count, percent, plural, plus_minus, significant, usd
from app.report.markup import Markup, join, tag
from app.tables.economics import Line
from app.tables.verdict import verdict_lines

SIGNS = {"circle": "●", "diamond": "◆", "square": "■", "triangle-up": "▲", "pentagon": "⬟", "star": "★"}
"""Plotly's markers as characters."""


class Card(NamedTuple):
    """A figure of two deployments."""

    title: str
    word: str
    """Of the glossary: what it means, with formula and unit."""
    field: str
    """Field of the row that is compared."""
    show: Callable[[Row], tuple[str, str]]
    """The number, and what stands small behind it."""
    less_is_better: bool = True


def winner(answer: Answer) -> Markup:
    """The winner with its condition and why."""
    return verdict(answer.comparison, badges.method(answer))


def verdict(comparison: Mapping[str, Any], method: Markup) -> Markup:
    """A comparison in sentences; method: how its numbers were found."""
    return told(list(verdict_lines(comparison)), method, "The answer")


def told(lines: Sequence[Line], method: Markup, says: str) -> Markup:
    """An answer in sentences: the first is the claim, the others are what it rests on.

    says: what it is, for those who cannot see it.
    """
    (_, claim, style), *others = lines
    tone = "none" if "red" in style else "win" if "green" in style else "open"
    name, colon, rest = claim.partition(": ")
    said = join(tag("strong", name), colon, rest) if colon else claim
    return tag(
        "section",
        tag("p", method, class_="sf-over"),
        tag("p", said, class_="sf-claim"),
        labelled((label, text) for label, text, _ in others),
        class_=f"sf-winner sf-{tone}", aria_label=says,
    )  # fmt: skip


def labelled(lines: Iterable[tuple[str, str]]) -> Markup:
    """Sentences, each behind its label."""
    return tag("dl", *(join(tag("dt", label), tag("dd", text)) for label, text in lines), class_="sf-why")


def cards(answer: Answer) -> Markup:
    """A card for each figure that decides."""
    chosen = sides(answer)
    return tag("div", *(_card(card, answer, chosen) for card in CARDS), class_="sf-cards")


def _card(card: Card, answer: Answer, chosen: list[Row]) -> Markup:
    best = _best(card, chosen)
    gpus = [str(row["gpu"]) for row in answer.rows]
    lines = [_line(row, card, gpus, bold=row is best) for row in chosen]
    return tag(
        "section",
        tag("h3", card.title, terms.sign(card.word)),
        tag("dl", *lines),
        tag("p", _difference(card, chosen), class_="sf-delta"),
        tag("p", badges.method(answer), class_="sf-under"),
        class_="sf-card", aria_label=card.title,
    )  # fmt: skip


def _best(card: Card, chosen: list[Row]) -> Row | None:
    known = [row for row in chosen if row.get(card.field)]
    if not known:
        return None
    return (min if card.less_is_better else max)(known, key=lambda row: float(row[card.field]))


def _line(row: Row, card: Card, gpus: list[str], *, bold: bool) -> Markup:
    text, small = card.show(row)
    number = tag("strong" if bold else "span", text)
    return tag("div", tag("dt", mark(str(row["gpu"]), gpus), f" {row['deployment']}"),
               tag("dd", number, tag("small", f" {small}") if small else None))  # fmt: skip


def mark(gpu: str, gpus: list[str]) -> Markup:
    """A GPU's sign in its colour."""
    colour, symbol = gpu_look(gpu, gpus)
    return tag("span", SIGNS[symbol], style=f"color:{colour}", title=gpu, aria_label=gpu, role="img")


def _difference(card: Card, chosen: list[Row]) -> str:
    """How the second compares with the first."""
    if len(chosen) < 2:
        return "Nothing to compare it with."
    first, second = chosen
    found = ratio(second, first, card.field)
    if found is None:
        missing = first if not first.get(card.field) else second
        return f"{missing['deployment']} has no such number: {_reason(missing)}"
    value, low, high = found
    name = str(second["deployment"])
    if value == 1:
        return f"{name} is level with {first['deployment']}"
    word = "less" if value < 1 else "more"
    ends = sorted((abs(low - 1), abs(high - 1))) if (low - 1) * (high - 1) > 0 else None
    if ends is None:
        return f"{name} {percent(abs(value - 1))} {word}, within the error: {_signed(low)} to {_signed(high)}"
    interval = f" (95 % interval {percent(ends[0])} to {percent(ends[1])})" if high > low * (1 + 1e-9) else ""
    return f"{name} {percent(abs(value - 1))} {word}{interval}"


def _signed(end: float) -> str:
    return f"{'−' if end < 1 else '+'}{percent(abs(end - 1))}"


def _reason(row: Row) -> str:
    """Why a deployment has no such number; what it lacks stands in the answer above the cards."""
    if not row.get("fits", True):
        return "it does not fit"
    for name in ("reason", "fleet_note", "capacity_note"):
        if row.get(name):
            return str(row[name])
    return "it holds no load" if row.get("capacity_req_per_s") == 0 else "not known"


def _with_error(field: str, label: Formatter) -> Callable[[Row], tuple[str, str]]:
    def show(row: Row) -> tuple[str, str]:
        text, _, half = plus_minus(row.get(field), (row.get("interval") or {}).get(field), label).partition(" ")
        return text, half

    return show


def _fleet(row: Row) -> tuple[str, str]:
    if row.get("gpus_for_offered") is None:
        return ABSENT, ""
    replicas = plural(round(row["replicas_for_offered"]), "replica")
    return count(row["gpus_for_offered"]), f"{replicas}, {usd(row.get('usd_per_hour_for_offered'))}/h"


OUTPUT, TOTAL = "usd_per_million_output_tokens_at_capacity", "usd_per_million_total_tokens_at_capacity"

CARDS = (
    Card("$/M output at capacity", "m-output-at-capacity", OUTPUT, _with_error(OUTPUT, usd)),
    Card("$/M total at capacity", "m-total-at-capacity", TOTAL, _with_error(TOTAL, usd)),
    Card(
        "Requests/s in target", "capacity", "capacity_req_per_s", _with_error("capacity_req_per_s", significant),
        less_is_better=False,
    ),
    Card("GPUs for this load", "gpus-for-this-load", "gpus_for_offered", _fleet),
)  # fmt: skip


def with_totals(answer: Answer) -> Answer:
    """An answer whose rows also say what a million tokens, inputs included, cost at capacity."""
    return replace(answer, rows=[{**row, **_total(row)} for row in answer.rows])


def _total(row: Row) -> dict[str, Any]:
    cost, output, total = (row.get(name) for name in (OUTPUT, "output_tokens_per_s", "total_tokens_per_s"))
    if not cost or not output or not total:
        return {TOTAL: None}
    share = output / total
    ends: Mapping[str, Any] = row.get("interval") or {}
    own = {TOTAL: [end * share for end in ends[OUTPUT]]} if ends.get(OUTPUT) else {}
    return {TOTAL: cost * share, "interval": {**ends, **own}}
