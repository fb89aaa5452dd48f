"""Host times of speculation that no kernel table holds: what was fitted, and without which rows it is judged.

`python -m calibration.fit_speculation speculation.csv` writes them; the engine policies hold the same values.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from calibration.nonnegative import robust_fit
from calibration.speculation_rows import SpeculationCase
from calibration.speculation_times import Times
from simulator.catalog.load import load_engine, load_model

FILE = Path(__file__).with_name("speculation_constants.json")


class HostTimes(NamedTuple):
    """Constants of an engine."""

    draft_pass_s: float
    """Of each pass of a draft [s]."""
    speculative_step_s: float
    """Of each step with a draft that has passes [s]."""
    tree_layer_us: float
    """What a tree adds to each layer of the target [µs]."""


class Counts(NamedTuple):
    """How often each constant stands in the seconds of a step."""

    passes: float
    steps: float
    tree_layers: float
    """In millions, for their time is in µs."""


def counts_of(case: SpeculationCase) -> Counts:
    """Of a row's speculative step; a look-up has no pass."""
    if case.method.startswith("ngram"):
        return Counts(0.0, 0.0, 0.0)
    propose = case.speculative.speculation.propose  # type: ignore[union-attr]
    passes = 1.0 if case.method.startswith("parallel") else propose.depth
    tree_layers = 0 if propose.shape == "chain" else load_model(case.target).num_layers
    return Counts(passes, 1.0, tree_layers * 1e-6)


def shipped(engine: str) -> HostTimes:
    """As the engine's policy has them."""
    overhead = load_engine(engine).overhead
    return HostTimes(overhead.draft_pass_s, overhead.speculative_step_s, overhead.tree_layer_us)


def with_host_times(times: Times, case: SpeculationCase, host: HostTimes) -> Times:
    """What would be predicted of a row with other host times; prompts keep theirs."""
    now = shipped(case.plain.engine.policy)
    more_s = sum(n * (new - old) for n, new, old in zip(counts_of(case), host, now, strict=True))
    return times.longer(more_s)


def fitted_host_times(cases: Sequence[SpeculationCase], times: Sequence[Times]) -> HostTimes:
    """The host times with which the steps of these rows last as they were measured, outliers losing weight.

    Steps are measured in units of the predicted plain run: what the speed-up leaves for them. A constant that no row
    has stays as it is shipped.
    """
    counts = np.array([counts_of(case) for case in cases])
    now = np.array([shipped(case.plain.engine.policy) for case in cases])
    wanted_s = np.array([t.plain.total_s / c.row.speedup for c, t in zip(cases, times, strict=True)])
    steps = np.array([t.speculative.steps for t in times])
    prompts_s = np.array([t.speculative.prompts_s for t in times])
    kernels_s = np.array([t.speculative.step.total_s for t in times]) - (counts * now).sum(axis=1)
    found = robust_fit(counts, (wanted_s - prompts_s) / steps - kernels_s, steps / wanted_s)
    seen = [any(column) for column in counts.T]
    return HostTimes(*(float(f) if s else float(n) for f, s, n in zip(found, seen, now[0], strict=True)))


@lru_cache(maxsize=1)
def left_out() -> Mapping[str, HostTimes]:
    """By unit on whose rows constants were fitted: those that were fitted without them."""
    found = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {name: HostTimes(**times) for name, times in found.get("left_out", {}).items()}
