"""How many replicas the hours of a day need, and what they cost by contract: reserved, by the hour, or on spot."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from statistics import fmean
from typing import NamedTuple

import numpy as np

from simulator.cluster.arrivals import pattern_of
from simulator.planning.economics import HOURS_PER_MONTH
from simulator.spec.arrivals import Arrivals, DiurnalArrivals
from simulator.spec.fleet import Fleet

HOURS = 24
"""Parts of a day that diurnal arrivals are read at, whatever their period stands for."""

MINUTES = 60
"""Places within each of them, the highest of which counts."""


class Mix(NamedTuple):
    """A way to pay for the replicas of a day."""

    name: str
    base_replicas: int
    """Paid in every hour."""
    usd_per_month: float


class Rates(NamedTuple):
    """What a replica costs in an hour [USD]; None: no such contract is stated for its GPUs."""

    on_demand: float
    reserved: float | None = None
    spot: float | None = None


def load_shape(fleet: Fleet | None, arrivals: Arrivals) -> list[float]:
    """Load of each hour ÷ that of the highest [0 to 1]: as stated, as diurnal arrivals say, else all alike."""
    if fleet is not None and fleet.hours is not None:
        levels = list(fleet.hours)
    elif isinstance(arrivals, DiurnalArrivals):
        levels = _by_hour(arrivals)
    else:
        return [1.0] * HOURS
    return [level / max(levels) for level in levels]


def _by_hour(arrivals: DiurnalArrivals) -> list[float]:
    """The highest rate of each 24th of a period, ÷ the mean rate."""
    lengths, levels = pattern_of(arrivals)
    middles_s = (np.arange(HOURS * MINUTES) + 0.5) * arrivals.period_s / (HOURS * MINUTES)
    part = np.searchsorted(np.cumsum(lengths), middles_s, side="right").clip(0, levels.size - 1)
    found: list[float] = levels[part].reshape(HOURS, MINUTES).max(axis=1).tolist()
    return found


def replicas_by_hour(shape: Sequence[float], replicas: int, share_used: float, spares: int = 0) -> list[int]:
    """Replicas that run in each hour, at least one and the spares.

    shape: load ÷ the highest. [0 to 1]
    replicas: what the highest hour needs.
    share_used: of what they can carry with their headroom kept, in that hour. [0 to 1]

    >>> replicas_by_hour([0.1, 0.5, 1.0], replicas=4, share_used=0.9)
    [1, 2, 4]

    A replica carries the same whatever their number; replicas are there when an hour begins.
    """
    needed = share_used * replicas
    return [
        spares + (replicas if level >= 1.0 else min(max(ceil(needed * level - 1e-9), 1), replicas)) for level in shape
    ]


def reserved_replicas(needed: Sequence[int], reserved_usd: float, otherwise_usd: float) -> int:
    r"""Replicas to reserve where the rest is bought by the hour: the fewest r beyond which a contract stands idle.

    .. math:: r^* = \min \{ r : P(N > r) \le c_r / c_o \}

    needed: replicas N that each hour needs, all hours as likely.
    reserved_usd: c_r, of a replica in every hour. [USD/h]
    otherwise_usd: c_o, of a replica in the hours in which it is needed. [USD/h]

    >>> reserved_replicas([2, 2, 4, 8], reserved_usd=1.0, otherwise_usd=2.0)
    2
    >>> reserved_replicas([2, 2, 4, 8], reserved_usd=1.0, otherwise_usd=5.0)
    8
    >>> reserved_replicas([2, 2, 4, 8], reserved_usd=3.0, otherwise_usd=2.0)
    0

    The newsvendor's quantile at 1 − c_r / c_o (Arrow, Harris, Marschak, Econometrica 19, 1951).
    """
    most = reserved_usd / otherwise_usd
    hours = len(needed)
    return next(r for r in (0, *sorted(set(needed))) if sum(n > r for n in needed) / hours <= most)


def spot_usd(spot: float, on_demand: float, interrupted: float) -> float:
    r"""What an hour costs on spot, if it is bought on demand while the GPUs are taken away [USD].

    .. math:: (1 - q) c_s + q c_o

    spot, on_demand: c_s and c_o. [USD/h]
    interrupted: share q of the hours. [0 to 1]

    >>> spot_usd(1.0, 3.0, interrupted=0.5)
    2.0

    Leaves out what a replica needs to come up again.
    """
    return (1.0 - interrupted) * spot + interrupted * on_demand


def mixes(needed: Sequence[int], rates: Rates, interrupted: float) -> list[Mix]:
    """Ways to pay for the replicas of a day, those first that need fewer contracts."""
    return [
        Mix(name, base, _usd_per_month(needed, base, *usd)) for name, base, usd in _ways(needed, rates, interrupted)
    ]


def _ways(needed: Sequence[int], rates: Rates, interrupted: float) -> Iterator[tuple[str, int, tuple[float, float]]]:
    """Name, replicas that are paid in every hour, and what those and the others cost an hour."""
    most, least, hourly = max(needed), min(needed), rates.on_demand
    yield "on_demand_always", most, (hourly, hourly)
    yield "on_demand_by_hour", least, (hourly, hourly)
    if rates.reserved is not None:
        yield "reserved_always", most, (rates.reserved, hourly)
        yield "reserved_and_on_demand", reserved_replicas(needed, rates.reserved, hourly), (rates.reserved, hourly)
    if rates.spot is None:
        return
    peaks = spot_usd(rates.spot, hourly, interrupted)
    yield "on_demand_and_spot", least, (hourly, peaks)
    if rates.reserved is not None:
        yield "reserved_and_spot", reserved_replicas(needed, rates.reserved, peaks), (rates.reserved, peaks)


def _usd_per_month(needed: Sequence[int], base: int, base_usd: float, others_usd: float) -> float:
    return HOURS_PER_MONTH * fmean(base * base_usd + max(n - base, 0) * others_usd for n in needed)


def mixes_json(found: Sequence[Mix]) -> list[Mapping[str, object]]:
    """As plain values, each against paying for all at all hours."""
    always = found[0].usd_per_month
    return [{**mix._asdict(), "ratio": mix.usd_per_month / always} for mix in found]
