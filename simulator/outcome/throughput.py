"""What the cluster got through in the measured window, whichever request it belongs to.

Completions and prompts are counted at their instants (a prompt at its first output token: a prompt that is computed
again after a preemption counts once). Output tokens are exact: those that step records say were put out at the ends of
steps; a run of steps that the window's edge cuts counts by its steps within.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.records import ClusterRecords
from simulator.outcome.window import Window, steps_ending_within


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates over the window; None where it has no length."""

    completions: int
    req_per_s: float | None
    input_tokens_per_s: float | None
    output_tokens_per_s: float | None

    @property
    def total_tokens_per_s(self) -> float | None:
        """Input and output tokens per second."""
        if self.input_tokens_per_s is None or self.output_tokens_per_s is None:
            return None
        return self.input_tokens_per_s + self.output_tokens_per_s


def rate_per_s(amount: float, seconds: float) -> float | None:
    """Amount per second; None over no time.

    amount: what was counted. [any unit]
    seconds: length of the window. [s]

    >>> rate_per_s(30, 60.0)
    0.5
    """
    return amount / seconds if seconds > 0 else None


def throughput(records: ClusterRecords, window: Window) -> Throughput:
    """Completions, prompts and output tokens of the window, per second."""
    requests, steps = records.requests, records.steps
    completions = int(window.holds(requests.finish_s).sum())
    prompts = float(requests.prompt_tokens[window.holds(requests.first_token_s)].sum())
    shares = steps_ending_within(steps, window) / np.maximum(steps.num_steps, 1)
    outputs = float((steps.emitted_tokens * shares).sum())
    return Throughput(
        completions,
        *(rate_per_s(amount, window.seconds) for amount in (completions, prompts, outputs)),
    )


def good_shares(records: ClusterRecords, window: Window, good: NDArray[np.bool_]) -> tuple[float, float] | None:
    """Shares of the window's completions, and of their output tokens, that belong to good requests."""
    done = window.holds(records.requests.finish_s)
    tokens = records.requests.output_tokens
    if not done.any():
        return None
    return float((good & done).sum() / done.sum()), float(tokens[good & done].sum() / tokens[done].sum())
