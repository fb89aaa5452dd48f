"""A few requests that stand for all: their lengths from evenly spread numbers, and what of a prompt is kept already."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.lengths import LENGTHS
from simulator.cluster.traces import TraceTable
from simulator.cluster.traffic import trace_classes, trace_of
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Prefix

Floats = NDArray[np.float64]

SAMPLED_REQUESTS = 1024
"""Requests that stand for all, drawn from evenly spread numbers instead of random ones."""


@dataclass(frozen=True, slots=True)
class RequestSample:
    """Sampled requests."""

    prompts: NDArray[np.int64]
    outputs: NDArray[np.int64]
    classes: NDArray[np.int64]
    kept: NDArray[np.int64]
    """Prompt tokens that an endless prefix cache would hold."""


def sample_requests(scenario: Scenario) -> RequestSample:
    """Sampled requests of a scenario, with system prompts and sessions."""
    return _with_prefixes(_sample(scenario), scenario.workload.prefix)


class _Even:
    """Stands in for a generator: numbers evenly spread in each column, shuffled by column."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def random(self, shape: tuple[int, int]) -> Floats:
        """Evenly spread numbers in (0, 1)."""
        rows, columns = shape
        grid = (np.arange(rows) + 0.5) / rows
        return np.stack([self._rng.permutation(grid) for _ in range(columns)], axis=1)

    def standard_normal(self, shape: tuple[int, int]) -> Floats:
        """Evenly spread quantiles of the normal law."""
        return normal_quantile(self.random(shape))


def _sample(scenario: Scenario) -> RequestSample:
    """Sampled requests before prefixes are laid over them; a trace's own, evenly spaced in its order."""
    workload = scenario.workload
    even = _Even(scenario.seed)
    edges = np.cumsum(list(workload.classes.values()))[:-1]
    if workload.arrivals.kind != "trace":
        prompts, outputs = LENGTHS[workload.lengths.kind](workload.lengths)(even, SAMPLED_REQUESTS)  # type: ignore[arg-type]
        classes = np.searchsorted(edges, even.random((prompts.size, 1))[:, 0], side="right")
        return RequestSample(prompts, outputs, classes, np.zeros_like(prompts))
    table = trace_of(workload, workload.arrivals)
    at = (np.arange(4 * SAMPLED_REQUESTS) * table.size) // (4 * SAMPLED_REQUESTS)
    kept = kept_tokens(table)[at]
    table = table.take(at)
    prompts, outputs = table.prompt_tokens, table.output_tokens
    if workload.lengths.kind != "trace":
        prompts, outputs = LENGTHS[workload.lengths.kind](workload.lengths)(even, table.size)  # type: ignore[arg-type]
    drawn = np.searchsorted(edges, even.random((prompts.size, 1))[:, 0], side="right")
    return RequestSample(prompts, outputs, trace_classes(workload, table, drawn), kept)


def kept_tokens(table: TraceTable) -> NDArray[np.int64]:
    """Prompt tokens of each request of a trace that an endless prefix cache would hold: leading blocks seen before."""
    kept = np.zeros(table.size, np.int64)
    if table.block_ids is None:
        return kept
    seen: set[int] = set()
    for request in range(table.size):
        ids = table.blocks(request).tolist()
        found = 0
        while found < len(ids) and ids[found] in seen:
            found += 1
        kept[request] = found * table.block_tokens
        seen.update(ids)
    return np.minimum(kept, table.prompt_tokens)


def _with_prefixes(sample: RequestSample, prefix: Prefix) -> RequestSample:
    """The system prompt and the turns of sessions laid over sampled requests, every turn equally often."""
    turns, shared = prefix.turns, prefix.shared_tokens
    if turns == 1:
        return RequestSample(sample.prompts + shared, sample.outputs, sample.classes, sample.kept + shared)
    whole = sample.prompts.size // turns * turns
    new, out = (of[:whole].reshape(-1, turns) for of in (sample.prompts, sample.outputs))
    before = np.cumsum(new + out, axis=1) - new - out
    kept = shared + np.maximum(before - 1, 0)
    return RequestSample((shared + before + new).ravel(), out.ravel(), sample.classes[:whole], kept.ravel())


def normal_quantile(chance: Floats) -> Floats:
    """Standard normal quantile, to 4.5e-4.

    >>> normal_quantile(np.array([0.025, 0.975])).round(3).tolist()
    [-1.96, 1.96]

    Abramowitz and Stegun, 1964, 26.2.23.
    """
    tail = np.minimum(chance, 1.0 - chance)
    t = np.sqrt(-2.0 * np.log(tail))
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return np.asarray(np.where(chance < 0.5, -z, z))
