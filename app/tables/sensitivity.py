"""What moves the answer, on the screen: a tornado of text, and in sentences how likely the winner stays the winner."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.format import ABSENT, low_high, percent, significant, usd
from app.tables.economics import Line
from simulator.planning.comparison import BY_CAPACITY, BY_LOAD

if TYPE_CHECKING:
    from rich.table import Table

UNITS = {BY_LOAD: "$/h for the load", BY_CAPACITY: "$/M at capacity"}
BAR = 18
"""Characters of a bar."""
MOST_NAMED = 3
"""Inputs that a sentence names."""

Found = Mapping[str, Any]
"""`Sensitivity.as_json()`."""


def sensitivity_table(found: Found) -> "Table":
    """A row an input, those that move the winner's cost most first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(f"{found['scenario']} — what moves the cost of {found['winner']}")
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    table.add_column("input", overflow="fold")
    for heading in ("from – to", "known by"):
        table.add_column(heading, no_wrap=True)
    for field in UNITS:
        table.add_column(UNITS[field], justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("turns to", overflow="fold")
    for cells in lines(found):
        table.add_row(*cells)
    return table


def lines(found: Found) -> Iterator[list[str]]:
    """Cells of each row."""
    winner, drawn = found["winner"], drawn_field(found)
    ends = [ends_of(bar, winner, drawn) for bar in found["bars"]]
    known = [value for of in ends for value in of if value is not None]
    for bar, (low, base, high) in zip(found["bars"], ends, strict=True):
        yield [
            bar["input"],
            interval(bar),
            bar["basis"] if bar["method"] == "estimated" else bar["method"],
            *(_from_to(ends_of(bar, winner, field)) for field in UNITS),
            text_bar(low, base, high, min(known), max(known)) if known else "",
            ", ".join(turned(bar, winner)),
        ]


def drawn_field(found: Found) -> str:
    """The cost that bars are drawn of: that by which deployments are ranked, where any input moves it."""
    by_basis = [ends_of(bar, found["winner"], found["basis"]) for bar in found["bars"]]
    return found["basis"] if any(len(set(of)) > 1 for of in by_basis) else BY_CAPACITY


def ends_of(bar: Mapping[str, Any], deployment: str, field: str) -> tuple[float | None, float | None, float | None]:
    """What a deployment costs with an input at its low end, as the scenario says, and at its high end."""
    low, high = (end["costs"].get(deployment, {}).get(field) for end in bar["ends"])
    return low, bar["base"].get(deployment, {}).get(field), high


def turned(bar: Mapping[str, Any], winner: str) -> list[str]:
    """Who is cheaper than the winner at an end of an input alone."""
    others = dict.fromkeys(end["winner"] or "nobody holds" for end in bar["ends"])
    return [name for name in others if name != winner]


def interval(bar: Mapping[str, Any]) -> str:
    """Factors from one end to the other; of price lists that they are lists."""
    ends = [end["at"] for end in bar["ends"]]
    return "by list" if any(isinstance(end, str) for end in ends) else " – ".join(map(at, ends))


def at(end: float | str) -> str:
    """An end of an input: a factor, or a price list.

    >>> at(1.25), at("nebius-on-demand")
    ('×1.25', 'nebius-on-demand')
    """
    return end if isinstance(end, str) else f"×{end:.2f}"


def _from_to(ends: tuple[float | None, float | None, float | None]) -> str:
    low, base, high = ends
    if base is None:
        return ABSENT
    return usd(base) if low == base == high else f"{_or_none(low)} → {_or_none(high)}"


def _or_none(cost: float | None) -> str:
    return "does not hold" if cost is None else usd(cost)


def text_bar(
    low: float | None, base: float | None, high: float | None, least: float, most: float, width: int = BAR
) -> str:
    """From one end to the other, on one scale for all inputs; ┃ is what the scenario says.

    An end that does not hold is off the scale to the right.

    >>> text_bar(1.0, 2.0, 5.0, least=1.0, most=5.0, width=9)
    '██┃██████'
    """
    if base is None:
        return ""
    span = (most - least) or 1.0
    places = [round((min(cost, most) - least) / span * (width - 1)) for cost in (low, base, high) if cost is not None]
    here = round((base - least) / span * (width - 1))
    last = width - 1 if low is None or high is None else max(places)
    signs = ["█" if min(places) <= place <= last else " " for place in range(width)]
    signs[here] = "┃"
    return "".join(signs).rstrip()


def stability_lines(found: Found) -> Iterator[Line]:
    """How likely the winner stays the winner, what turns it round, and what is left out."""
    winner, drawn = found["winner"], found["stability"]
    if drawn is not None:
        chance, interval = percent(drawn["chance"]), low_high(drawn["interval"], percent)
        rest = "".join(f"; {name} wins in {percent(share)}" for name, share in _others(winner, drawn))
        yield (
            "Stays",
            f"{winner} stays the cheapest in {chance} of {drawn['draws']} draws of all inputs together "
            f"(95 % interval {interval}){rest}",
            "bold",
        )
    if drawn is not None and drawn["turned_by"]:
        named = ", ".join(
            f"{one['input']} ({significant(one['distance'], 2)})" for one in drawn["turned_by"][:MOST_NAMED]
        )
        yield "Turns on", f"{named}: distance between the draws that stay and those that turn, 0 to 1", ""
    yield from _alone(found)
    yield from (("Note", text, "dim") for text in found["notes"])
    yield from (("Interval", f"{', '.join(names)}: {source}", "dim") for source, names in _sources(found).items())


def _others(winner: str, drawn: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Who else wins, and in which share of the draws."""
    for name, count in sorted(drawn["winners"].items(), key=lambda one: -one[1]):
        if name != winner:
            yield name, count / drawn["draws"]
    if drawn["none_holds"]:
        yield "nobody", drawn["none_holds"] / drawn["draws"]


def _alone(found: Found) -> Iterator[Line]:
    """Inputs that turn the answer by themselves."""
    turning = [(bar, end) for bar in found["bars"] for end in bar["ends"] if end["winner"] != found["winner"]]
    if turning:
        said = [f"{bar['input']} at {at(end['at'])} ({end['winner'] or 'nobody holds'})" for bar, end in turning]
        yield "Alone", f"the winner changes with {', '.join(said)}", "yellow"
    elif found["bars"]:
        yield "Alone", f"no input turns it at an end of its interval: {found['winner']} stays the cheapest", ""


def _sources(found: Found) -> dict[str, Sequence[str]]:
    """Where intervals come from → the inputs that they are of."""
    sources: dict[str, list[str]] = {}
    for bar in found["bars"]:
        said = f"assumed, {bar['source']}" if bar["basis"] == "assumption" else bar["source"]
        if interval(bar) == "by list":
            said += f": {bar['ends'][0]['at']} to {bar['ends'][1]['at']}"
        sources.setdefault(said, []).append(bar["input"])
    return dict(sources)


def stability_block(found: Found) -> "Table":
    """The sentences below the table."""
    from app.tables.verdict import block

    return block(stability_lines(found))
