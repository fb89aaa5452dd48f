"""A claim of the article: what it says, what is predicted instead, under which condition it would hold, the verdict."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["holds", "holds if", "does not hold", "impossible", "cannot be checked"]
VERDICTS: dict[Verdict, str] = {
    "holds": "the prediction agrees",
    "holds if": "it agrees under a condition that the article does not state",
    "does not hold": "the prediction differs, or the reason given is not the cause",
    "impossible": "the article's own figures exclude it",
    "cannot be checked": "nothing public confirms it; whether it is consistent is said",
}
"""Verdict → what it means."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A predicted quantity, from low to high over what the claim leaves open."""

    name: str
    low: float
    high: float
    unit: str = ""

    @property
    def text(self) -> str:
        """As it is read.

        >>> Figure("speed-up", 1.234, 2.0, "x").text, Figure("GPUs", 6.0, 6.0).text
        ('speed-up: 1.23–2x', 'GPUs: 6')
        """
        low, high = number(self.low), number(self.high)
        values = low if low == high else f"{low}–{high}"
        if self.unit == "$":
            return f"{self.name}: ${values}"
        return f"{self.name}: {values}{'' if self.unit in ('x', '%', '') else ' '}{self.unit}"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim and what came of it."""

    number: int
    claim: str
    claimed: str
    """The article's figures."""
    figures: tuple[Figure, ...]
    """What is predicted, computed."""
    condition: str
    """What would make it true, or why nothing does."""
    verdict: Verdict
    topic: str = ""
    """What it is about."""

    @property
    def predicted(self) -> str:
        """The figures in words."""
        return "; ".join(figure.text for figure in self.figures)

    def row(self) -> dict[str, Any]:
        """As a row of a table or of JSON."""
        return asdict(self) | {"predicted": self.predicted}


def one(name: str, value: float, unit: str = "") -> Figure:
    """A figure without a range."""
    return Figure(name, value, value, unit)


def over(name: str, values: tuple[float, ...] | list[float], unit: str = "") -> Figure:
    """A figure that ranges over values.

    >>> over("x", [3.0, 1.0, 2.0]).text
    'x: 1–3'
    """
    return Figure(name, min(values), max(values), unit)


def number(value: float) -> str:
    """Three digits.

    >>> number(0.04567), number(12.345), number(1234.5)
    ('0.0457', '12.3', '1,234')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
