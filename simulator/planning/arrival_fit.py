"""How bursty arrivals are, and the simplest kind of arrivals behind which a queue is as long: fitted to times."""

from dataclasses import dataclass
from itertools import islice
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from simulator.cluster.arrivals import ARRIVALS
from simulator.errors import ScenarioError
from simulator.planning.burst_fit import bursty_by_dispersion, rate_steps
from simulator.spec.arrivals import Arrivals

Floats = NDArray[np.float64]

WINDOWS_S = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Windows over which arrivals are counted."""

FEWEST_WINDOWS = 8
"""Windows below which a dispersion is not told."""

LOADS = (0.05, 0.2, 0.5, 0.7)
"""Shares of its capacity at which a queue is compared."""

CLOSE = 0.2
"""Root mean square of ln(mean wait ÷ the trace's) up to which a kind of arrivals does as well as the trace."""

REPETITIONS = 8
"""Sequences as long as the trace over which the waits behind a kind of arrivals are averaged."""

REGULAR = 0.05
"""Share of a tick by which recorded times may miss it."""

FEWEST_CYCLES = 20
"""Bursts and lulls that a trace must hold for their lengths to be taken for random ones."""


@dataclass(frozen=True, slots=True)
class ArrivalFit:
    """A kind of arrivals, and how well it does."""

    arrivals: dict[str, Any]
    """Ready for `workload.arrivals` of a scenario file."""
    error: float
    """Root mean square of ln(mean wait ÷ the trace's) in a queue at four loads: 0.1 is about 10 %."""
    why: str


def gap_cv(times_s: Floats) -> float:
    """Standard deviation of the gaps ÷ their mean: 1 for Poisson, 0 for even arrivals.

    >>> gap_cv(np.array([0.0, 1.0, 2.0]))
    0.0
    """
    gaps = np.diff(times_s)
    mean = float(gaps.mean()) if gaps.size else 0.0
    return float(gaps.std()) / mean if mean > 0 else 0.0


def dispersion(times_s: Floats) -> dict[float, float]:
    """Variance ÷ mean of the arrivals in windows, by window [s]: 1 for Poisson in all of them.

    Windows that fit too few times into the sequence are left out. (Cox and Lewis, 1966, 4.5.)
    """
    span = float(times_s[-1] - times_s[0]) if times_s.size else 0.0
    found = {}
    for window in WINDOWS_S:
        count = int(span / window)
        if count >= FEWEST_WINDOWS:
            counts = np.bincount(((times_s - times_s[0]) / window).astype(np.int64))[:count]
            found[window] = float(counts.var() / max(float(counts.mean()), 1e-12))
    return found


def mean_waits(times_s: Floats) -> Floats:
    """Mean wait ÷ service time of a single server with equal service times, at each of LOADS.

    Lindley's recursion, W = max(W + s − gap, 0), as a walk above its running minimum. (Lindley, 1952.)
    """
    gaps = np.diff(times_s)
    waits = []
    for load in LOADS:
        service = load * float(times_s[-1] - times_s[0]) / max(gaps.size, 1)
        walk = np.concatenate(([0.0], np.cumsum(service - gaps)))
        waits.append(float((walk - np.minimum.accumulate(walk)).mean()) / service)
    return np.array(waits)


def fit_arrivals(times_s: Floats) -> ArrivalFit:
    """The simplest kind behind which a queue is as long as behind the times; when none is, the nearest.

    In order: poisson, gamma, bursty, and diurnal with steps over the whole duration, which also keeps the order of busy
    and quiet parts.

    Raises ScenarioError when there is too little to fit.
    """
    span = float(times_s[-1] - times_s[0]) if times_s.size else 0.0
    if times_s.size < 10 or span <= 0:
        raise ScenarioError(
            f"{times_s.size} requests in {span:g} s: at least 10, and some time between them, are needed to fit"
        )
    wanted = mean_waits(times_s)
    tried: list[ArrivalFit] = []
    for candidate in _candidates(times_s, (times_s.size - 1) / span):
        fit = _judged(candidate, wanted, times_s.size)
        tried.append(fit)
        if fit.error <= CLOSE:
            return fit
    return min(tried, key=lambda fit: fit.error)


def _candidates(times_s: Floats, rate: float) -> list[dict[str, Any]]:
    """Kinds of arrivals with fitted parameters, simplest first."""
    rate, span, cv = _short(rate), float(times_s[-1] - times_s[0]), gap_cv(times_s)
    tick = recorder_tick_s(times_s)
    if tick > 0:
        return [{"kind": "diurnal", "rate_per_s": rate, "period_s": tick, "steps": [[1.0, 1.0], [99.0, 0.0]]}]
    found: list[dict[str, Any]] = [{"kind": "poisson", "rate_per_s": rate}]
    if 0.01 < cv <= 50:
        found.append({"kind": "gamma", "rate_per_s": rate, "cv": _short(cv)})
    bursty = bursty_by_dispersion(times_s, rate, dispersion(times_s))
    if bursty is not None and (bursty["on_s"] + bursty["off_s"]) * FEWEST_CYCLES <= span:
        found.append({"kind": "bursty", "rate_per_s": rate} | {key: _short(value) for key, value in bursty.items()})
    edges_s, counts = rate_steps(times_s)
    if counts.size > 1:
        found.append(_steps(times_s, edges_s, counts, rate))
    return found


def _steps(times_s: Floats, edges_s: Floats, counts: NDArray[np.int64], rate: float) -> dict[str, Any]:
    """A rate that changes at the edges, and gaps that are as uneven as the trace's within."""
    lengths = np.diff(edges_s)
    clock = np.interp(times_s, edges_s, np.concatenate(([0.0], np.cumsum(counts))))
    pairs = [[_short(a), _short(b)] for a, b in zip(lengths, counts / lengths / rate, strict=True)]
    period_s = float(edges_s[-1] - edges_s[0])
    found = {"kind": "diurnal", "rate_per_s": rate, "period_s": _short(period_s), "steps": pairs}
    return found | {"cv": _short(min(max(gap_cv(clock), 0.01), 50.0))}


def recorder_tick_s(times_s: Floats) -> float:
    """Length of the ticks in which times were recorded, when several requests share most of them; 0 otherwise [s]."""
    distinct = np.unique(np.round(times_s, 1))
    if times_s.size < 3 * distinct.size or distinct.size < 3:
        return 0.0
    gaps = np.diff(distinct)
    tick = round(float(np.median(gaps)), 2)
    return tick if float((np.abs(gaps / tick - np.rint(gaps / tick)) < REGULAR).mean()) > 0.95 else 0.0


def _short(value: float) -> float:
    """A number of four digits, as a person would write it."""
    return float(f"{value:.4g}")


def _judged(arrivals: dict[str, Any], wanted: Floats, size: int) -> ArrivalFit:
    spec = TypeAdapter(Arrivals).validate_python(arrivals)
    makes = ARRIVALS[spec.kind]
    found = [mean_waits(next(islice(makes(spec, 0, nth, None, size), 1))) for nth in range(REPETITIONS)]
    floor = 1e-3
    off = np.log((np.mean(found, axis=0) + floor) / (wanted + floor))
    error = float(np.sqrt((off**2).mean()))
    return ArrivalFit(arrivals, error, f"waits in a queue are as long as the trace's to a factor of {exp(error):.2f}")
