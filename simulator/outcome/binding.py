"""What binds a deployment: what most step time waits for, or the limit that keeps requests queueing.

Steps without prompts cost the same per context token, so all runs with equally many sequences are priced at once, at
their mean context, exactly. Steps with prompts are priced by a systematic sample of at most SAMPLE of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.records import ClusterRecords, Floats, StepColumns
from simulator.outcome.occupancy import blocked_shares
from simulator.outcome.window import Window, steps_ending_within
from simulator.physics.step import CAUSES, StepCost, StepModel, StepShape

SAMPLE = 500
"""Most steps with prompts that are priced."""

BLOCKED = {
    "kv_blocks": "kv_capacity",
    "max_num_seqs": "max_num_seqs",
    "token_budget": "token_budget",
    "batch_wait": "batch_wait",
}
"""What blocked the queue → what the deployment is bound by."""

Weighted = tuple[StepShape, float]
"""A shape, and how many steps it stands for."""


class ExplainedSteps(StepModel, Protocol):
    """A step model that says what a step waits for."""

    def bound_by(self, cost: StepCost, shape: StepShape) -> str:
        """What the largest part of a step waits for."""

    def draft_ratios(self, sequences: int, context_tokens: float) -> tuple[float, float]:
        """FLOP ratio and latency ratio of draft to target at this batch and context; both 0 without a draft."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the time of the measured steps went, and what binds."""

    bound_by: str
    """kv_capacity, max_num_seqs, token_budget, else what steps wait for (weight_bandwidth, compute, draft, …)."""
    step_time_share: dict[str, float]
    """Share of the step time by cause; sums to 1. Empty when no step was measured."""
    bound_share: dict[str, float]
    """Share of the step time in steps that wait mostly for this; and of all time in which a limit kept requests out."""


def binding(records: ClusterRecords, window: Window, model: ExplainedSteps) -> Binding:
    """What binds: a limit that kept the queue out for over half of the time, else what most step time waits for."""
    by_cause = dict.fromkeys(CAUSES, 0.0)
    by_bound: dict[str, float] = {}
    for shape, number in measured_shapes(records, window):
        cost = model.cost(shape)
        for cause in CAUSES:
            by_cause[cause] += number * getattr(cost, cause)
        bound = model.bound_by(cost, shape)
        by_bound[bound] = by_bound.get(bound, 0.0) + number * cost.total_s
    blocked = {BLOCKED[name]: share for name, share in blocked_shares(records, window).items()}
    longest = max(blocked, key=lambda name: blocked[name])
    largest = max(by_bound, key=lambda name: by_bound[name], default="nothing")
    return Binding(
        longest if blocked[longest] > 0.5 else largest,
        {cause.removesuffix("_s"): share for cause, share in _shares(by_cause).items()},
        _shares(by_bound) | blocked,
    )


def measured_shapes(records: ClusterRecords, window: Window) -> Iterator[Weighted]:
    """The shapes of the steps that end within the window, each with the steps that it stands for."""
    count = steps_ending_within(records.steps, window)
    yield from _decode(records, count)
    yield from _mixed(records, count)


def draft_ratios(records: ClusterRecords, window: Window, model: ExplainedSteps) -> tuple[float | None, float | None]:
    """FLOP and latency ratio of draft to target at the mean batch and context of the window; None without a draft."""
    if not records.draft_tokens:
        return None, None
    shapes = list(_decode(records, steps_ending_within(records.steps, window)))
    total = sum(number for _, number in shapes)
    if total <= 0:
        return model.draft_ratios(1, 0.0)
    sequences = sum(shape.sequences * number for shape, number in shapes) / total
    context = sum(shape.context_tokens * number for shape, number in shapes) / total
    return model.draft_ratios(max(round(sequences), 1), context)


def _shares(seconds: dict[str, float]) -> dict[str, float]:
    total = sum(seconds.values())
    return {name: part / total for name, part in seconds.items()} if total > 0 else {}


def _decode(records: ClusterRecords, count: Floats) -> Iterator[Weighted]:
    """One shape for each number of decoding sequences and their draft tokens, at its mean context."""
    steps = records.steps
    plain = (steps.prefill_tokens == 0) & (steps.sequences > 0) & (count > 0)
    sequences, drafts, weights = steps.sequences[plain], steps.draft_tokens[plain], count[plain]
    alike, which = np.unique(np.stack((sequences, drafts), axis=1), axis=0, return_inverse=True)
    number = np.bincount(which.ravel(), weights=weights)
    context = np.bincount(which.ravel(), weights=weights * steps.context_tokens[plain])
    for kind, (size, proposed) in enumerate(alike.tolist()):
        yield _shape(size, proposed, context[kind] / number[kind], records.draft_tokens), float(number[kind])


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


def _shape(sequences: int, draft_tokens: int, context_tokens: float, most: int) -> StepShape:
    """A step of sequences that propose so many draft tokens together; the nearest whole number stands for each.

    most: K, where nothing decodes.
    """
    each = round(draft_tokens / sequences) if sequences else most
    return StepShape(sequences, sequences + draft_tokens, float(context_tokens), 0, 0, 0.0, each)


def _mixed_shape(steps: StepColumns, i: int, most: int) -> StepShape:
    shape = _shape(int(steps.sequences[i]), int(steps.draft_tokens[i]), float(steps.context_tokens[i]), most)
    return shape._replace(
        prefill_sequences=int(steps.prefill_sequences[i]),
        prefill_tokens=int(steps.prefill_tokens[i]),
        prefill_context_tokens=float(steps.prefill_context_tokens[i]),
    )
