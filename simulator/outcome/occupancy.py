"""How full the replicas were: batch, KV cache, queue, what blocked the queue, and what speculation brought.

Sums are of products, not products of BLAS: the last digit of those depends on how many threads it has.
"""

import numpy as np

from simulator.cluster.records import BLOCKERS, ClusterRecords
from simulator.outcome.window import Window, seconds_within, steps_ending_within


def mean_batch(records: ClusterRecords, window: Window) -> float | None:
    """Decoding sequences of a replica's step, mean over the window's steps in which any sequence decodes."""
    steps = records.steps
    weight = np.where(steps.sequences > 0, steps_ending_within(steps, window), 0.0)
    total = float(weight.sum())
    return float((steps.sequences * weight).sum()) / total if total > 0 else None


def mean_step_s(records: ClusterRecords, window: Window) -> float | None:
    """Length of an engine step, prompts included, mean over the window's steps [s]."""
    steps = records.steps
    count = steps_ending_within(steps, window)
    total = float(count.sum())
    return float((count * (steps.duration_s / np.maximum(steps.num_steps, 1))).sum()) / total if total > 0 else None


def kv_utilisation(records: ClusterRecords, window: Window) -> tuple[float | None, float | None]:
    """Share of the KV blocks held: mean over time and replicas (an idle replica holds none), and largest of any run."""
    steps = records.steps
    overlap = seconds_within(steps.start_s, steps.start_s + steps.duration_s, window)
    whole = records.kv_blocks_total * records.num_replicas * window.seconds
    if whole <= 0:
        return None, None
    peak = float(np.max(steps.kv_blocks, where=overlap > 0, initial=0.0))
    return float((steps.kv_blocks * overlap).sum()) / whole, peak / records.kv_blocks_total


def mean_queue(records: ClusterRecords, window: Window) -> float | None:
    """Requests of the whole cluster that wait for their first step, mean over the window's time."""
    requests = records.requests
    served = ~requests.rejected
    waited = seconds_within(requests.arrival_s[served], requests.scheduled_s[served], window)
    return float(waited.sum()) / window.seconds if window.seconds > 0 else None


def cached_prompt_share(records: ClusterRecords) -> float | None:
    """Prompt tokens of the measured requests that the prefix cache held, as a share of all."""
    requests, measured = records.requests, records.measured
    served = ~requests.rejected[measured]
    prompts = int(requests.prompt_tokens[measured][served].sum())
    return int(requests.cached_tokens[measured][served].sum()) / prompts if prompts else None


def blocked_shares(records: ClusterRecords, window: Window) -> dict[str, float]:
    """Share of the replicas' time in which the first waiting request was kept out, by what kept it out."""
    steps = records.steps
    overlap = seconds_within(steps.start_s, steps.start_s + steps.duration_s, window)
    whole = records.num_replicas * window.seconds
    spent = np.bincount(steps.blocked_by, weights=overlap, minlength=len(BLOCKERS))
    return {name: float(spent[i]) / whole if whole > 0 else 0.0 for i, name in enumerate(BLOCKERS) if i}


def speculation_means(records: ClusterRecords) -> dict[str, float | None]:
    """Tokens per step, acceptance rate and draft tokens per step, over all verify steps of the measured requests."""
    requests = records.requests
    columns = (requests.committed_tokens, requests.accepted_tokens, requests.drafted_tokens, requests.steps)
    committed, accepted, drafted, steps = (c[records.measured].sum().item() for c in columns)
    return {
        "tokens_per_step": committed / steps if steps else None,
        "acceptance_rate": accepted / drafted if drafted else None,
        "draft_tokens_mean": drafted / steps if steps else None,
    }


def draft_tokens_shares(records: ClusterRecords, window: Window) -> dict[str, float] | None:
    """Draft tokens of each sequence → share of the window's decoding steps; None where all propose K.

    Where the sequences of a step propose differently many, the whole number nearest to their mean.
    """
    steps, most = records.steps, records.draft_tokens
    if (steps.draft_tokens == steps.sequences * most).all():
        return None
    count = np.where(steps.sequences > 0, steps_ending_within(steps, window), 0.0)
    each = np.rint(steps.draft_tokens / np.maximum(steps.sequences, 1)).astype(np.int64)
    number = np.bincount(each, weights=count, minlength=most + 1)
    return {str(k): float(n / number.sum()) for k, n in enumerate(number.tolist())} if number.sum() > 0 else None
