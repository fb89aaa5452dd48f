"""What happened in one simulated run, in columns; every statistic is computed from these afterwards."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class RequestColumns:
    """One entry per request, in order of arrival (ties in order of issue). Times in seconds; NaN: never happened."""

    arrival_s: Floats
    scheduled_s: Floats
    """Start of the first step that computed a part of the prompt."""
    first_token_s: Floats
    finish_s: Floats
    prompt_tokens: Ints
    output_tokens: Ints
    """Tokens put out, after a cut at the engine's longest sequence."""
    class_index: Ints
    """Index into the workload's classes."""
    replica: Ints
    """Replica that served it; -1: rejected."""
    steps: Ints
    """Verify (decode) steps that the request took part in; the prompt's own step is not one."""
    drafted_tokens: Ints | Floats
    """Draft tokens that its verify steps proposed: expected, where a draft does not always propose all K."""
    committed_tokens: Ints
    """Tokens committed by its verify steps, bonus tokens included, before the cut at the output length."""
    accepted_tokens: Ints
    """Draft tokens accepted, before the cut."""
    preemptions: Ints
    cached_tokens: Ints
    """Prompt tokens that the prefix cache held when the request was last admitted."""
    rejected: NDArray[np.bool_]
    """The prompt alone was longer than the engine's longest sequence, or than its whole KV cache."""
    truncated: NDArray[np.bool_]
    """The output was cut at the engine's longest sequence."""


@dataclass(frozen=True, slots=True)
class StepColumns:
    """One entry per run of engine steps with the same sequences, in order of time within each replica."""

    replica: Ints
    start_s: Floats
    duration_s: Floats
    """Of the whole run of steps."""
    num_steps: Ints
    sequences: Ints
    """Decoding sequences in each step of the run."""
    context_tokens: Floats
    """KV positions of the decoding sequences at a step, mean over the run."""
    prefill_sequences: Ints
    prefill_tokens: Ints
    prefill_context_tokens: Floats
    emitted_tokens: Ints
    """Output tokens that sequences emitted at the ends of the run's steps, after the cut at output lengths."""
    kv_blocks: Floats
    """KV blocks held, mean over the run's steps."""
    waiting: Ints
    """Requests queued at the replica when the run began."""
    stalled_s: Floats
    """Time for which the run's sequences had waited, before it, for steps that computed prompts only."""
    draft_tokens: Ints
    """Draft tokens that the decoding sequences propose in each step of the run, all together."""
    blocked_by: Ints
    """What kept the first waiting request out at the start: index into BLOCKERS."""


BLOCKERS = ("nothing", "kv_blocks", "max_num_seqs", "token_budget", "batch_wait")
"""Why a waiting request was not admitted."""


@dataclass(frozen=True, slots=True)
class ClusterRecords:
    """All that one simulated run of one deployment leaves behind."""

    requests: RequestColumns
    steps: StepColumns
    kv_blocks_total: int
    """KV blocks of one replica."""
    num_replicas: int
    draft_tokens: int
    """Draft tokens K per step; 0: no speculation."""
    measured: slice
    """Measured requests: those after the warm-up; requests beyond it only keep the load up until these end."""


def columns_equal(first: Any, second: Any) -> bool:
    """Whether two column sets hold the same values, NaN equal to NaN."""
    return all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=getattr(first, name).dtype.kind == "f")
        for name in first.__dataclass_fields__
    )
