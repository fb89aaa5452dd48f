"""What a run says in numbers, computed from its steps and its requests."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from statistics import quantiles
from typing import Any

from engine.sequence import SequenceState
from engine.trace import StepRow


def acceptance(sequences: Sequence[SequenceState]) -> dict[str, Any]:
    """Acceptance of a set of requests, by the names of the project's vocabulary.

    survival: by position, how often a draft token there was accepted at all, over all verify steps.
    """
    steps = sum(s.steps for s in sequences)
    committed = sum(s.committed_tokens for s in sequences)
    drafted = sum(sum(s.drafted_at) for s in sequences)
    accepted = [sum(column) for column in zip_longest(*(s.accepted_at for s in sequences), fillvalue=0)]
    survival = [count / steps for count in accepted] if steps else []
    return {
        "steps": steps,
        "tokens_per_step": committed / steps if steps else None,
        "acceptance_rate": sum(accepted) / drafted if drafted else None,
        "survival": survival,
        "conditional_acceptance": [
            here / before if before else None for before, here in zip([1.0, *survival], survival, strict=False)
        ],
    }


def decode_tokens_per_s(steps: Iterable[StepRow]) -> float | None:
    """Output tokens per second over the steps that compute no prompt; None: there was none."""
    decoding = [row for row in steps if not row.shape.prefill_tokens and row.shape.sequences]
    seconds = sum(row.cost.total_s for row in decoding)
    return sum(row.emitted_tokens for row in decoding) / seconds if seconds else None


def phases_s(steps: Sequence[StepRow]) -> dict[str, float]:
    """Mean seconds of a step by phase."""
    count = max(len(steps), 1)
    return {
        "draft_s": sum(row.cost.draft_s for row in steps) / count,
        "verify_s": sum(row.cost.verify_s for row in steps) / count,
        "sampling_s": sum(row.cost.sampling_s for row in steps) / count,
        "schedule_s": sum(row.schedule_s for row in steps) / count,
        "overhead_s": sum(row.cost.overhead_s for row in steps) / count,
        "total_s": sum(row.cost.total_s for row in steps) / count,
    }


def host_fraction(steps: Sequence[StepRow]) -> float:
    """Share of the steps' time that is neither a pass of the target nor one of the draft."""
    total = sum(row.cost.total_s for row in steps)
    return sum(row.cost.overhead_s + row.cost.sampling_s for row in steps) / total if total else 0.0


def latencies(sequences: Sequence[SequenceState]) -> dict[str, dict[str, float]]:
    """TTFT, TPOT and E2E [s] of finished requests: mean, p50, p95."""
    done = [s for s in sequences if s.finish_s == s.finish_s]
    values = {
        "ttft_s": [s.first_token_s - s.request.arrival_s for s in done],
        "tpot_s": [(s.finish_s - s.first_token_s) / (s.num_output - 1) for s in done if s.num_output > 1],
        "e2e_s": [s.finish_s - s.request.arrival_s for s in done],
    }
    return {name: _spread(column) for name, column in values.items() if column}


def _spread(values: list[float]) -> dict[str, float]:
    cuts = quantiles(values, n=20, method="inclusive") if len(values) > 1 else values * 19
    return {"mean": sum(values) / len(values), "p50": cuts[9], "p95": cuts[18]}
