"""An input of a scenario that is not known exactly: a factor on what the scenario says, and the law that it follows."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

from simulator.outcome.interval import NORMAL_QUANTILE
from simulator.planning.moved import Moved

LOW_END, HIGH_END = 0.025, 0.975
"""Quantiles that are the ends of an interval of 95 %."""

ASSUMED = {
    "rate": (1.25, "nobody knows the load of the next months to better than a quarter"),
    "lengths": (1.2, "other traffic is longer or shorter by a fifth; no table of lengths carries an interval"),
    "acceptance": (
        1.5,
        "somewhat less than one EAGLE-3 head of the catalog differs from MT-Bench to GSM8K (0.62) and HumanEval (1.84)",
    ),
    "step_time": (1.3, "no measured profile, or none of its left-out rows tells of such a deployment"),
    "bandwidth": (1.1, "another board or power limit of the same GPU"),
    "price": (1.2, "a quote may be a fifth above or below; too few price lists of one basis have these GPUs"),
}
"""What is uncertain → factor by which it may be higher or lower, each an assumption, and why it is plausible."""

Basis = Literal["measured", "price lists", "assumption", "stated"]


class Input(NamedTuple):
    """An input, as a factor on what the scenario says, and the interval that holds it (95 %)."""

    name: str
    says: str
    """What is multiplied, in words."""
    low: float
    """At most 1."""
    high: float
    """At least 1."""
    basis: Basis
    source: str
    """Where the interval comes from."""
    field: str
    """Of Moved."""
    keys: tuple[Any, ...] = ()
    """Keys of that field that move together; none where it is one number."""
    lists: tuple[tuple[str, Mapping[str, float]], ...] = ()
    """In place of an interval: price lists, each with a factor by GPU."""
    drawn: bool = True
    """Whether it is drawn with all others; False where another input holds it already."""

    def at(self, chance: float) -> dict[str, Any]:
        """What of Moved it is at a quantile of its law: `low` at 2.5 %, as stated at 50 %, `high` at 97.5 %."""
        if self.lists:
            return {self.field: self._list_at(chance)[1]}
        factor = two_piece(self.low, self.high, chance)
        return {self.field: dict.fromkeys(self.keys, factor) if self.keys else factor}

    def said(self, chance: float) -> float | str:
        """The factor at a quantile, or the name of the price list."""
        return self._list_at(chance)[0] if self.lists else two_piece(self.low, self.high, chance)

    def _list_at(self, chance: float) -> tuple[str, Mapping[str, float]]:
        return self.lists[min(int(chance * len(self.lists)), len(self.lists) - 1)]


def assumed(name: str, says: str, what: str, field: str, keys: tuple[Any, ...] = ()) -> Input:
    """An input of which nothing is measured."""
    factor, why = ASSUMED[what]
    return Input(name, says, 1.0 / factor, factor, "assumption", why, field, keys)


def two_piece(low: float, high: float, chance: float) -> float:
    r"""Quantile of a factor whose logarithm is normal around 0, with a width of its own on each side [ratio].

    .. math:: x(u) = h^{z / 1.96} \text{ where } z = \Phi^{-1}(u) > 0, \quad l^{-z / 1.96} \text{ elsewhere}

    low, high: l and h, ends of the interval of 95 %. [ratio]
    chance: u. [0 to 1]

    >>> [round(two_piece(0.5, 4.0, u), 3) for u in (0.025, 0.5, 0.975)]
    [0.5, 1.0, 4.0]

    A two-piece normal law of logarithms; half of the draws lie on each side of what the scenario says.
    """
    z = NormalDist().inv_cdf(chance) / NORMAL_QUANTILE
    return float(high**z if z > 0 else low**-z)


def moved_by(at: Sequence[tuple[Input, float]]) -> Moved:
    """All inputs, each at its quantile, as one move."""
    changes: dict[str, Any] = {}
    for one, chance in at:
        for field, value in one.at(chance).items():
            changes[field] = {**changes.get(field, {}), **value} if isinstance(value, Mapping) else value
    return Moved(**changes)
