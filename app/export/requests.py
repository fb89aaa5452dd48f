"""The requests of a benchmark: those that the simulation draws, as a timed trace that vLLM's `bench serve` replays.

One replica at its share of the load. Rows are Mooncake's (milliseconds, lengths, ids of 512-token blocks), which
`specfleet` reads itself, so that the prediction is of the very same requests.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np

from app.export.served import Served
from simulator.cluster.traffic import RequestChunk, offered_rate, request_chunks
from simulator.errors import ScenarioError
from simulator.spec.workload import Workload

BLOCK_TOKENS = 512
"""Of a Mooncake trace."""
LOOKED_AT = 100
"""Requests that are looked at for each that is wanted, where prompts are too long for the engine."""


class Request(NamedTuple):
    """One request of a trace."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()
    """Equal ids: equal tokens up to the block's end."""


def requests_of(served: Served, workload: Workload, seed: int, requests: int) -> list[Request]:
    """The first requests of one replica that fit the engine, counted from the first.

    Raises ScenarioError where a request waits for the answer to an earlier one: no timed trace says that.
    """
    if workload.prefix.turns > 1:
        raise ScenarioError(
            f"workload.prefix.turns {workload.prefix.turns}: a turn comes when the answer before it has ended, which "
            "a trace of fixed times cannot say: set turns to 1 for a benchmark"
        )
    rows = chain.from_iterable(_rows(piece, workload) for piece in _chunks(served, workload, seed))
    fitting = _fitting(served, islice(rows, LOOKED_AT * requests))
    found = list(islice(fitting, requests))
    if not found:
        longest = served.limits.longest_prompt
        raise ScenarioError(f"{served.name}: no prompt is within the {longest:,} tokens that the engine takes")
    return list(_with_blocks(found, workload.prefix.shared_tokens))


def _chunks(served: Served, workload: Workload, seed: int) -> Iterator[RequestChunk]:
    """Requests of the workload, at the rate of one replica."""
    replicas, arrivals = served.spec.replicas, workload.arrivals
    if arrivals.kind == "trace":
        thinned = arrivals.model_copy(update={"rate_scale": arrivals.rate_scale / replicas})
        return request_chunks(workload.model_copy(update={"arrivals": thinned}), seed, 0, None)
    rate = offered_rate(workload)
    return request_chunks(workload, seed, 0, None if rate is None else rate / replicas)


def _rows(piece: RequestChunk, workload: Workload) -> Iterator[Request]:
    times = np.nan_to_num(piece.arrival_s).tolist()
    prompts = (piece.prompt_tokens + workload.prefix.shared_tokens).tolist()
    outputs = np.minimum(piece.output_tokens, workload.max_output_tokens or piece.output_tokens).tolist()
    return map(Request, times, prompts, outputs)


def _fitting(served: Served, rows: Iterable[Request]) -> Iterator[Request]:
    """Those whose prompts the engine takes, outputs cut where it would cut them."""
    limits = served.limits
    for row in rows:
        if row.prompt_tokens <= limits.longest_prompt:
            room = limits.max_model_len - row.prompt_tokens
            yield row._replace(output_tokens=min(row.output_tokens, room))


def _with_blocks(rows: list[Request], shared_tokens: int) -> Iterator[Request]:
    """From the first request on, with ids for all blocks: a shared prompt's are everybody's, others nobody else's."""
    common = tuple(range(shared_tokens // BLOCK_TOKENS))
    fresh = count(len(common))
    for row in rows:
        own = -(-row.prompt_tokens // BLOCK_TOKENS) - len(common)
        blocks = (*common, *islice(fresh, own))
        yield row._replace(arrival_s=row.arrival_s - rows[0].arrival_s, blocks=blocks)


def trace_text(rows: Iterable[Request]) -> str:
    """The requests as lines of JSON."""
    return "".join(f"{json.dumps(_row(row))}\n" for row in rows)


def _row(row: Request) -> dict[str, object]:
    return {
        "timestamp": round(row.arrival_s * 1e3, 3),
        "input_length": row.prompt_tokens,
        "output_length": row.output_tokens,
        "hash_ids": list(row.blocks),
    }
