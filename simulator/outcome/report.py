"""The report: one row per deployment and replication, all figures of a run by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.cluster.records import ClusterRecords
from simulator.outcome.binding import ExplainedSteps, binding, draft_ratios
from simulator.outcome.cost import Bill, joules_per_token_bound, usd_per_million_tokens
from simulator.outcome.latency import METRICS, STATISTICS, summaries
from simulator.outcome.occupancy import (
    cached_prompt_share,
    draft_tokens_shares,
    kv_utilisation,
    mean_batch,
    mean_queue,
    mean_step_s,
    speculation_means,
)
from simulator.outcome.precision import too_few_samples
from simulator.outcome.saturation import saturated
from simulator.outcome.slo import OPEN_LOOP, attainment, good_requests, meets_limits
from simulator.outcome.throughput import Throughput, good_shares, throughput
from simulator.outcome.warmup import warm_up
from simulator.outcome.window import Window, measured_window
from simulator.spec.workload import Slo

Row = dict[str, Any]
"""Field → number, text, flag, None, or for latencies a mapping of statistics."""

# fmt: off
ROW_FIELDS = (
    "deployment", "gpu", "num_gpus", "point", "replication", "offered_req_per_s", "completed_requests", "req_per_s",
    "input_tokens_per_s", "output_tokens_per_s", "total_tokens_per_s", "output_tokens_per_s_per_gpu",
    "ttft_s", "tpot_s", "itl_s", "e2e_s", "tokens_per_step", "acceptance_rate", "draft_tokens_mean",
    "draft_flops_ratio", "draft_latency_ratio", "slo_attainment", "goodput_req_per_s", "saturated", "mean_batch",
    "kv_utilisation_mean", "kv_utilisation_max", "preemptions", "capacity_req_per_s", "utilisation",
    "replicas_for_offered", "gpus_for_offered", "usd_per_hour_for_offered", "usd_per_hour",
    "usd_per_million_output_tokens", "usd_per_million_input_tokens", "usd_per_million_total_tokens",
    "usd_per_million_good_output_tokens", "usd_per_million_output_tokens_at_capacity",
    "joules_per_output_token_bound", "bound_by", "interval",
)
"""Fields that every row has, in their order."""

EXTRA_FIELDS = (
    "replicas", "fits", "reason", "holds_slo", "window_s", "queue_mean", "cached_prompt_share",
    "rejected_requests", "truncated_requests",
    "step_time_share", "bound_share", "output_tokens_per_request", "output_tokens_per_s_at_capacity",
    "usd_per_gpu_hour", "capacity_note", "fleet_note", "simulated_runs", "step_s", "warmup_found_requests",
    "warmup_too_short", "too_few_samples", "replications_for_5_percent", "interval_of_replications",
    "holds_if_slower", "speculation", "drafts", "draft_bytes", "draft_depth", "extrapolated",
    "draft_tokens_share", "draft_gpu", "draft_gpus",
)
"""Fields that every row has beyond those."""
# fmt: on


@dataclass(frozen=True, slots=True)
class RowContext:
    """What a row says of its deployment beyond what the records hold."""

    deployment: str
    gpu: str
    replicas: int
    bill: Bill
    """GPUs and prices."""
    arrivals_kind: str
    slo: Slo | None
    point: str = "base"
    speculation: str | None = None
    """How it speculates, in words; None without."""
    drafts: tuple[str, ...] = ()
    """Names of its drafts."""
    draft_bytes: int | None = None
    """Weights of all drafts, and of their router, on the fullest GPU [bytes]; None without drafts."""

    draft_gpu: str | None = None
    """GPU type of the drafts' own GPUs; None where they have none."""
    draft_depth: int | None = None
    """Most draft tokens that a step can accept; None without drafts."""
    extrapolated: tuple[str, ...] = ()
    """What is taken of acceptance beyond what was measured, in words."""

    @property
    def num_gpus(self) -> int:
        """GPUs that the deployment pays for."""
        return self.bill.gpus(self.replicas)

    @property
    def usd_per_hour(self) -> float:
        """What the deployment costs [USD/h]."""
        return self.bill.usd_per_hour(self.replicas)

    @property
    def usd_per_gpu_hour(self) -> float:
        """Price of a GPU, mean over all of them [USD/h]."""
        return self.bill.usd_per_gpu_hour(self.replicas)

    @property
    def board_watts(self) -> float:
        """Power limit of a board, mean over all GPUs [W]."""
        return self.bill.board_watts(self.replicas)

    @property
    def open_loop(self) -> bool:
        """Whether requests come whether or not the cluster keeps up."""
        return self.arrivals_kind in OPEN_LOOP


@dataclass(frozen=True, slots=True)
class Planned:
    """What the searches of a study add to a row; None: not asked, or there is no answer (the notes say why)."""

    capacity_req_per_s: float | None = None
    capacity_note: str = ""
    replicas_for_offered: int | None = None
    fleet_note: str = ""
    simulated_runs: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """All that a study of one scenario found."""

    scenario: str
    rows: tuple[Row, ...]
    """Over all replications, one per deployment."""
    replications: tuple[Row, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)


def empty_row(context: RowContext, replication: int | str, reason: str) -> Row:
    """The row of a deployment that could not be run: every field is there, what is not known is None."""
    row: Row = dict.fromkeys(ROW_FIELDS + EXTRA_FIELDS)
    row |= {name: dict.fromkeys(STATISTICS) for name in METRICS}
    row |= _identity(context, replication)
    return row | {
        "fits": False,
        "reason": reason,
        "bound_by": "memory",
        "interval": {},
        "interval_of_replications": {},
        "holds_slo": False,
    }


def replication_row(
    records: ClusterRecords,
    context: RowContext,
    replication: int,
    *,
    model: ExplainedSteps,
    offered_req_per_s: float | None = None,
    planned: Planned | None = None,
) -> Row:
    """All figures of one simulated run; figures that a study searches for come from `planned`."""
    window = measured_window(records)
    rates = throughput(records, window)
    bound = binding(records, window, model)
    found: Row = {
        **_identity(context, replication),
        "offered_req_per_s": offered_req_per_s,
        "completed_requests": int(np.count_nonzero(~np.isnan(records.requests.finish_s[records.measured]))),
        **_rates(rates, context),
        **summaries(records, window),
        **speculation_means(records),
        "draft_tokens_share": draft_tokens_shares(records, window),
        **_served(records, window, rates, context),
        **_occupancy(records, window),
        **dict(zip(("draft_flops_ratio", "draft_latency_ratio"), draft_ratios(records, window, model), strict=True)),
        "bound_by": bound.bound_by,
        "step_time_share": bound.step_time_share,
        "bound_share": bound.bound_share,
        "interval": {},
        "interval_of_replications": {},
        "holds_if_slower": None,
    }
    found |= _trust(records, window, context, saturated=found["saturated"])
    found["holds_slo"] = not found["saturated"] and (context.slo is None or meets_limits(found, context.slo))
    found |= _planned(found, context, planned or Planned())
    return {name: found[name] for name in ROW_FIELDS + EXTRA_FIELDS}


def _identity(context: RowContext, replication: int | str) -> Row:
    return {
        "deployment": context.deployment,
        "gpu": context.gpu,
        "num_gpus": context.num_gpus,
        "replicas": context.replicas,
        "point": context.point,
        "replication": replication,
        "usd_per_gpu_hour": context.usd_per_gpu_hour,
        "usd_per_hour": context.usd_per_hour,
        "fits": True,
        "reason": None,
        "speculation": context.speculation,
        "drafts": list(context.drafts),
        "draft_bytes": context.draft_bytes,
        "draft_depth": context.draft_depth,
        "draft_gpu": context.draft_gpu,
        "draft_gpus": context.bill.draft_gpus(context.replicas),
        "extrapolated": list(context.extrapolated),
    }


def _rates(rates: Throughput, context: RowContext) -> Row:
    output, cost = rates.output_tokens_per_s, context.usd_per_hour
    return {
        "req_per_s": rates.req_per_s,
        "input_tokens_per_s": rates.input_tokens_per_s,
        "output_tokens_per_s": output,
        "total_tokens_per_s": rates.total_tokens_per_s,
        "output_tokens_per_s_per_gpu": None if output is None else output / context.num_gpus,
        "usd_per_million_output_tokens": usd_per_million_tokens(cost, output),
        "usd_per_million_input_tokens": usd_per_million_tokens(cost, rates.input_tokens_per_s),
        "usd_per_million_total_tokens": usd_per_million_tokens(cost, rates.total_tokens_per_s),
        "joules_per_output_token_bound": joules_per_token_bound(context.board_watts, context.num_gpus, output),
    }


def _served(records: ClusterRecords, window: Window, rates: Throughput, context: RowContext) -> Row:
    """What requests got: the SLO, goodput, saturation. Without an SLO no request is good or bad."""
    requests, measured = records.requests, records.measured
    served = ~requests.rejected[measured]
    found: Row = {
        "saturated": saturated(records, open_loop=context.open_loop),
        "rejected_requests": int(np.count_nonzero(requests.rejected[measured])),
        "truncated_requests": int(np.count_nonzero(requests.truncated[measured])),
        "preemptions": int(requests.preemptions[measured].sum()),
        "output_tokens_per_request": float(requests.output_tokens[measured][served].mean()) if served.any() else None,
        "slo_attainment": None,
        "goodput_req_per_s": None,
        "usd_per_million_good_output_tokens": None,
    }
    if context.slo is None:
        return found
    shares = good_shares(records, window, good_requests(requests, context.slo))
    found["slo_attainment"] = attainment(records, context.slo)
    if shares is not None and rates.req_per_s is not None and rates.output_tokens_per_s is not None:
        found["goodput_req_per_s"] = rates.req_per_s * shares[0]
        good_tokens_per_s = rates.output_tokens_per_s * shares[1]
        found["usd_per_million_good_output_tokens"] = usd_per_million_tokens(context.usd_per_hour, good_tokens_per_s)
    return found


def _trust(records: ClusterRecords, window: Window, context: RowContext, *, saturated: bool) -> Row:
    """How far the figures can be trusted; what only several replications can tell is left open."""
    warmed = warm_up(records, context.arrivals_kind, saturated=saturated)
    return {
        "warmup_found_requests": warmed.found_requests,
        "warmup_too_short": warmed.too_short,
        "too_few_samples": too_few_samples(records, window),
        "replications_for_5_percent": None,
    }


def _occupancy(records: ClusterRecords, window: Window) -> Row:
    mean, largest = kv_utilisation(records, window)
    return {
        "window_s": window.seconds,
        "mean_batch": mean_batch(records, window),
        "step_s": mean_step_s(records, window),
        "queue_mean": mean_queue(records, window),
        "cached_prompt_share": cached_prompt_share(records),
        "kv_utilisation_mean": mean,
        "kv_utilisation_max": largest,
    }


def _planned(found: Row, context: RowContext, planned: Planned) -> Row:
    """Figures that follow from the searches; at capacity the output is capacity × output tokens per request."""
    capacity, tokens = planned.capacity_req_per_s, found["output_tokens_per_request"]
    offered = found["offered_req_per_s"]
    at_capacity = None if capacity is None or tokens is None else capacity * tokens
    replicas = planned.replicas_for_offered
    gpus = None if replicas is None else context.bill.gpus(replicas)
    return {
        "capacity_req_per_s": capacity,
        "capacity_note": planned.capacity_note or None,
        "utilisation": offered / capacity if offered is not None and capacity else None,
        "replicas_for_offered": replicas,
        "gpus_for_offered": gpus,
        "usd_per_hour_for_offered": None if replicas is None else context.bill.usd_per_hour(replicas),
        "fleet_note": planned.fleet_note or None,
        "simulated_runs": planned.simulated_runs,
        "output_tokens_per_s_at_capacity": at_capacity,
        "usd_per_million_output_tokens_at_capacity": usd_per_million_tokens(context.usd_per_hour, at_capacity),
    }
