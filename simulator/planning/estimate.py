"""The steady-state estimate: the figures of a report row in milliseconds, from formulas instead of events."""

from typing import NamedTuple

import numpy as np

from simulator.cluster.arrivals import pattern_of
from simulator.outcome.cost import joules_per_token_bound, usd_per_million_tokens
from simulator.outcome.latency import summarise
from simulator.outcome.report import Row, RowContext, empty_row
from simulator.physics.drafted import DeploymentSteps
from simulator.physics.step import CAUSES, StepShape
from simulator.planning.capacity import LoadAxis, load_axis
from simulator.planning.context import row_context, why_unfit
from simulator.planning.demand import Demand, demand_of
from simulator.planning.missed_rounds import share_with_drafts
from simulator.planning.steady_cluster import Load, SteadyCluster, good_share, pressure, token_gaps
from simulator.run import step_times_of, with_best_trees
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Slo, Workload


def estimate(scenario: Scenario, deployment: str, point: str = "base") -> Row:
    """Every field of a report row, in the steady state; `replication` is "estimate" and there are no intervals.

    A deployment that does not fit gives the row that says so.
    """
    scenario = with_best_trees(scenario)
    reason = why_unfit(scenario, deployment)
    if reason:
        return empty_row(row_context(scenario, deployment, point), "estimate", reason)
    return estimate_row(scenario, deployment, steady_cluster(scenario, deployment), point)


def estimate_row(scenario: Scenario, deployment: str, cluster: SteadyCluster, point: str = "base") -> Row:
    """The same of a deployment that fits, whose steady state is given."""
    scenario = with_best_trees(scenario)
    return row_of(question(scenario, deployment, point), cluster)


class Question(NamedTuple):
    """What an estimate needs beside the steady state."""

    scenario: Scenario
    deployment: str
    context: RowContext
    axis: LoadAxis


def question(scenario: Scenario, deployment: str, point: str = "base") -> Question:
    """The question of a scenario whose trees are written out, and a deployment of it that fits."""
    axis = load_axis(scenario.workload, scenario.seed, 0)
    return Question(scenario, deployment, row_context(scenario, deployment, point), axis)


def row_of(asked: Question, cluster: SteadyCluster) -> Row:
    """Every field of the row."""
    scenario, demand = asked.scenario, cluster.demand
    load = cluster.offered(asked.axis.kind, asked.axis.offered)
    row = empty_row(asked.context, "estimate", "") | {"fits": True, "reason": None, "simulated_runs": 0}
    row["capacity_note"] = not_estimated(scenario.workload)
    row |= _speculation(demand, load, step_times_of(scenario.deployments[asked.deployment], scenario.workload))
    row |= _service(load, demand, scenario.slo)
    return row | _moved(asked, cluster, load, by_capacity=False)


def moved(asked: Question, cluster: SteadyCluster) -> Row:
    """The fields that step times move, and whether the load holds: what else a row says is the same at any pace.

    The fleet is the one that the capacity of this cluster asks for.
    """
    return _moved(asked, cluster, cluster.offered(asked.axis.kind, asked.axis.offered), by_capacity=True)


def _moved(asked: Question, cluster: SteadyCluster, load: Load, *, by_capacity: bool) -> Row:
    axis = asked.axis
    offered = None if axis.kind == "batch" else axis.offered if axis.kind == "rate" else load.rate_per_s
    saturated = axis.kind == "rate" and offered is not None and offered > cluster.saturation()
    return {
        **_latencies(load, cluster.demand),
        **_rates(cluster.demand, load, asked.context),
        **_planned(cluster, offered, asked.context, by_capacity=by_capacity),
        "saturated": saturated,
        "holds_slo": not saturated and pressure(load, asked.scenario.slo) <= 1.0,
    }


def not_estimated(workload: Workload) -> str | None:
    """What the estimate leaves out of the arrivals, which it takes for Poisson at their mean rate."""
    arrivals = workload.arrivals
    if arrivals.kind == "gamma":
        said = f"gaps with a coefficient of variation of {arrivals.cv:g}" if arrivals.cv != 1.0 else ""
    elif arrivals.kind == "bursty":
        said = f"bursts of {arrivals.burst_factor:g} times the mean rate"
    elif arrivals.kind == "diurnal":
        said = f"a peak of {float(pattern_of(arrivals)[1].max()):.3g} times the mean rate"
    else:
        said = "the trace's own bursts" if arrivals.kind == "trace" else ""
    return (
        f"estimated for Poisson arrivals at the mean rate, without {said}: `specfleet run` simulates it"
        if said
        else None
    )


def guess_capacity(scenario: Scenario, deployment: str) -> float | None:
    """Estimated capacity of a deployment [requests/s]: where a simulated search begins."""
    return steady_cluster(scenario, deployment).capacity() or None


def steady_cluster(scenario: Scenario, deployment: str) -> SteadyCluster:
    """The steady state of a deployment under a scenario's requests.

    Raises ScenarioError when the deployment does not fit into its GPUs.
    """
    scenario = with_best_trees(scenario)
    spec = scenario.deployments[deployment]
    return SteadyCluster(demand_of(scenario, deployment), spec.replicas, spec.router.kind, scenario.slo)


def _latencies(load: Load, demand: Demand) -> Row:
    values = load.latencies
    return {
        "ttft_s": summarise(values.ttft_s),
        "tpot_s": summarise(values.tpot_s),
        "itl_s": summarise(token_gaps(load)) if demand.mean_steps > 0 else summarise(np.array([np.nan])),
        "e2e_s": summarise(values.e2e_s),
    }


def _speculation(demand: Demand, load: Load, model: DeploymentSteps) -> Row:
    steps, draft_tokens = float(demand.steps.sum()), demand.limits.draft_tokens
    batch = max(round(load.state.mean_batch), 1)
    context = batch * demand.context_tokens
    chosen = demand.chosen.at(batch) if demand.chosen is not None else None
    k = draft_tokens if chosen is None else round(chosen.draft_tokens)
    shape = StepShape(batch, batch * (k + 1), context, 0, 0, 0.0, k)
    cost = model.cost(shape)
    flops_ratio, latency_ratio = model.draft_ratios(batch, context) if draft_tokens else (None, None)
    committed, drafted = float(demand.committed_tokens.sum()), float(demand.drafted_tokens.sum())
    if chosen is not None:
        committed, drafted = committed / chosen.rounds, chosen.draft_tokens * steps
    share = share_with_drafts(model, batch)
    tokens_per_step = 1.0 + share * (committed / steps - 1.0) if steps else None
    prompts = 1.0 - 1.0 / load.state.stretch
    shares = {name.removesuffix("_s"): getattr(cost, name) / cost.total_s * (1.0 - prompts) for name in CAUSES}
    return {
        "tokens_per_step": tokens_per_step,
        "acceptance_rate": (committed - steps) / drafted if drafted else None,
        "draft_tokens_mean": share * drafted / steps if steps else None,
        "draft_flops_ratio": flops_ratio,
        "draft_latency_ratio": latency_ratio,
        "bound_by": "prefill_compute" if prompts > 0.5 else model.bound_by(cost, shape),
        "step_time_share": {**shares, "prefill": prompts},
    }


def _rates(demand: Demand, load: Load, context: RowContext) -> Row:
    output = load.rate_per_s * float(demand.output_tokens.mean())
    inputs = load.rate_per_s * float(demand.prompt_tokens.mean())
    cost = context.usd_per_hour
    return {
        "req_per_s": load.rate_per_s,
        "input_tokens_per_s": inputs,
        "output_tokens_per_s": output,
        "total_tokens_per_s": inputs + output,
        "output_tokens_per_s_per_gpu": output / context.num_gpus,
        "output_tokens_per_request": float(demand.output_tokens.mean()),
        "usd_per_million_output_tokens": usd_per_million_tokens(cost, output),
        "usd_per_million_input_tokens": usd_per_million_tokens(cost, inputs),
        "usd_per_million_total_tokens": usd_per_million_tokens(cost, inputs + output),
        "joules_per_output_token_bound": joules_per_token_bound(context.board_watts, context.num_gpus, output),
    }


def _service(load: Load, demand: Demand, slo: Slo | None) -> Row:
    state = load.state
    held = float(state.running @ np.arange(state.running.size)) * demand.blocks / demand.limits.kv_blocks
    row: Row = {
        "mean_batch": state.mean_batch,
        "queue_mean": state.law.mean_waiting * state.dealing.num_replicas,
        "cached_prompt_share": demand.cached_tokens / float(demand.prompt_tokens.mean()),
        "kv_utilisation_mean": min(held, 1.0),
    }
    share = good_share(load, slo)
    return row if share is None else row | {"slo_attainment": share, "goodput_req_per_s": load.rate_per_s * share}


def _planned(cluster: SteadyCluster, offered: float | None, context: RowContext, *, by_capacity: bool) -> Row:
    capacity = cluster.capacity()
    at_capacity = capacity * float(cluster.demand.output_tokens.mean())
    replicas = None if offered is None else cluster.replicas_for(offered, capacity, by_capacity=by_capacity)
    gpus = None if replicas is None else context.bill.gpus(replicas)
    return {
        "offered_req_per_s": offered,
        "capacity_req_per_s": capacity,
        "utilisation": offered / capacity if offered is not None and capacity > 0 else None,
        "replicas_for_offered": replicas,
        "gpus_for_offered": gpus,
        "usd_per_hour_for_offered": None if replicas is None else context.bill.usd_per_hour(replicas),
        "output_tokens_per_s_at_capacity": at_capacity,
        "usd_per_million_output_tokens_at_capacity": usd_per_million_tokens(context.usd_per_hour, at_capacity),
    }
