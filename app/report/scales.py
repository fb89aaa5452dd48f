"""Axes: from values to pixels, and where the ticks stand."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from low to high, drawn between two pixels; logarithmic if so said."""

    low: float
    high: float
    first_px: float
    last_px: float
    log: bool = False

    def px(self, value: float) -> float:
        """Where a value stands, cut at the ends.

        >>> Scale(1.0, 100.0, 0.0, 10.0, log=True).px(10.0)
        5.0
        """
        low, high, at = (log10(max(v, 1e-300)) if self.log else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low)
        return self.first_px + min(max(share, 0.0), 1.0) * (self.last_px - self.first_px)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the axis."""
        return log_ticks(self.low, self.high, most) if self.log else linear_ticks(self.low, self.high, most)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten.

    >>> linear_ticks(0.0, 9.0, 6)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    step = round_up((high - low) / max(most - 1, 1))
    return [round(step * i, 12) for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten.

    >>> round_up(0.03), round_up(1.0)
    (0.05, 1.0)
    """
    power: float = 10.0 ** floor(log10(value) + 1e-9)
    return next(round(factor * power, 12) for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there is room.

    >>> log_ticks(0.01, 1.0, 8)
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [round(factor * 10.0**power, 12) for power in powers for factor in factors]
        inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) <= most:
            return inside
    return inside[:: ceil(len(inside) / most)]


def linear_scale(values: Iterable[float], first_px: float, last_px: float) -> Scale:
    """From 0 to a little beyond the largest value."""
    high = max((value for value in values if isfinite(value)), default=0.0)
    return Scale(0.0, high * 1.05 if high > 0 else 1.0, first_px, last_px)


def log_scale(values: Iterable[float], first_px: float, last_px: float) -> Scale:
    """Around all values above 0, at least a factor of 4 wide."""
    known = [value for value in values if isfinite(value) and value > 0]
    low, high = (min(known) / 1.15, max(known) * 1.15) if known else (0.1, 10.0)
    if high / low < 4:
        middle = (high * low) ** 0.5
        low, high = middle / 2, middle * 2
    return Scale(low, high, first_px, last_px, log=True)


def plain_number(value: float) -> str:
    """A tick without a unit.

    >>> plain_number(2500.0), plain_number(0.25)
    ('2,500', '0.25')
    """
    return f"{value:,.6g}"


Label = Callable[[float], str]
Points = Sequence[tuple[float, float]]
