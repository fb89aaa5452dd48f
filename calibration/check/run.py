"""One measured serving run: its point, and what became of each request and each step; JSON on disk.

It knows neither the engine nor the simulation: it is what passes between the two.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from calibration.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Point:
    """What is run: a system, a load, and how many draft tokens."""

    system: str
    """Name of what is driven, such as `smollm2-lookup`."""
    load: str
    """`poisson`, or `clients` (a closed loop)."""
    level: float
    """Share of the predicted saturation without drafts, or the clients of a closed loop."""
    draft_tokens: int
    requests: int
    seed: int
    """Of prompts, lengths and arrivals; the same for all K of a load."""
    repeat: int = 0
    """0, or 1 for the second run of the same point."""
    rate_per_s: float | None = None
    """Of Poisson arrivals [requests/s]."""

    @property
    def load_key(self) -> str:
        """What runs of different K have in common.

        >>> Point("small", "clients", 4.0, 3, 10, seed=1).load_key
        'small-clients-4'
        """
        return f"{self.system}-{self.load}-{self.level:g}"

    @property
    def key(self) -> str:
        """What the two runs of a point have in common.

        >>> Point("small", "clients", 4.0, 3, 10, seed=1).key
        'small-clients-4-k3'
        """
        return f"{self.load_key}-k{self.draft_tokens}"

    @property
    def system_key(self) -> str:
        """What points of all loads have in common.

        >>> Point("small", "clients", 4.0, 3, 10, seed=1).system_key
        'small-k3'
        """
        return f"{self.system}-k{self.draft_tokens}"

    @property
    def overload(self) -> bool:
        """Whether more is offered than is served; closed loops never do."""
        return self.clients is None and self.level > 1.0

    @property
    def clients(self) -> int | None:
        """Clients of a closed loop; None: requests come by the clock."""
        return round(self.level) if self.load == "clients" else None


class Composition(NamedTuple):
    """Who takes part in a step."""

    decoding: tuple[int, ...]
    """Requests that verify, in order of admission."""
    chunks: tuple[tuple[int, int, int, int], ...]
    """Of each prompt: request, positions computed before, tokens computed now, tokens of the prompt."""


class RequestRow(NamedTuple):
    """What became of a request. Times in seconds by the engine's clock."""

    label: str
    arrival_s: float
    scheduled_s: float
    first_token_s: float
    finish_s: float
    prompt_tokens: int
    output_tokens: int
    preemptions: int
    drafted: tuple[int, ...]
    """Draft tokens of each verify step."""
    accepted: tuple[int, ...]
    """How many of them were accepted, before the cut at the output length."""


class StepTaken(NamedTuple):
    """One step of the engine."""

    start_s: float
    shape: tuple[float, ...]
    """StepShape, in its order."""
    cost: tuple[float, ...]
    """StepCost, in its order [s]."""
    emitted_tokens: int
    kv_blocks: int
    waiting: int
    blocked_by: str
    composition: Composition

    @property
    def end_s(self) -> float:
        """When its own work was done."""
        return self.start_s + sum(self.cost)


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What bounds the engine's batch."""

    kv_blocks: int
    block_tokens: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int


@dataclass(frozen=True, slots=True)
class Run:
    """A point as it was measured."""

    point: Point
    limits: EngineLimits
    requests: tuple[RequestRow, ...]
    """In order of arrival."""
    steps: tuple[StepTaken, ...]
    about: Mapping[str, Any]
    """The machine, and its load."""
    pace: float = 1.0
    """What steps that the profile knows took beside it ÷ what the profile says, mean of before and after."""

    @property
    def labels(self) -> list[str]:
        """Classes of the requests, in alphabetical order."""
        return sorted({request.label for request in self.requests})


def woken(run: Run) -> list[bool]:
    """Of each step, whether the engine had nothing to do before it: it began when a request arrived.

    Nothing decodes in such a step, no prompt is half computed, and the first of its requests came after the end of
    the step before.
    """
    found = []
    for index, step in enumerate(run.steps):
        decoding, chunks = step.composition
        first = not decoding and all(done == 0 for _, done, _, _ in chunks)
        before = run.steps[index - 1] if index else None
        came = run.requests[chunks[0][0]].arrival_s if chunks else 0.0
        found.append(before is None or (first and came > before.end_s))
    return found


def durations_s(run: Run) -> list[float]:
    """Seconds that each step took: to the start of the next one, or to its own end where nothing was left to do."""
    after = [*woken(run)[1:], True]
    starts = [step.start_s for step in run.steps[1:]] + [0.0]
    return [
        step.end_s - step.start_s if idle else next_s - step.start_s
        for step, next_s, idle in zip(run.steps, starts, after, strict=True)
    ]


def seen_s(run: Run) -> list[float]:
    """When each request was there to be seen: at its arrival, or when the engine woke up because of it.

    Between an arrival and the engine's waking up lies what the operating system's timer takes.
    """
    times = [request.arrival_s for request in run.requests]
    for index, (step, wakes) in enumerate(zip(run.steps, woken(run), strict=True)):
        idle_from = run.steps[index - 1].end_s if index else float("-inf")
        if wakes:
            times = [step.start_s if idle_from < t <= step.start_s else t for t in times]
    return times


def save(run: Run, path: Path) -> None:
    """Write a run whole or not at all."""
    write_whole(path, json.dumps(asdict(run)) + "\n")


def load(path: Path) -> Run:
    """Read what `save` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    requests = (RequestRow._make([*row[:8], tuple(row[8]), tuple(row[9])]) for row in found["requests"])
    return Run(
        Point(**found["point"]),
        EngineLimits(**found["limits"]),
        tuple(requests),
        tuple(_step(row) for row in found["steps"]),
        found["about"],
        found["pace"],
    )


def _step(row: list[Any]) -> StepTaken:
    decoding, chunks = row[7]
    composition = Composition(tuple(decoding), tuple(tuple(chunk) for chunk in chunks))
    return StepTaken._make([row[0], tuple(row[1]), tuple(row[2]), *row[3:7], composition])
