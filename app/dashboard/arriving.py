"""The requests that a scenario's workload brings, as the simulation draws or replays them. Knows nothing of pages."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.limits import Limits
from simulator.cluster.traces import TraceTable
from simulator.cluster.traffic import CHUNK, offered_rate, request_chunks
from simulator.planning.workload_fit import fit_workload, summary
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload

MOST_SHOWN = 20_000
"""Requests of which figures are drawn."""


@dataclass(frozen=True, slots=True)
class Arriving:
    """The requests of replication 0, at most those of the horizon."""

    times_s: NDArray[np.float64] | None
    """None where they come when others end, or all at once; with sessions those of first turns."""
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of requests."""
        return int(self.prompt_tokens.size)


def arriving(scenario: Scenario) -> Arriving:
    """What is drawn, or replayed, of a scenario's workload."""
    return _arriving(scenario.workload.model_dump_json(exclude_unset=True), scenario.seed, _stamp(scenario.workload))


def _stamp(workload: Workload) -> tuple[int, int]:
    """Tells a trace from the same one that was written anew."""
    if workload.arrivals.kind != "trace":
        return 0, 0
    found = Path(workload.arrivals.file).stat()
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=32)
def _arriving(document: str, seed: int, stamp: tuple[int, int]) -> Arriving:
    workload = Workload.model_validate_json(document)
    wanted = min(workload.horizon.requests, MOST_SHOWN)
    turns, rate = workload.prefix.turns, offered_rate(workload)
    chunks = request_chunks(workload, seed, 0, rate / turns if rate is not None and turns > 1 else None)
    found = list(islice(chunks, -(-wanted // CHUNK)))
    times, prompts, outputs = (
        np.concatenate([getattr(chunk, name) for chunk in found])[:wanted]
        for name in ("arrival_s", "prompt_tokens", "output_tokens")
    )
    return Arriving(None if np.isnan(times[0]) else times, prompts, outputs)


def told(found: Arriving, kind: str) -> dict[str, Any]:
    """Requests in figures, in the shape of `specfleet import trace --json`; without times, rates mean nothing.

    kind: of arrivals.
    """
    times = np.arange(found.size, dtype=np.float64) if found.times_s is None else found.times_s
    return summary(TraceTable(kind, times - times[0], found.prompt_tokens, found.output_tokens))


def trace_text(found: Arriving) -> str:
    """The requests as a trace of our own format, which replays them; for requests with times."""
    return "".join(f"{json.dumps(row)}\n" for row in _rows(found))


def _rows(found: Arriving) -> Iterator[dict[str, float | int]]:
    assert found.times_s is not None
    columns: Iterable[tuple[float, int, int]] = zip(
        found.times_s.tolist(), found.prompt_tokens.tolist(), found.output_tokens.tolist(), strict=True
    )
    for at_s, prompt, output in columns:
        yield {"arrival_s": round(at_s, 6), "prompt_tokens": prompt, "output_tokens": output}


def too_long(found: Arriving, limits: Limits, workload: Workload) -> tuple[int, int]:
    """Requests whose prompt is rejected as too long, and requests whose output is cut.

    Without the earlier turns of sessions, which make prompts longer.
    """
    prompts = found.prompt_tokens + workload.prefix.shared_tokens
    rejected = prompts > limits.longest_prompt
    most = np.minimum(limits.max_model_len - prompts, workload.max_output_tokens or limits.max_model_len)
    return int(rejected.sum()), int((~rejected & (found.output_tokens > most)).sum())


def fitted(table: TraceTable) -> dict[str, Any]:
    """A compact workload that stands for a trace; ScenarioError where there is too little to fit."""
    return dict(fit_workload(table).workload)
