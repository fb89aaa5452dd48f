"""What each step computed and how long its parts took, and what became of each request: rows now, files afterwards.

The first columns of a step are those of the planner's seam, `StepShape` and `StepCost`, under the same names.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from engine.sequence import SequenceState


class StepShape(NamedTuple):
    """What one step computes."""

    sequences: int
    """Decoding (verifying) sequences."""
    verify_tokens: int
    """Rows that the target verifies: over sequences, draft tokens + 1."""
    context_tokens: float
    """Tokens of the decoding sequences, the one to be computed included, summed over them."""
    prefill_sequences: int
    """Prompts of which a chunk is computed."""
    prefill_tokens: int
    """Prompt tokens computed in this step, over all prompts."""
    prefill_context_tokens: float
    """Positions that the prompt tokens attend to, summed over those tokens."""
    draft_tokens: int
    """Draft tokens K per sequence, the most of any."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """Seconds of one step, by cause; their sum is the step's duration."""

    linear_s: float = 0.0
    """The target's pass without its attention; on a GPU, where the two are not told apart, all of it."""
    experts_s: float = 0.0
    """Always 0: experts are timed with the rest of the pass, in linear_s."""
    attention_s: float = 0.0
    """Attention of decoding sequences."""
    prefill_attention_s: float = 0.0
    """Attention of prompt tokens."""
    collectives_s: float = 0.0
    """Always 0: one device."""
    sampling_s: float = 0.0
    """Softmax, sampling and verification of tokens."""
    overhead_s: float = 0.0
    """Host time: scheduling, laying out batches, committing."""
    draft_s: float = 0.0
    """All passes of the draft, its prefill included."""

    @property
    def verify_s(self) -> float:
        """Seconds of the target's pass."""
        return self.linear_s + self.attention_s + self.prefill_attention_s

    @property
    def total_s(self) -> float:
        """Seconds of the step."""
        return self.verify_s + self.sampling_s + self.overhead_s + self.draft_s


class StepRow(NamedTuple):
    """One step."""

    start_s: float
    shape: StepShape
    cost: StepCost
    schedule_s: float
    """Part of the overhead: planning the step."""
    committed_tokens: int
    """By verify steps, before the cut at output lengths."""
    emitted_tokens: int
    """Output tokens, first tokens of prompts included, after the cut."""
    kv_blocks: int
    """Blocks held during the step."""
    waiting: int
    blocked_by: str
    preempted: int


STEP_COLUMNS = (
    "start_s", *StepShape._fields, *(f.name for f in fields(StepCost)),
    "schedule_s", "committed_tokens", "emitted_tokens", "kv_blocks", "waiting", "blocked_by", "preempted",
)  # fmt: skip
"""Header of steps.csv."""

REQUEST_COLUMNS = (
    "request", "label", "arrival_s", "scheduled_s", "first_token_s", "finish_s", "prompt_tokens", "output_tokens",
    "steps", "drafted_tokens", "committed_tokens", "accepted_tokens", "preemptions", "truncated", "drafted_at",
    "accepted_at", "drafted_by_round", "accepted_by_round",
)  # fmt: skip
"""Header of requests.csv; the last four are counts by draft position and by verify step, joined by blanks."""


def step_values(row: StepRow) -> tuple[Any, ...]:
    """A step in the order of STEP_COLUMNS."""
    cost = (getattr(row.cost, f.name) for f in fields(StepCost))
    return (row.start_s, *row.shape, *cost, *row[3:])


def request_values(sequence: SequenceState) -> tuple[Any, ...]:
    """A request in the order of REQUEST_COLUMNS."""
    s = sequence
    drafted, accepted = sum(s.drafted_at), sum(s.accepted_at)
    return (
        s.number, s.request.label, s.request.arrival_s, s.scheduled_s, s.first_token_s, s.finish_s,
        len(s.request.prompt), s.num_output, s.steps, drafted, s.committed_tokens, accepted, s.preemptions,
        s.truncated, *map(_joined, (s.drafted_at, s.accepted_at, *_columns(s.rounds))),
    )  # fmt: skip


def _joined(counts: Iterable[int]) -> str:
    return " ".join(map(str, counts))


def _columns(rounds: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    pairs = list(rounds)
    return [drafted for drafted, _ in pairs], [accepted for _, accepted in pairs]


def write_trace(
    folder: Path, steps: Iterable[StepRow], sequences: Iterable[SequenceState], about: Mapping[str, Any]
) -> None:
    """Write steps.csv, requests.csv and about.json into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / "steps.csv", STEP_COLUMNS, map(step_values, steps))
    _write_csv(folder / "requests.csv", REQUEST_COLUMNS, map(request_values, sequences))
    (folder / "about.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _write_csv(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
