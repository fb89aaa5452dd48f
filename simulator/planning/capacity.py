"""Capacity: the highest load that still holds, found by a monotone search over simulated runs.

Arrivals at rate r are one unit-rate sequence divided by r, so what a run gives moves with r almost without noise, and
few runs are enough: a bracket around a guess, then interpolation of log pressure over log rate, kept honest by
bisection. What is returned was simulated and held; a rate at most 1 % higher was simulated and did not.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import exp, inf, isfinite, log
from typing import Literal

import numpy as np

from simulator.cluster.traces import trace_rate
from simulator.cluster.traffic import offered_rate, request_chunks
from simulator.outcome.slo import Verdict
from simulator.spec.workload import Workload

TOLERANCE = 0.01
"""Width of the bracket at which a search ends, as a share of the rate."""

WIDENING = (1.15, 1.4, 2.0, 4.0, 10.0, 30.0, 100.0)
"""Factors by which a bracket is widened, one after the other; beyond them there is none."""

OVERLOAD_MARGIN = 0.97
"""Share of an overloaded run's throughput at which the next run is tried."""

NEAR = 1.5
"""Ratio of a bracket's ends up to which it is narrowed at once."""

MOST_OVER_GUESS = 4.0
"""Capacity ÷ estimate, or offered load, beyond which a search does not look."""

MOST_RUNS = 40
"""Runs after which a search gives up narrowing."""

MOST_DOUBLINGS = 12
"""Doublings of the clients of a closed loop after which no plateau is looked for."""

PRESSURE_RANGE = (0.2, 5.0)
"""Pressures are cut to this before they are interpolated: far from the limit they say little about where it is."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One simulated load and what came of it."""

    load: float
    """Requests per second, or clients of a closed loop."""
    verdict: Verdict

    def next_load(self) -> float:
        """Where to look when nothing else is known: what an overloaded run got through, else a fifth up or down."""
        if self.verdict.saturated and self.verdict.req_per_s > 0:
            return OVERLOAD_MARGIN * self.verdict.req_per_s
        return self.load * 1.2 if self.verdict.holds else self.load / 1.2


@dataclass(frozen=True, slots=True)
class LoadAxis:
    """What is turned up to find the capacity: the rate, or the clients of a closed loop; nothing for a batch."""

    kind: Literal["rate", "clients", "batch"]
    offered: float | None
    """What the scenario offers on this axis; None for a batch."""

    def override(self, load: float) -> dict[str, float]:
        """Arguments of simulate_once that offer another load."""
        return {"concurrency": round(load)} if self.kind == "clients" else {"rate_per_s": load}


def load_axis(workload: Workload, seed: int, replication: int) -> LoadAxis:
    """The axis of a workload; a trace offers its mean rate, and is scaled in time."""
    arrivals = workload.arrivals
    if arrivals.kind == "closed_loop":
        return LoadAxis("clients", float(arrivals.concurrency))
    if arrivals.kind == "queued_at_once":
        return LoadAxis("batch", None)
    if arrivals.kind == "trace":
        chunks = request_chunks(workload, seed, replication, None)
        return LoadAxis("rate", trace_rate(np.concatenate([chunk.arrival_s for chunk in chunks])))
    return LoadAxis("rate", offered_rate(workload))


@dataclass(frozen=True, slots=True)
class Capacity:
    """The answer of a search."""

    req_per_s: float
    """Highest rate that holds; 0 where none does."""
    load: float
    """Load at which that was reached: the rate itself, or the clients of a closed loop."""
    evaluations: int
    """Runs that the search asked for, those it was given not counted."""
    note: str = ""
    """Why there is no such rate, or what limits the answer."""


class _Search:
    """A bracket that narrows: the highest load known to hold, the lowest known not to."""

    def __init__(
        self, measure: Callable[[float], Verdict], known: Iterable[Trial], *, whole: bool, most: float = inf
    ) -> None:
        self._measure = measure
        self._whole = whole
        self._most = most
        self.evaluations = 0
        self.low: Trial | None = None
        self.high: Trial | None = None
        self._last: Trial | None = None
        for trial in known:
            self._place(trial)

    def try_load(self, load: float) -> None:
        """Simulate a load and narrow the bracket by it."""
        self.evaluations += 1
        self._place(Trial(load, self._measure(load)))

    def _place(self, trial: Trial) -> None:
        self._last = trial
        if trial.verdict.holds:
            if self.low is None or trial.load > self.low.load:
                self.low = trial
        elif self.high is None or trial.load < self.high.load:
            self.high = trial

    def rounded(self, load: float) -> float:
        """Clients come whole."""
        return max(float(round(load)), 1.0) if self._whole else load

    def bracket(self, guess: float) -> None:
        """Find a load that holds and one that does not, near the guess; a known end far away is no help."""
        if (self.low is None or guess > self.low.load) and (self.high is None or guess < self.high.load):
            self.try_load(guess)
        for factor in WIDENING:
            load = self._wider(factor)
            if self.low is not None and self.high is not None:
                near = self.high.load <= NEAR * self.low.load
                if near or not self.low.load < load < self.high.load:
                    return
            if load > self._most:
                return
            self.try_load(load)

    def _wider(self, factor: float) -> float:
        """The next load outwards from the last one that was tried."""
        if self._last is not None and self._last.verdict.holds:
            return self.rounded(self._last.load * factor + (0.5 if self._whole else 0.0))
        assert self._last is not None
        verdict, load = self._last.verdict, self._last.load / factor
        if verdict.saturated and not self._whole and verdict.req_per_s > 0:
            load = min(load, OVERLOAD_MARGIN * verdict.req_per_s)
        return self.rounded(load)

    def narrow(self, tolerance: float) -> None:
        """Shrink the bracket until its ends differ by the tolerance."""
        bisect = False
        while self.evaluations < MOST_RUNS:
            assert self.low is not None
            assert self.high is not None
            low, high = self.low.load, self.high.load
            width = log(high / low)
            if width <= log(1 + tolerance) + 1e-12 or (self._whole and high - low <= 1):
                return
            load = exp(log(low) + width * (0.5 if bisect else self._root()))
            if self._whole:
                load = min(max(float(round(load)), low + 1), high - 1)
            self.try_load(load)
            bisect = log(self.high.load / self.low.load) > 0.5 * width

    def _root(self) -> float:
        """Where between the ends (0 to 1, in log load) the pressure is expected to pass 1; near the middle when narrow.

        The step goes a little beyond the expected root, to the wider side of the bracket, so that a good expectation
        closes the bracket from both sides in two runs.
        """
        assert self.low is not None
        assert self.high is not None
        below, above = (
            log(min(max(t.verdict.pressure, PRESSURE_RANGE[0]), PRESSURE_RANGE[1])) for t in (self.low, self.high)
        )
        width = log(self.high.load / self.low.load)
        if above <= below or width < 2.5 * log(1 + TOLERANCE):
            return 0.5
        root = -below / (above - below)
        nudge = 0.6 * log(1 + TOLERANCE) / width
        return min(max(root + (nudge if root < 0.5 else -nudge), 0.1), 0.9)


def search(
    measure: Callable[[float], Verdict],
    guess: float,
    known: Iterable[Trial] = (),
    *,
    whole: bool = False,
    tolerance: float = TOLERANCE,
    most: float = inf,
) -> Capacity:
    """Highest load that holds.

    measure: simulates a load.
    guess: where to look first; the nearer, the fewer runs.
    known: loads that were simulated already.
    whole: only whole loads make sense (clients of a closed loop); ends at neighbours.
    most: a load beyond which holding says that the run is too short, not that the deployment is so fast.
    """
    looking = _Search(measure, known, whole=whole, most=most)
    looking.bracket(looking.rounded(guess) if isfinite(guess) and guess > 0 else 1.0)
    if looking.low is None:
        assert looking.high is not None
        why = f"no load holds: at {looking.high.load:.3g} {looking.high.verdict.worst} is still over its limit"
        return Capacity(0.0, 0.0, looking.evaluations, why)
    if looking.high is None:
        why = "every load that was tried holds: the run is too short, or the target too loose, to find the limit"
        return Capacity(
            looking.low.verdict.req_per_s if whole else looking.low.load, looking.low.load, looking.evaluations, why
        )
    looking.narrow(tolerance)
    assert looking.low is not None
    reached = looking.low.verdict.req_per_s if whole else looking.low.load
    return Capacity(reached, looking.low.load, looking.evaluations)


STAYS = 3.0
"""Mean stays of a request that a run should last at the capacity that it finds."""


def short_run_note(capacity: Capacity, measured_requests: int, mean_stay_s: float | None) -> str:
    """Why a capacity is too high: at its rate, the run ends before the backlog of an overload could show.

    >>> short_run_note(Capacity(100.0, 100.0, 5), measured_requests=200, mean_stay_s=10.0)[:41]
    'measured over 2 s at this rate, under 3 m'
    """
    if capacity.req_per_s <= 0 or not mean_stay_s or capacity.note:
        return capacity.note
    window_s = measured_requests / capacity.req_per_s
    if window_s >= STAYS * mean_stay_s:
        return ""
    needed = STAYS * mean_stay_s * capacity.req_per_s
    return (
        f"measured over {window_s:.3g} s at this rate, under {STAYS:g} mean stays of a request: probably too high; ask "
        f"for a horizon of {needed:.0f} requests or more"
    )


def plateau(measure: Callable[[float], Verdict], start: Trial, *, gain: float = TOLERANCE) -> Capacity:
    """Highest throughput of a closed loop without an SLO: clients are doubled until that brings less than 1 %.

    Any number of clients holds then, so there is no highest one; throughput levels off instead.
    """
    best, evaluations = start, 0
    while evaluations < MOST_DOUBLINGS:
        more = Trial(best.load * 2, measure(best.load * 2))
        evaluations += 1
        if more.verdict.req_per_s <= best.verdict.req_per_s * (1 + gain):
            break
        best = more
    note = "no SLO: the throughput at which more clients bring less than 1 %"
    return Capacity(best.verdict.req_per_s, best.load, evaluations, note)
