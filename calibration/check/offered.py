"""What the clients of a point ask for, and what bounds the engine, in the simulator's forms."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from calibration.check.run import EngineLimits, Point, Run
from simulator.cluster.cluster import Load
from simulator.cluster.limits import Limits
from simulator.cluster.traffic import RequestChunk


class Offered(NamedTuple):
    """What a client asks for."""

    label: str
    arrival_s: float
    """nan: when another request has ended."""
    prompt_tokens: int
    output_tokens: int


def offered(run: Run) -> list[Offered]:
    """What the clients of a run asked for."""
    return [Offered(r.label, r.arrival_s, r.prompt_tokens, r.output_tokens) for r in run.requests]


def shares_of(requests: Sequence[Offered]) -> dict[str, float]:
    """Share of each class, in alphabetical order."""
    labels = [request.label for request in requests]
    return {label: labels.count(label) / len(labels) for label in sorted(set(labels))}


def limits_of_engine(limits: EngineLimits, draft_tokens: int) -> Limits:
    """The planner's form of what bounds the engine's batch."""
    return Limits(
        kv_blocks=limits.kv_blocks,
        block_tokens=limits.block_tokens,
        block_counts=tuple(range(-(-limits.max_model_len // limits.block_tokens) + 1)),
        max_model_len=limits.max_model_len,
        max_num_seqs=limits.max_num_seqs,
        max_num_batched_tokens=limits.max_num_batched_tokens,
        draft_tokens=draft_tokens,
        chunked_prefill=True,
    )


def load_of(point: Point, requests: Sequence[Offered]) -> Load:
    """Requests by their arrivals, or from the clients of a closed loop."""
    return Load(
        chunks=_chunks(requests, closed=point.clients is not None),
        requests=len(requests),
        warmup_requests=0,
        concurrency=point.clients,
        endless=False,
    )


def _chunks(requests: Sequence[Offered], *, closed: bool) -> Iterator[RequestChunk]:
    labels = sorted({request.label for request in requests})
    times = np.array([request.arrival_s for request in requests])
    yield RequestChunk(
        np.full(len(requests), np.nan) if closed else times,
        np.array([request.prompt_tokens for request in requests]),
        np.array([request.output_tokens for request in requests]),
        np.array([labels.index(request.label) for request in requests]),
    )
