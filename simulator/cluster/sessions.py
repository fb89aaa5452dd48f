"""System prompts and sessions of several turns, laid over a plain stream of requests.

Rows of the stream become the turns of sessions, session after session; a turn's prompt is the system prompt, all that
was said before, and the drawn tokens, which are what is new. Only when a turn arrives depends on the service.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.streams import request_bits, round_uniforms
from simulator.cluster.traffic import RequestChunk
from simulator.spec.workload import Prefix

SYSTEM_PROMPT = -1
"""Id of the segment that all prompts begin with; a turn's own segment has the number of its request."""

THINK_ROUND = 2**40
"""Round whose uniform gives a request's think time: no path is so long."""

Ints = NDArray[np.int64]


def with_prefixes(chunks: Iterator[RequestChunk], prefix: Prefix, key: np.uint64) -> Iterator[RequestChunk]:
    """The stream with a system prompt and sessions.

    Session n arrives when request n of the stream does: a stream at the requests' rate ÷ turns keeps their rate. With
    neither, the stream is unchanged.
    """
    if prefix.turns == 1 and prefix.shared_tokens == 0:
        yield from chunks
        return
    turns = prefix.turns
    arrivals = np.empty(0)
    rest: RequestChunk | None = None
    first = 0
    for chunk in chunks:
        arrivals = np.concatenate((arrivals, chunk.arrival_s))
        rows = chunk if rest is None else _joined(rest, chunk)
        whole = rows.prompt_tokens.size // turns * turns
        sessions = np.arange(first // turns, (first + whole) // turns)
        starts = arrivals[sessions]
        rest = _part(rows, slice(whole, None))
        if whole:
            yield _sessions(_part(rows, slice(0, whole)), prefix, key, first, starts)
        first += whole


def _part(rows: RequestChunk, part: slice) -> RequestChunk:
    return RequestChunk(
        arrival_s=rows.arrival_s[part],
        prompt_tokens=rows.prompt_tokens[part],
        output_tokens=rows.output_tokens[part],
        class_index=rows.class_index[part],
        priority=None if rows.priority is None else rows.priority[part],
    )


def _joined(first: RequestChunk, second: RequestChunk) -> RequestChunk:
    return RequestChunk(
        arrival_s=np.concatenate((first.arrival_s, second.arrival_s)),
        prompt_tokens=np.concatenate((first.prompt_tokens, second.prompt_tokens)),
        output_tokens=np.concatenate((first.output_tokens, second.output_tokens)),
        class_index=np.concatenate((first.class_index, second.class_index)),
        priority=(
            None
            if first.priority is None or second.priority is None
            else np.concatenate((first.priority, second.priority))
        ),
    )


def _sessions(
    rows: RequestChunk, prefix: Prefix, key: np.uint64, first: int, starts_s: NDArray[np.float64]
) -> RequestChunk:
    """Whole sessions: `first` is the number of the first request, starts_s the arrivals of the sessions."""
    turns, shared = prefix.turns, prefix.shared_tokens
    new = rows.prompt_tokens.reshape(-1, turns)
    out = rows.output_tokens.reshape(-1, turns)
    said = np.cumsum(new + out, axis=1)
    prompts = shared + said - out
    numbers = (first + np.arange(new.size)).reshape(-1, turns)
    arrival = np.full(new.shape, np.nan)
    arrival[:, 0] = starts_s
    uniforms = round_uniforms(request_bits(key, numbers.ravel()), np.full(1, THINK_ROUND)).reshape(new.shape)
    think = -np.log1p(-uniforms) * prefix.think_time_s
    think[:, 0] = np.nan
    ids, ends = [], []
    head = [SYSTEM_PROMPT] if shared else []
    for session in range(new.shape[0]):
        kept = shared + said[session] - 1
        for turn in range(turns):
            ids.append(np.array([*head, *numbers[session, :turn]], np.int64))
            ends.append(np.array([*([shared] if shared else []), *kept[:turn]], np.int64))
    return RequestChunk(
        arrival_s=arrival.ravel(),
        prompt_tokens=prompts.ravel(),
        output_tokens=rows.output_tokens,
        class_index=np.repeat(rows.class_index.reshape(-1, turns)[:, 0], turns),
        priority=rows.priority,
        block_ids=tuple(ids),
        block_ends=tuple(ends),
        think_s=think.ravel() if turns > 1 else None,
    )
