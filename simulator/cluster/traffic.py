"""The requests of one replication, made chunk by chunk: arrival, lengths, class."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.lengths import LENGTHS
from simulator.cluster.streams import generator
from simulator.cluster.traces import read_azure, scale
from simulator.spec.workload import Workload

CHUNK = 512
"""Requests that are drawn at once."""


@dataclass(frozen=True, slots=True)
class RequestChunk:
    """Consecutive requests."""

    arrival_s: NDArray[np.float64]
    """NaN where a request arrives when another one ends."""
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    class_index: NDArray[np.int64]


def offered_rate(workload: Workload) -> float | None:
    """Requests per second that the arrivals state; None where they follow from the service or from a trace."""
    return getattr(workload.arrivals, "rate_per_s", None)


def _class_indices(workload: Workload, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    edges = np.cumsum(list(workload.classes.values()))[:-1]
    return np.searchsorted(edges, rng.random(count), side="right")


def request_chunks(workload: Workload, seed: int, replication: int, rate_per_s: float | None) -> Iterator[RequestChunk]:
    """Chunks of requests without end, or to the end of a trace.

    rate_per_s: for open arrivals, the rate instead of the scenario's: one unit-rate sequence divided by it; for a
        trace, the mean rate that its times are scaled to.
    """
    if workload.arrivals.kind == "trace":
        yield from _trace_chunks(workload, seed, replication, rate_per_s)
        return
    lengths = LENGTHS[workload.lengths.kind](workload.lengths)
    arrivals_rng, lengths_rng, classes_rng = (
        generator(seed, replication, s) for s in ("arrivals", "lengths", "classes")
    )
    rate = rate_per_s or offered_rate(workload)
    last_s = 0.0
    while True:
        prompts, outputs = lengths(lengths_rng, CHUNK)
        if rate is None:
            arrival = np.full(CHUNK, np.nan)
        else:
            gaps = arrivals_rng.standard_exponential(CHUNK) if workload.arrivals.kind == "poisson" else np.ones(CHUNK)
            units = last_s + np.cumsum(gaps)
            last_s = float(units[-1])
            arrival = units / rate
        yield RequestChunk(arrival, prompts, outputs, _class_indices(workload, classes_rng, CHUNK))


def _trace_chunks(workload: Workload, seed: int, replication: int, rate_per_s: float | None) -> Iterator[RequestChunk]:
    arrivals = workload.arrivals
    assert arrivals.kind == "trace"
    table = read_azure(Path(arrivals.file), arrivals.limit)
    times, prompts, outputs = scale(
        table, arrivals.time_scale, arrivals.rate_scale, generator(seed, replication, "thinning")
    )
    if rate_per_s is not None:
        times = times * (trace_rate(times) / rate_per_s)
    classes_rng = generator(seed, replication, "classes")
    if workload.lengths.kind != "trace":
        prompts, outputs = LENGTHS[workload.lengths.kind](workload.lengths)(
            generator(seed, replication, "lengths"), times.size
        )
    for start in range(0, times.size, CHUNK):
        part = slice(start, start + CHUNK)
        classes = _class_indices(workload, classes_rng, times[part].size)
        yield RequestChunk(times[part], prompts[part], outputs[part], classes)


def trace_rate(times_s: NDArray[np.float64]) -> float:
    """Mean arrivals per second of a trace: gaps ÷ time from first to last.

    >>> trace_rate(np.array([0.0, 1.0, 2.0]))
    1.0
    """
    span = float(times_s[-1] - times_s[0])
    return (times_s.size - 1) / span if span > 0 else float(times_s.size)
