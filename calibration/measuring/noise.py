"""How far the machine's figures can be trusted: spread of a median, drift over the run, load, clocks."""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

NOISY_REPEAT = 0.05
"""Median difference between two visits to the same step from which a machine counts as noisy."""
NOISY_DRIFT = 0.15
"""Difference of a reference step between blocks from which it does."""
NOISY_LOAD = 0.5
"""Processes that wanted to run before it began, beyond those that its free cores take, from which it does."""


def half_width(values: Sequence[float]) -> float:
    r"""Half of a 95 % interval of a median, as a fraction of it; infinite below three values.

    .. math:: 1.57 \, (q_3 - q_1) / (m \sqrt n)

    McGill, Tukey, Larsen, "Variations of box plots", 1978 (the notch); quartiles, so that one slow visit moves little.

    >>> round(half_width([10.0, 10.1, 10.2, 10.1, 10.0]), 4)
    0.0104
    """
    if len(values) < 3:
        return float("inf")
    low, middle, high = quantiles(values, n=4)
    return float(1.57 * (high - low) / (middle * len(values) ** 0.5))


def repeats(visits: Mapping[str, Sequence[float]]) -> float:
    """Median over all pairs of neighbouring visits to a point of |second ÷ first − 1|; 0 without pairs.

    >>> round(repeats({"a": [1.0, 1.1], "b": [2.0, 2.0, 1.0]}), 6)
    0.1
    """
    pairs = [abs(b / a - 1.0) for seen in visits.values() for a, b in pairwise(seen)]
    return median(pairs) if pairs else 0.0


def drift(references: Mapping[str, Sequence[float]]) -> float:
    """Largest difference of a reference step's visits to their median; of each reference its upper quartile counts.

    One hiccup is no drift.
    """
    return max((_typical_difference(seen) for seen in references.values() if len(seen) >= 2), default=0.0)


def _typical_difference(seen: Sequence[float]) -> float:
    middle = median(seen)
    differences = sorted(abs(value / middle - 1.0) for value in seen)
    return differences[(3 * (len(differences) - 1)) // 4]


def load_average() -> float:
    """Processes that wanted to run in the last minute."""
    return round(os.getloadavg()[0], 2)


def clocks_mhz() -> list[float]:
    """Clock of each processor now, where the system tells it [MHz]."""
    files = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
    try:
        return [float(file.read_text()) / 1e3 for file in files]
    except (OSError, ValueError):
        return []


def verdict(repeated: float, drifted: float, load_before: float, free_cores: int) -> list[str]:
    """Why a machine counts as noisy; empty: it does not.

    free_cores: that the measurement leaves to others.
    """
    why, most = [], NOISY_LOAD + free_cores
    if repeated > NOISY_REPEAT:
        why.append(f"the same step differs by {repeated:.1%} between two visits (limit {NOISY_REPEAT:.0%})")
    if drifted > NOISY_DRIFT:
        why.append(f"a reference step drifted by {drifted:.1%} over the run (limit {NOISY_DRIFT:.0%})")
    if load_before > most:
        why.append(f"{load_before:g} other processes wanted to run before it began (limit {most:g})")
    return why


def report(data: Mapping[str, Any]) -> dict[str, Any]:
    """Noise of a file of measurements: repeats, drift, loads, and why it counts as noisy."""
    totals = {key: [visit_s(visit) for visit in seen] for key, seen in data["visits"].items()}
    references = {key: totals[key] for key in data.get("references", ()) if key in totals}
    loads = [entry["load_average"] for entry in data["loads"]] or [0.0]
    repeated, drifted = repeats(totals), drift(references)
    free_cores = max(data["device"]["cores"] - data["device"]["threads"], 0)
    return {
        "repeat": round(repeated, 4),
        "drift": round(drifted, 4),
        "load_before": loads[0],
        "load_after": loads[-1],
        "why_noisy": verdict(repeated, drifted, loads[0], free_cores),
    }


def visit_s(visit: Sequence[Sequence[float]]) -> float:
    """Median seconds of the steps of a visit, as they are stored (the total comes behind the shape)."""
    return median(sum(step[7:13]) for step in visit)
