"""The requests of one replication, made chunk by chunk: arrival, lengths, class, and what a trace knows besides."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrivals import ARRIVALS
from simulator.cluster.lengths import LENGTHS
from simulator.cluster.streams import generator
from simulator.cluster.traces import TraceTable, cut, read_trace, scale, trace_rate
from simulator.errors import ScenarioError
from simulator.spec.arrivals import TraceArrivals
from simulator.spec.workload import Workload

CHUNK = 512
"""Requests that are drawn at once."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RequestChunk:
    """Consecutive requests."""

    arrival_s: NDArray[np.float64]
    """NaN where a request arrives when another one ends."""
    prompt_tokens: Ints
    output_tokens: Ints
    class_index: Ints
    priority: Ints | None = None
    block_ids: tuple[Ints, ...] | None = None
    """Per request: ids of the consecutive blocks of its prompt; equal ids: equal tokens up to the block's end."""
    block_tokens: int = 0
    """Prompt tokens of such a block, where all are of one size; else 0."""
    block_ends: tuple[Ints, ...] | None = None
    """Per request: prompt tokens up to the end of each block, where they differ in size."""
    session: Ints | None = None
    """Number of each request's session in a trace; -1 for a request of no session."""
    think_s: NDArray[np.float64] | None = None
    """Time from the end of the request before to this one, for later turns of a session; NaN for all others [s]."""


def offered_rate(workload: Workload) -> float | None:
    """Requests per second that the arrivals state; None where they follow from the service or from a trace."""
    return getattr(workload.arrivals, "rate_per_s", None)


def _class_indices(workload: Workload, rng: np.random.Generator, count: int) -> Ints:
    edges = np.cumsum(list(workload.classes.values()))[:-1]
    return np.searchsorted(edges, rng.random(count), side="right")


def request_chunks(
    workload: Workload, seed: int, replication: int, rate_per_s: float | None, chunk: int = CHUNK
) -> Iterator[RequestChunk]:
    """Chunks of requests without end, or to the end of a trace.

    rate_per_s: for open arrivals, the rate instead of the scenario's: one unit-rate sequence divided by it; for a
        trace, the mean rate that its times are scaled to.
    chunk: requests that are drawn at once; the requests do not depend on it.
    """
    arrivals = workload.arrivals
    if arrivals.kind == "trace":
        yield from _trace_chunks(workload, arrivals, seed, replication, rate_per_s, chunk)
        return
    lengths = LENGTHS[workload.lengths.kind](workload.lengths)
    lengths_rng, classes_rng = (generator(seed, replication, s) for s in ("lengths", "classes"))
    for times in ARRIVALS[arrivals.kind](arrivals, seed, replication, rate_per_s, chunk):
        prompts, outputs = lengths(lengths_rng, chunk)
        yield RequestChunk(times, prompts, outputs, _class_indices(workload, classes_rng, chunk))


def trace_of(workload: Workload, arrivals: TraceArrivals) -> TraceTable:
    """The requests of a workload's trace, before they are scaled.

    Raises ScenarioError for a trace that cannot be read, or that names a class which the workload lacks.
    """
    table = cut(read_trace(Path(arrivals.file)), arrivals)
    if not _by_class(workload):
        return replace(table, class_code=None)
    for name, line in zip(table.class_names, table.class_lines, strict=True):
        if name not in workload.classes:
            raise ScenarioError(
                f"{arrivals.file}:{line}: class {name!r} is not among the workload's classes "
                f"({', '.join(workload.classes)}): add it to workload.classes, or leave workload.classes out to treat "
                f"all requests alike; the trace's shares are {_shares(table)}"
            )
    return table


def _by_class(workload: Workload) -> bool:
    """Whether a workload tells classes apart."""
    return list(workload.classes) != ["all"]


def _shares(table: TraceTable) -> str:
    assert table.class_code is not None
    counts = np.bincount(table.class_code[table.class_code >= 0], minlength=len(table.class_names))
    shares = counts / max(int(counts.sum()), 1)
    return "{" + ", ".join(f"{name}: {share:.3g}" for name, share in zip(table.class_names, shares, strict=True)) + "}"


def trace_classes(workload: Workload, table: TraceTable, drawn: Ints) -> Ints:
    """The trace's own classes where it has them, those that were drawn elsewhere."""
    if table.class_code is None:
        return drawn
    known = list(workload.classes)
    place = np.array([known.index(name) for name in table.class_names])
    return np.where(table.class_code < 0, drawn, place[table.class_code])


def _trace_chunks(
    workload: Workload, arrivals: TraceArrivals, seed: int, replication: int, rate_per_s: float | None, chunk: int
) -> Iterator[RequestChunk]:
    table = scale(trace_of(workload, arrivals), arrivals, lambda: generator(seed, replication, "thinning"))
    times = table.arrival_s
    if rate_per_s is not None:
        times = times * (trace_rate(times) / rate_per_s)
    prompts, outputs = table.prompt_tokens, table.output_tokens
    own_lengths = workload.lengths.kind == "trace"
    if not own_lengths:
        sampler = LENGTHS[workload.lengths.kind](workload.lengths)
        prompts, outputs = sampler(generator(seed, replication, "lengths"), times.size)
    classes = trace_classes(
        workload, table, _class_indices(workload, generator(seed, replication, "classes"), times.size)
    )
    has_blocks = own_lengths and table.block_ids is not None
    for start in range(0, times.size, chunk):
        part = slice(start, start + chunk)
        numbers = range(start, min(start + chunk, times.size))
        yield RequestChunk(
            times[part],
            prompts[part],
            outputs[part],
            classes[part],
            block_ids=tuple(table.blocks(request) for request in numbers) if has_blocks else None,
            block_tokens=table.block_tokens if has_blocks else 0,
            priority=None if table.priority is None else table.priority[part],
            session=None if table.session is None else table.session[part],
        )
