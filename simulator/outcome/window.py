"""The measured window: the time over which throughput, occupancy and gaps between tokens are counted."""

from dataclasses import dataclass

import numpy as np

from simulator.cluster.records import ClusterRecords, Floats, StepColumns

EDGE = 1e-6
"""Rounding allowance, in steps, for a step that ends exactly at an edge of the window."""


@dataclass(frozen=True, slots=True)
class Window:
    """From just after start_s up to and including end_s."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """Length [s]; 0: nothing can be counted."""
        return self.end_s - self.start_s

    def holds(self, times_s: Floats) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which instants fall into the window; NaN never does."""
        return (times_s > self.start_s) & (times_s <= self.end_s)


def measured_window(records: ClusterRecords) -> Window:
    """From the first to the last measured arrival; the makespan where all measured requests arrive together.

    The makespan runs from the arrival to the last finish of the measured requests.
    """
    arrivals = records.requests.arrival_s[records.measured]
    if arrivals.size == 0:
        return Window(0.0, 0.0)
    first, last = float(arrivals[0]), float(arrivals[-1])
    if last > first:
        return Window(first, last)
    finishes = records.requests.finish_s[records.measured]
    done = finishes[~np.isnan(finishes)]
    return Window(first, float(done.max()) if done.size else first)


def steps_ending_within(steps: StepColumns, window: Window) -> Floats:
    """How many steps of each run end within the window: the steps of a run are taken as equally long."""
    step_s = np.maximum(steps.duration_s / np.maximum(steps.num_steps, 1), 1e-300)
    by_end = np.floor((window.end_s - steps.start_s) / step_s + EDGE)
    by_start = np.floor((window.start_s - steps.start_s) / step_s + EDGE)
    inside: Floats = np.clip(by_end, 0, steps.num_steps) - np.clip(by_start, 0, steps.num_steps)
    return inside


def seconds_within(start_s: Floats, end_s: Floats, window: Window) -> Floats:
    """Overlap of each span of time with the window [s]; a span without an end lasts beyond it."""
    ends = np.where(np.isnan(end_s), window.end_s, np.minimum(end_s, window.end_s))
    overlap: Floats = np.maximum(ends - np.maximum(start_s, window.start_s), 0.0)
    return overlap
