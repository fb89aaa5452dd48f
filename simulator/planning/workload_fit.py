"""A trace in figures, and a compact workload that stands for it: arrivals, joint lengths, common prefixes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.traces import TraceTable, trace_rate
from simulator.planning.arrival_fit import ArrivalFit, dispersion, fit_arrivals, gap_cv, recorder_tick_s

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROMPT_QUANTILES = 41
"""Evenly spaced quantiles of the prompts in a fitted table."""

OUTPUT_QUANTILES = 21
"""The same of the outputs, in each group of prompts."""

MOST_GROUPS = 5
"""Groups of prompts whose outputs are told apart."""

GROUP_REQUESTS = 40
"""Requests that a group needs."""

COMMON = 0.5
"""Share of the requests that must begin with a block for it to count as system prompt."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """What a cache that never forgets would find of the prompts of a trace."""

    cached_tokens: Ints
    """By request: tokens at the start of its prompt that an earlier prompt had."""
    hit_rate: float
    """Blocks found ÷ blocks."""
    shared_tokens: int
    """Tokens at the start of more than half of the prompts: a system prompt."""
    pause_s: float
    """Mean time from the last request that had a prompt's cached part to the prompt, beyond the system prompt [s]."""


@dataclass(frozen=True, slots=True)
class WorkloadFit:
    """A workload ready for a scenario file, and how its parts were found."""

    workload: dict[str, Any]
    arrivals: ArrivalFit
    notes: tuple[str, ...]


def summary(table: TraceTable) -> dict[str, Any]:
    """A trace in figures, ready for JSON."""
    times, reuse = table.arrival_s, reuse_of(table)
    found: dict[str, Any] = {
        "format": table.format,
        "requests": table.size,
        "without_answer": table.skipped,
        "duration_s": float(times[-1]),
        "rate_per_s": trace_rate(times),
        "gap_cv": gap_cv(times),
        "dispersion": {f"{window:g}": value for window, value in dispersion(times).items()},
        "prompt_tokens": _spread(table.prompt_tokens),
        "output_tokens": _spread(table.output_tokens),
        "length_correlation": _correlation(table.prompt_tokens, table.output_tokens),
        "classes": class_shares(table),
        "sessions": None if table.session is None else int(np.unique(table.session[table.session >= 0]).size),
        "block_tokens": table.block_tokens or None,
        "block_hit_rate": None if reuse is None else reuse.hit_rate,
        "shared_tokens": None if reuse is None else reuse.shared_tokens,
    }
    return found


def _spread(tokens: Ints) -> dict[str, float]:
    p50, p95 = np.quantile(tokens, (0.5, 0.95))
    return {"mean": float(tokens.mean()), "p50": float(p50), "p95": float(p95), "max": float(tokens.max())}


def _correlation(first: Ints, second: Ints) -> float | None:
    if first.size < 2 or first.min() == first.max() or second.min() == second.max():
        return None
    return float(np.corrcoef(first, second)[0, 1])


def class_shares(table: TraceTable) -> dict[str, float]:
    """Share of each class that the trace names, among the requests that have one."""
    if table.class_code is None:
        return {}
    counts = np.bincount(table.class_code[table.class_code >= 0], minlength=len(table.class_names))
    return {name: float(count / counts.sum()) for name, count in zip(table.class_names, counts, strict=True) if count}


def reuse_of(table: TraceTable) -> Reuse | None:
    """What an unbounded cache finds; None for a trace without block ids."""
    if table.block_ids is None or table.block_ends is None:
        return None
    counts = np.diff(table.block_ends, prepend=0)
    new = np.zeros(table.block_ids.size, np.bool_)
    new[np.unique(table.block_ids, return_index=True)[1]] = True
    known = np.zeros(table.size, np.int64)
    last: dict[int, float] = {}
    pauses: list[float] = []
    shared = _common_blocks(table, counts)
    for request in range(table.size):
        blocks = table.blocks(request)
        fresh = new[int(table.block_ends[request]) - blocks.size : int(table.block_ends[request])]
        known[request] = int(fresh.argmax()) if fresh.any() else blocks.size
        if known[request] > shared:
            pauses.append(float(table.arrival_s[request]) - last[int(blocks[known[request] - 1])])
        last.update(dict.fromkeys(blocks.tolist(), float(table.arrival_s[request])))
    return Reuse(
        cached_tokens=np.minimum(known * table.block_tokens, table.prompt_tokens),
        hit_rate=float(known.sum() / counts.sum()),
        shared_tokens=shared * table.block_tokens,
        pause_s=float(np.mean(pauses)) if pauses else 0.0,
    )


def _common_blocks(table: TraceTable, counts: Ints) -> int:
    """Blocks that more than half of the prompts begin with."""
    assert table.block_ids is not None
    assert table.block_ends is not None
    starts, depth = (table.block_ends - counts)[counts > 0], 0
    lengths = counts[counts > 0]
    while True:
        long_enough = lengths > depth
        if long_enough.sum() <= COMMON * table.size:
            return depth
        ids = table.block_ids[starts[long_enough] + depth]
        if np.bincount(ids).max() <= COMMON * table.size:
            return depth
        depth += 1


def fit_workload(table: TraceTable) -> WorkloadFit:
    """A workload that stands for a trace in simulation.

    Raises ScenarioError when there is too little to fit.
    """
    arrivals = fit_arrivals(table.arrival_s)
    reuse = reuse_of(table)
    sessions = recorder_tick_s(table.arrival_s) == 0.0
    prefix, prompts = fit_prefix(table, reuse, sessions=sessions)
    requests = table.size
    if "period_s" in arrivals.arrivals:
        requests = max(requests, ceil(arrivals.arrivals["rate_per_s"] * arrivals.arrivals["period_s"]))
    workload: dict[str, Any] = {"arrivals": arrivals.arrivals, "lengths": fit_lengths(prompts, table.output_tokens)}
    if shares := class_shares(table):
        workload["classes"] = _whole_shares(shares)
    if prefix:
        workload["prefix"] = prefix
    workload["horizon"] = {"requests": requests, "warmup_requests": 0}
    return WorkloadFit(workload, arrivals, tuple(_notes(table, arrivals, reuse, prefix)))


def _notes(table: TraceTable, arrivals: ArrivalFit, reuse: Reuse | None, prefix: dict[str, Any]) -> Iterator[str]:
    yield f"arrivals {arrivals.arrivals['kind']}: {arrivals.why}"
    yield "lengths: a joint table of quantiles; the order in which long and short prompts came is not kept"
    if prefix.get("turns", 1) > 1 and reuse is not None:
        yield (
            f"prefix: an unbounded cache finds {reuse.hit_rate:.3f} of the trace's blocks; sessions of equal length "
            "stand for all ways in which its prompts are alike"
        )
    elif reuse is not None and reuse.hit_rate >= 0.01:
        turns, _ = fit_prefix(table, reuse)
        yield (
            f"prefix: an unbounded cache finds {reuse.hit_rate:.3f} of the trace's blocks; the workload has the system "
            "prompt of them only, because later turns of a session would not come in the recorder's ticks; for the "
            f"hits of a large cache take poisson arrivals and prefix: {_flow(turns)}"
        )
    if table.session is not None and reuse is None:
        yield "sessions: the trace names them but not what their prompts share: prompts are taken as they are"


def _flow(keys: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def _whole_shares(shares: dict[str, float]) -> dict[str, float]:
    """Shares of three digits that sum to 1."""
    rounded = {name: round(share, 3) for name, share in shares.items()}
    largest = max(rounded, key=lambda name: rounded[name])
    rounded[largest] = round(rounded[largest] + 1.0 - sum(rounded.values()), 6)
    return rounded


def fit_prefix(table: TraceTable, reuse: Reuse | None, *, sessions: bool = True) -> tuple[dict[str, Any], Ints]:
    r"""Keys of `workload.prefix`, and the new tokens of each prompt that they leave to draw.

    With a system prompt of S tokens, T turns that bring N new tokens each and outputs of O, the mean prompt is
    P = S + N (T + 1) / 2 + O (T − 1) / 2 and the share h P = S + (N + O)(T − 1) / 2 of it is there already. The whole T
    nearest to the trace's h is taken, and N such that P is the trace's.

    sessions: whether T may exceed 1. Later turns come when the answer before allows, which would take them out of the
        ticks of a recorder that has them all come at once.
    """
    if reuse is None or reuse.hit_rate < 0.01:
        return {}, table.prompt_tokens
    prompt, output = float(table.prompt_tokens.mean()), float(table.output_tokens.mean())
    shared = min(reuse.shared_tokens, int(table.prompt_tokens.min()) - 1)
    cached = float(reuse.cached_tokens.mean())
    turns = max(round(1.0 + 2.0 * (cached - shared) / (prompt - cached + output)), 1) if sessions else 1
    new = max((prompt - shared - output * (turns - 1) / 2.0) / ((turns + 1) / 2.0), 1.0)
    drawn = np.maximum(table.prompt_tokens - (reuse.cached_tokens if turns > 1 else shared), 1)
    scaled = np.maximum(np.rint(drawn * (new / float(drawn.mean()))), 1).astype(np.int64)
    prefix: dict[str, Any] = {"shared_tokens": shared, "turns": turns}
    if turns > 1:
        prefix["think_time_s"] = float(f"{reuse.pause_s:.3g}")
    return (prefix if shared or turns > 1 else {}), scaled


def fit_lengths(prompts: Ints, outputs: Ints) -> dict[str, Any]:
    """Lengths of kind `quantiles`: prompts, and outputs by groups of prompts of like length."""
    groups = min(MOST_GROUPS, max(prompts.size // GROUP_REQUESTS, 1))
    parts = np.array_split(outputs[np.argsort(prompts, kind="stable")], groups)
    return {
        "kind": "quantiles",
        "prompt_tokens": quantile_row(prompts, PROMPT_QUANTILES),
        "output_tokens": [quantile_row(part, OUTPUT_QUANTILES) for part in parts],
    }


def quantile_row(tokens: Ints, count: int) -> list[float]:
    """Evenly spaced quantiles, the highest such that straight lines between them keep the mean.

    >>> quantile_row(np.array([1, 2, 3, 4, 5]), 3)
    [1.0, 3.0, 5.0]
    """
    row = np.quantile(tokens, np.linspace(0.0, 1.0, count))
    below = float(row[1:-1].sum() + row[0] / 2.0)
    row[-1] = min(max(2.0 * (float(tokens.mean()) * (count - 1) - below), row[-2]), row[-1])
    return [round(float(value), 1) for value in row]
