"""What binds a deployment: the cause that most step time goes to, or the limit that keeps requests queueing.

Steps without prompts cost the same per context token, so all runs with equally many sequences are priced at once, at
their mean context, exactly. Steps with prompts are priced by a systematic sample of at most SAMPLE of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.records import ClusterRecords, Floats, StepColumns
from simulator.outcome.occupancy import blocked_shares
from simulator.outcome.window import Window, steps_ending_within
from simulator.physics.step import CAUSES, StepModel, StepShape

SAMPLE = 500
"""Most steps with prompts that are priced."""

BLOCKED = {"kv_blocks": "kv_capacity", "max_num_seqs": "max_num_seqs", "token_budget": "token_budget"}
"""What blocked the queue → what the deployment is bound by."""

Weighted = tuple[StepShape, float]
"""A shape, and how many steps it stands for."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the time of the measured steps went, and what binds."""

    bound_by: str
    """A cause of step time without its unit (linear, attention, …), or kv_capacity, max_num_seqs, token_budget."""
    step_time_share: dict[str, float]
    """Share of the step time by cause; sums to 1. Empty when no step was measured."""
    blocked_share: dict[str, float]
    """Share of time in which the queue was kept out, by what bound it."""


def binding(records: ClusterRecords, window: Window, model: StepModel) -> Binding:
    """What binds a run: a limit that blocked the queue for more than half of the time, else the largest cause."""
    shares = step_time_shares(records, window, model)
    blocked = {BLOCKED[name]: share for name, share in blocked_shares(records, window).items()}
    longest = max(blocked, key=lambda name: blocked[name])
    largest = max(shares, key=lambda name: shares[name], default="nothing")
    return Binding(longest if blocked[longest] > 0.5 else largest, shares, blocked)


def step_time_shares(records: ClusterRecords, window: Window, model: StepModel) -> dict[str, float]:
    """Share of the window's step time that each cause takes."""
    steps = records.steps
    count = steps_ending_within(steps, window)
    seconds = np.zeros(len(CAUSES))
    for shape, steps_of_shape in (*_decode(records, count), *_mixed(records, count)):
        cost = model.cost(shape)
        seconds += np.array([getattr(cost, cause) for cause in CAUSES]) * steps_of_shape
    total = float(seconds.sum())
    if total <= 0:
        return {}
    return {cause.removesuffix("_s"): float(part) / total for cause, part in zip(CAUSES, seconds, strict=True)}


def _decode(records: ClusterRecords, count: Floats) -> Iterator[Weighted]:
    """One shape for each number of decoding sequences, at its mean context."""
    steps = records.steps
    plain = (steps.prefill_tokens == 0) & (steps.sequences > 0) & (count > 0)
    sequences, weights = steps.sequences[plain], count[plain]
    number = np.bincount(sequences, weights=weights)
    context = np.bincount(sequences, weights=weights * steps.context_tokens[plain])
    for size in np.flatnonzero(number).tolist():
        yield _shape(records.draft_tokens, size, context[size] / number[size]), float(number[size])


def _mixed(records: ClusterRecords, count: Floats) -> Iterator[Weighted]:
    """A systematic sample of the steps that compute prompts."""
    steps = records.steps
    chosen = np.flatnonzero((steps.prefill_tokens > 0) & (count > 0))
    sample = _systematic(chosen)
    for i in sample.tolist():
        yield _mixed_shape(steps, i, records.draft_tokens), chosen.size / sample.size


def _systematic(chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Every n-th of them, from the middle of the first stretch."""
    if chosen.size <= SAMPLE:
        return chosen
    return chosen[((np.arange(SAMPLE) + 0.5) * chosen.size / SAMPLE).astype(np.intp)]


def _shape(draft_tokens: int, sequences: int, context_tokens: float) -> StepShape:
    return StepShape(sequences, sequences * (draft_tokens + 1), float(context_tokens), 0, 0, 0.0, draft_tokens)


def _mixed_shape(steps: StepColumns, i: int, draft_tokens: int) -> StepShape:
    return _shape(draft_tokens, int(steps.sequences[i]), float(steps.context_tokens[i]))._replace(
        prefill_sequences=int(steps.prefill_sequences[i]),
        prefill_tokens=int(steps.prefill_tokens[i]),
        prefill_context_tokens=float(steps.prefill_context_tokens[i]),
    )
