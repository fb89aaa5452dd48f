"""Arrival times of each kind of arrivals, chunk by chunk, as functions in a dict.

All open kinds are one sequence of mean rate 1, drawn without knowing the rate, divided by the rate. Where the rate
changes with time, the quotient is operational time, and the inverse of the cumulated rate turns it into seconds
(Çinlar, Introduction to Stochastic Processes, 1975, 4.7): another rate keeps the bursts and the hours where they are.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.streams import generator
from simulator.spec.arrivals import BurstyArrivals, DiurnalArrivals, GammaArrivals

Floats = NDArray[np.float64]

SINE_PARTS = 1440
"""Equal parts of a period in which a sine wave is followed: the minutes of a day."""

PHASES = 64
"""Bursts and lulls that are drawn at once."""

Arrivals = Callable[[Any, int, int, float | None, int], Iterator[Floats]]
"""(spec, seed, replication, rate instead of the spec's, size of a chunk) -> chunks of arrival times [s] without end."""


def _units(gaps: Callable[[int], Floats], chunk: int) -> Iterator[Floats]:
    """Chunks of the sums of gaps."""
    last = 0.0
    while True:
        units = last + np.cumsum(gaps(chunk))
        last = float(units[-1])
        yield units


def poisson(spec: Any, seed: int, replication: int, rate_per_s: float | None, chunk: int) -> Iterator[Floats]:
    """Exponential gaps."""
    rate = rate_per_s or spec.rate_per_s
    for units in _units(generator(seed, replication, "arrivals").standard_exponential, chunk):
        yield units / rate


def constant(spec: Any, seed: int, replication: int, rate_per_s: float | None, chunk: int) -> Iterator[Floats]:
    """Equal gaps."""
    rate = rate_per_s or spec.rate_per_s
    for units in _units(np.ones, chunk):
        yield units / rate


def gamma(spec: GammaArrivals, seed: int, replication: int, rate_per_s: float | None, chunk: int) -> Iterator[Floats]:
    """Gamma gaps."""
    rate = rate_per_s or spec.rate_per_s
    for units in _units(_gamma_gaps(spec.cv, generator(seed, replication, "arrivals")), chunk):
        yield units / rate


def _gamma_gaps(cv: float, rng: np.random.Generator) -> Callable[[int], Floats]:
    """Gaps of mean 1 and coefficient of variation cv: a gamma law of shape 1 / cv²."""
    if cv == 1.0:
        return rng.standard_exponential
    shape = 1.0 / cv**2
    return lambda count: rng.standard_gamma(shape, count) / shape


def bursty(spec: BurstyArrivals, seed: int, replication: int, rate_per_s: float | None, chunk: int) -> Iterator[Floats]:
    """A Poisson process whose rate switches between two levels (MMPP; Fischer and Meier-Hellstern, 1993)."""
    rate = rate_per_s or spec.rate_per_s
    clock = BurstClock(spec, generator(seed, replication, "bursts"))
    for units in _units(generator(seed, replication, "arrivals").standard_exponential, chunk):
        yield clock.seconds(units / rate)


def diurnal(
    spec: DiurnalArrivals, seed: int, replication: int, rate_per_s: float | None, chunk: int
) -> Iterator[Floats]:
    """Gamma gaps (of cv 1: a Poisson process) in the operational time of a rate that repeats a pattern."""
    rate = rate_per_s or spec.rate_per_s
    lengths, levels = pattern_of(spec)
    edges = np.concatenate(([0.0], np.cumsum(lengths)))
    cumulated = np.concatenate(([0.0], np.cumsum(lengths * levels)))
    for units in _units(_gamma_gaps(spec.cv, generator(seed, replication, "arrivals")), chunk):
        periods, within = np.divmod(units / rate, spec.period_s)
        yield periods * spec.period_s + np.interp(within, cumulated, edges)


def unknown_times(spec: Any, seed: int, replication: int, rate_per_s: float | None, chunk: int) -> Iterator[Floats]:
    """Requests that come when others end, or all at once: NaN."""
    while True:
        yield np.full(chunk, np.nan)


def pattern_of(spec: DiurnalArrivals) -> tuple[Floats, Floats]:
    """Lengths [s] of the parts of a period, and rate ÷ mean rate in each; a sine wave starts at its trough."""
    if spec.steps is not None:
        lengths, levels = np.asarray(spec.steps, np.float64).T
    elif spec.profile is not None:
        levels = np.asarray(spec.profile, np.float64)
        lengths = np.ones(levels.size)
    else:
        assert spec.peak_to_mean is not None
        middle = (np.arange(SINE_PARTS) + 0.5) / SINE_PARTS
        levels = 1.0 - (spec.peak_to_mean - 1.0) * np.cos(2.0 * np.pi * middle)
        lengths = np.ones(SINE_PARTS)
    return lengths / lengths.sum() * spec.period_s, levels * lengths.sum() / (levels @ lengths)


class BurstClock:
    """Turns operational time into seconds: it runs burst_factor times faster during bursts, and slower in lulls.

    The first phase is a burst with the share of time that bursts take, so the process is stationary from the start.
    """

    def __init__(self, spec: BurstyArrivals, rng: np.random.Generator) -> None:
        self._rng = rng
        on = rng.random() * (spec.on_s + spec.off_s) < spec.on_s
        means, factors = (spec.on_s, spec.off_s), (spec.burst_factor, spec.lull_factor)
        order = (0, 1) if on else (1, 0)
        self._mean_s = np.tile([means[i] for i in order], PHASES // 2)
        self._factor = np.tile([factors[i] for i in order], PHASES // 2)
        self._edges_s = np.zeros(1)
        self._cumulated = np.zeros(1)

    def seconds(self, operational: Floats) -> Floats:
        """Times of a rising sequence that goes on where the last one ended."""
        while self._cumulated[-1] <= operational[-1]:
            self._extend()
        times = np.interp(operational, self._cumulated, self._edges_s)
        past = max(int(np.searchsorted(self._cumulated, operational[-1], side="right")) - 1, 0)
        self._edges_s, self._cumulated = self._edges_s[past:], self._cumulated[past:]
        return times

    def _extend(self) -> None:
        lengths = self._rng.standard_exponential(PHASES) * self._mean_s
        edges = self._edges_s[-1] + np.cumsum(lengths)
        cumulated = self._cumulated[-1] + np.cumsum(lengths * self._factor)
        self._edges_s = np.concatenate((self._edges_s, edges))
        self._cumulated = np.concatenate((self._cumulated, cumulated))


ARRIVALS: dict[str, Arrivals] = {
    "poisson": poisson,
    "constant": constant,
    "gamma": gamma,
    "bursty": bursty,
    "diurnal": diurnal,
    "closed_loop": unknown_times,
    "queued_at_once": unknown_times,
}
"""Kind of arrivals -> its times. A trace brings whole requests, not only times: traces.py."""
