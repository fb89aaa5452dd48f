"""A bar of a tornado: what deployments cost with an input at both ends of its interval, and who is cheapest then."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from simulator.planning.comparison import rank
from simulator.planning.inputs import Input
from simulator.planning.moved_costs import Costs

SAME = 1e-9
"""Relative difference of costs below which they are the same."""


def leader(costs: Mapping[str, Costs], basis: str) -> str | None:
    """The cheapest on a basis, as a comparison ranks them; None where nobody holds."""
    found: str | None = rank([one.row(name) for name, one in costs.items()], (), basis, {})["leader"]
    return found


def stays_cheapest(winner: str, costs: Mapping[str, Costs], basis: str) -> bool:
    """Whether a winner holds and nobody is cheaper; as cheap is no reason to change one's mind."""
    known = {name: cost for name, one in costs.items() if (cost := one.on(basis)) is not None}
    return winner in known and known[winner] <= min(known.values()) * (1.0 + SAME)


def winner_at(winner: str, costs: Mapping[str, Costs], basis: str) -> str | None:
    """Who is the cheapest: the winner so far while nobody is cheaper; None where nobody holds."""
    return winner if stays_cheapest(winner, costs, basis) else leader(costs, basis)


class End(NamedTuple):
    """An input at one end."""

    at: float | str
    """Factor on what the scenario says, or the name of a price list."""
    costs: Mapping[str, Costs]


@dataclass(frozen=True, slots=True)
class Bar:
    """An input, and what comes of it at both ends."""

    name: str
    says: str
    basis: str
    """measured, price lists, assumption or stated."""
    source: str
    ends: tuple[End, End]
    base: Mapping[str, Costs]
    """What deployments cost in between, found in the same way."""
    winners: tuple[str | None, str | None]
    """Who is the cheapest at each end; None where nobody holds."""
    method: Literal["estimated", "simulated"] = "estimated"
    drawn: bool = True
    """Whether it is among those that vary together."""

    def swing(self, deployment: str, field: str) -> float:
        """By how much a deployment's cost differs between the ends, of what it costs in between [ratio].

        inf where it does not hold at one of them; 0 where it is not varied, or does not hold in between.
        """
        if deployment not in self.base:
            return 0.0
        sides = self.ends[0].costs, self.base, self.ends[1].costs
        low, middle, high = (side[deployment].on(field) for side in sides)
        if middle is None:
            return 0.0
        return float("inf") if low is None or high is None else abs(high - low) / middle

    def as_json(self) -> dict[str, Any]:
        """For scripts and figures."""
        return {
            "input": self.name,
            "says": self.says,
            "basis": self.basis,
            "source": self.source,
            "method": self.method,
            "drawn": self.drawn,
            "base": _as_json(self.base),
            "ends": [
                {"at": end.at, "winner": winner, "costs": _as_json(end.costs)}
                for end, winner in zip(self.ends, self.winners, strict=True)
            ],
        }


def _as_json(costs: Mapping[str, Costs]) -> dict[str, Any]:
    return {name: one.as_json() for name, one in costs.items()}


def bar_of(one: Input, ends: tuple[End, End], base: Mapping[str, Costs], winner: str, basis: str) -> Bar:
    """The bar of an input.

    base: what the deployments of the ends, and perhaps others, cost as the scenario says.
    winner: who is the cheapest there. basis: field by which deployments are ranked.
    """
    winners = winner_at(winner, ends[0].costs, basis), winner_at(winner, ends[1].costs, basis)
    own = {name: base[name] for name in ends[0].costs}
    return Bar(one.name, one.says, one.basis, one.source, ends, own, winners, drawn=one.drawn)
