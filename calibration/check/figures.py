"""Figures of a run, measured or simulated: both as the simulator's records, so that one definition serves both."""

from collections.abc import Sequence
from math import nan

import numpy as np

from calibration.check.run import RequestRow, Run, durations_s
from simulator.cluster.records import BLOCKERS, ClusterRecords, RequestColumns, StepColumns
from simulator.outcome.latency import METRICS, STATISTICS, summaries
from simulator.outcome.saturation import saturated
from simulator.outcome.window import Window
from simulator.physics.step import StepShape

Figures = dict[str, float]
"""By name: latencies as `ttft_s.mean`, and what else is compared; nan where there is nothing."""

FEWEST_FOR = {"mean": 1, "p50": 8, "p90": 20, "p95": 200, "p99": 1000}
"""Requests below which a percentile is not stated: fewer than 10 lie beyond it, or 2 beyond p90."""


def records_of(run: Run) -> ClusterRecords:
    """A measured run in the simulator's columns."""
    return ClusterRecords(
        requests=_request_columns(run.requests, run.labels),
        steps=_step_columns(run),
        kv_blocks_total=run.limits.kv_blocks,
        num_replicas=1,
        draft_tokens=run.point.draft_tokens,
        measured=slice(0, len(run.requests)),
    )


def _request_columns(rows: Sequence[RequestRow], labels: list[str]) -> RequestColumns:
    steps = np.array([len(row.accepted) for row in rows])
    accepted = np.array([sum(row.accepted) for row in rows])
    none = np.zeros(len(rows), np.int64)
    return RequestColumns(
        arrival_s=np.array([row.arrival_s for row in rows]),
        scheduled_s=np.array([row.scheduled_s for row in rows]),
        first_token_s=np.array([row.first_token_s for row in rows]),
        finish_s=np.array([row.finish_s for row in rows]),
        prompt_tokens=np.array([row.prompt_tokens for row in rows]),
        output_tokens=np.array([row.output_tokens for row in rows]),
        class_index=np.array([labels.index(row.label) for row in rows]),
        replica=none,
        steps=steps,
        drafted_tokens=np.array([sum(row.drafted) for row in rows]),
        committed_tokens=accepted + steps,
        accepted_tokens=accepted,
        preemptions=np.array([row.preemptions for row in rows]),
        cached_tokens=none,
        rejected=np.zeros(len(rows), np.bool_),
        truncated=np.zeros(len(rows), np.bool_),
    )


def _step_columns(run: Run) -> StepColumns:
    steps, count = run.steps, len(run.steps)
    shapes = np.array([step.shape for step in steps])
    column = {name: shapes[:, index] for index, name in enumerate(StepShape._fields)}
    return StepColumns(
        replica=np.zeros(count, np.int32),
        start_s=np.array([step.start_s for step in steps]),
        duration_s=np.array(durations_s(run)),
        num_steps=np.ones(count, np.int32),
        sequences=column["sequences"].astype(np.int32),
        context_tokens=column["context_tokens"],
        prefill_sequences=column["prefill_sequences"].astype(np.int32),
        prefill_tokens=column["prefill_tokens"].astype(np.int32),
        prefill_context_tokens=column["prefill_context_tokens"],
        emitted_tokens=np.array([step.emitted_tokens for step in steps]),
        kv_blocks=np.array([float(step.kv_blocks) for step in steps]),
        waiting=np.array([step.waiting for step in steps]),
        stalled_s=np.zeros(count),
        draft_tokens=(column["verify_tokens"] - column["sequences"]).astype(np.int32),
        blocked_by=np.array([BLOCKERS.index(step.blocked_by) for step in steps]),
    )


def figures(records: ClusterRecords, *, open_loop: bool) -> Figures:
    """What is compared of a run: latencies, rates over its makespan, tokens per step, mean batch, whether it held."""
    requests, steps = records.requests, records.steps
    makespan = Window(float(requests.arrival_s.min()), float(requests.finish_s.max()))
    found: Figures = {}
    for metric, values in summaries(records, makespan).items():
        for name, value in values.items():
            known = value is not None and requests.arrival_s.size >= FEWEST_FOR[name]
            found[f"{metric}.{name}"] = value if known and value is not None else nan
    rounds = float(requests.steps.sum())
    decoding = steps.num_steps * (steps.sequences > 0)
    found["output_tokens_per_s"] = float(requests.output_tokens.sum()) / makespan.seconds
    found["req_per_s"] = requests.arrival_s.size / makespan.seconds
    found["tokens_per_step"] = float(requests.committed_tokens.sum()) / rounds if rounds else nan
    found["mean_batch"] = float(steps.sequences @ decoding) / float(max(decoding.sum(), 1))
    found["overloaded"] = float(saturated(records, open_loop=open_loop))
    return found


def mean_figures(of: Sequence[Figures]) -> Figures:
    """Means over several runs, name by name; overloaded: whether most were."""
    found = {name: float(np.mean([one[name] for one in of])) for name in of[0]}
    found["overloaded"] = float(found["overloaded"] > 0.5)
    return found


NAMES = (
    *(f"{metric}.{name}" for metric in METRICS for name in STATISTICS),
    "output_tokens_per_s", "req_per_s", "tokens_per_step", "mean_batch",
)  # fmt: skip
"""Figures that are compared; `overloaded` is yes or no."""
