"""One load on one deployment: the one entry to a simulation."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from math import ceil

import numpy as np

from simulator.catalog.load import Stamp, stamps
from simulator.cluster.accepted import draft_shares, drafted_mix, expected_context, survival_over_steps
from simulator.cluster.adaptive import AdaptiveDecoding
from simulator.cluster.cluster import ClusterPlan, Load, MakesDecoding, simulate_cluster
from simulator.cluster.decoding import DrawnDecoding
from simulator.cluster.draft_policy import CHOOSERS
from simulator.cluster.draft_pool import PoolPlan
from simulator.cluster.drafting_ahead import AheadDecoding, AheadTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.plan import drafts_ahead, limits_of, longest_sequence, planner_of
from simulator.cluster.records import ClusterRecords
from simulator.cluster.sessions import with_prefixes
from simulator.cluster.streams import acceptance_key
from simulator.cluster.traffic import RequestChunk, offered_rate, request_chunks
from simulator.physics.best_tree import chosen
from simulator.physics.drafted import DeploymentSteps, DraftedStepModel
from simulator.physics.placement import hit_chance
from simulator.physics.step_model import CatalogStepModel, build_step_model
from simulator.physics.undrafted import with_hits, without_drafting
from simulator.physics.uneven import UnevenSteps
from simulator.physics.windows import without_idle_windows
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload


@lru_cache(maxsize=32)
def _step_model(
    deployment_json: str,
    configs: tuple[Stamp, ...],
    draft_shares: tuple[tuple[str, float], ...],
    context_tokens: float | None,
) -> CatalogStepModel:
    return build_step_model(Deployment.model_validate_json(deployment_json), dict(draft_shares), context_tokens)


@lru_cache(maxsize=32)
def _chosen(deployment_json: str, configs: tuple[Stamp, ...]) -> Deployment:
    return chosen(Deployment.model_validate_json(deployment_json))


def with_best_tree(deployment: Deployment) -> Deployment:
    """The deployment with its best_tree written out node by node; any other is returned as it is."""
    speculation = deployment.speculation
    if speculation.kind == "none" or speculation.propose.shape != "best_tree":
        return deployment
    return _chosen(*_said(deployment))


def step_model_of(
    deployment: Deployment, draft_shares: Mapping[str, float] | None = None, context_tokens: float | None = None
) -> CatalogStepModel:
    """The step model of a deployment; what it remembers is shared by all runs of this process.

    draft_shares: of the sequences that each routed draft works for; None: equal, where no workload is known. [0 to 1]
    context_tokens: of a sequence, mean over its steps, at which drafts on GPUs of their own are awaited. [tokens]
    """
    shared_by = deployment.draft_pool.shared_by if deployment.draft_pool is not None else 1
    alone = with_best_tree(deployment).model_copy(update={"replicas": shared_by})
    return _step_model(*_said(alone), tuple((draft_shares or {}).items()), context_tokens)


def _said(deployment: Deployment) -> tuple[str, tuple[Stamp, ...]]:
    """All that a deployment follows from: what it says, and the config.json files that it names as they are now."""
    return deployment.model_dump_json(exclude_unset=True), stamps(deployment.models)


def with_expected_hit(deployment: Deployment, workload: Workload) -> Deployment:
    """The deployment with the hit that its guesses have over the steps of a workload; any other as it is."""
    pool = deployment.draft_pool
    if pool is None or pool.overlap.kind == "none" or pool.overlap.bonus_guess is None:
        return deployment
    ahead = pool.overlap
    assert ahead.bonus_guess is not None
    hit = hit_chance(survival_over_steps(deployment, workload), ahead.bonus_guess, ahead.outcomes)
    placement = pool.model_copy(update={"overlap": ahead.model_copy(update={"hit": hit, "bonus_guess": None})})
    speculation = deployment.speculation.model_copy(update={"placement": placement})
    return deployment.model_copy(update={"speculation": speculation})


def with_best_trees(scenario: Scenario) -> Scenario:
    """The scenario with every best_tree written out; any other is returned as it is."""
    found = {name: with_best_tree(deployment) for name, deployment in scenario.deployments.items()}
    changed = any(found[name] is not deployment for name, deployment in scenario.deployments.items())
    return scenario.model_copy(update={"deployments": found}) if changed else scenario


def step_times_of(deployment: Deployment, workload: Workload) -> DeploymentSteps:
    """The step model of a deployment that serves a workload: where drafts vary, with those of its classes."""
    deployment = without_idle_windows(with_best_tree(deployment), longest_sequence(workload))
    deployment = with_expected_hit(deployment, workload)
    routed = deployment.speculation.kind != "none" and deployment.speculation.combine.kind == "routed"
    context = expected_context(workload) if deployment.draft_pool is not None else None
    model = step_model_of(deployment, draft_shares(deployment, workload) if routed else None, context)
    shares = drafted_mix(deployment, workload)
    return model if shares is None else _drafted_steps(model, shares)


@lru_cache(maxsize=32)
def _drafted_steps(model: CatalogStepModel, shares: tuple[float, ...]) -> DraftedStepModel:
    return DraftedStepModel(model, shares)


def delivery_of(model: DeploymentSteps) -> tuple[float, int]:
    """Seconds from a client's request to the scheduler, and steps by which tokens come late, by the fitted profile.

    Neither without a profile whose constants were fitted.
    """
    profile = model.target.machine.profile
    if profile is None or not profile.constants.source:
        return 0.0, 0
    return profile.constants.request_host_ms * 1e-3, profile.constants.overlap_steps


def simulate_once(
    scenario: Scenario,
    deployment: str,
    replication: int,
    *,
    rate_per_s: float | None = None,
    concurrency: int | None = None,
    replicas: int | None = None,
    step_by_step: bool = False,
) -> ClusterRecords:
    """Simulate one replication of one deployment of a scenario.

    rate_per_s: offered rate instead of the scenario's (open arrivals, and traces scaled in time). [requests/s]
    concurrency: requests in flight instead of the scenario's (closed loops).
    replicas: number of replicas instead of the deployment's.
    step_by_step: take every engine step on its own; the same records, more slowly.

    Raises ScenarioError when the deployment does not fit into its GPUs.
    """
    scenario = with_best_trees(scenario)
    workload = scenario.workload
    spec = with_expected_hit(scenario.deployments[deployment], workload)
    model = step_times_of(spec, workload)
    request_host_s, overlap_steps = delivery_of(model)
    limits = limits_of(deployment, spec, workload, step_by_step=step_by_step or _coupled(spec))
    limits = limits._replace(overlap_steps=overlap_steps)
    planner = planner_of(spec, limits, list(workload.classes), scenario.seed, replication, workload.temperature)
    plan = ClusterPlan(
        num_replicas=replicas or spec.replicas,
        router=spec.router.kind,
        limits=limits,
        times=without_drafting(model) if _coupled(spec) else model,
        planner=planner,
        request_host_s=request_host_s,
        router_seed=int(acceptance_key(scenario.seed, replication)) ^ 1,
        decoding=_decoding_of(spec, model, planner),
        pool=_shared_pool(spec, model),
    )
    return simulate_cluster(plan, _load(workload, scenario.seed, replication, rate_per_s, concurrency))


@lru_cache(maxsize=32)
def uneven_steps(model: CatalogStepModel) -> UnevenSteps:
    """The same step model for sequences that propose different numbers of draft tokens."""
    return UnevenSteps(model)


def _decoding_of(spec: Deployment, model: DeploymentSteps, planner: PathPlanner) -> MakesDecoding:
    """How the running sequences of a replica get their draft tokens."""
    if planner.drawn:
        return DrawnDecoding
    if drafts_ahead(spec):
        return _ahead_decoding(spec, model, planner)
    assert isinstance(model, CatalogStepModel)
    assert spec.speculation.kind != "none"
    times = uneven_steps(model)
    policy = CHOOSERS[spec.speculation.policy.kind](spec.speculation.policy, times)
    return lambda book, _, limits: AdaptiveDecoding(book, times, limits, planner, policy)


def _ahead_decoding(spec: Deployment, model: DeploymentSteps, planner: PathPlanner) -> MakesDecoding:
    """Drafts that are made ahead; what a step waits for them is a shared pool's to say."""
    pool = model.draft.pool
    assert pool is not None
    assert pool.ahead is not None
    hit, known = pool.ahead.hit, None if _coupled(spec) else pool.ahead
    times = AheadTimes(without_drafting(model) if _coupled(spec) else with_hits(model), known)
    return lambda book, _, limits: AheadDecoding(book, times, limits, planner, hit)


def _coupled(spec: Deployment) -> bool:
    """Whether replicas wait for each other's drafts, so that they are simulated step by step."""
    return spec.draft_pool is not None and spec.draft_pool.shared_by > 1 and spec.speculation.draft_tokens > 0


def _shared_pool(spec: Deployment, model: DeploymentSteps) -> PoolPlan | None:
    if not _coupled(spec):
        return None
    cost, pool = model.draft.pool, spec.draft_pool
    assert cost is not None
    assert pool is not None
    outcomes = cost.ahead.outcomes if cost.ahead is not None else 1
    return PoolPlan(cost, model.draft_tokens, pool.shared_by, outcomes)


def _load(workload: Workload, seed: int, replication: int, rate_per_s: float | None, concurrency: int | None) -> Load:
    arrivals, horizon = workload.arrivals, workload.horizon
    rate = rate_per_s or offered_rate(workload)
    sessions_per_s = None if rate is None else rate / workload.prefix.turns
    plain = request_chunks(workload, seed, replication, rate_per_s if workload.prefix.turns == 1 else sessions_per_s)
    plain = _with_priorities(plain, list(workload.classes), workload.priorities)
    chunks = with_prefixes(plain, workload.prefix, acceptance_key(seed, replication))
    longer = _longer(workload, rate_per_s)
    in_flight = (concurrency or arrivals.concurrency) if arrivals.kind == "closed_loop" else None
    return Load(
        chunks=chunks,
        requests=ceil(horizon.requests * longer),
        warmup_requests=int(horizon.warmup_requests * longer),
        concurrency=in_flight,
        queued_at_once=arrivals.kind == "queued_at_once",
        endless=arrivals.kind not in ("trace", "queued_at_once"),
        max_output_tokens=workload.max_output_tokens,
    )


def _longer(workload: Workload, rate_per_s: float | None) -> float:
    """Factor on the horizon: where bursts or hours have lengths of their own, every rate is run over the same time."""
    stated = offered_rate(workload)
    if rate_per_s is None or stated is None or workload.arrivals.kind not in ("bursty", "diurnal"):
        return 1.0
    return rate_per_s / stated


def _with_priorities(
    chunks: Iterator[RequestChunk], classes: list[str], priorities: Mapping[str, int]
) -> Iterator[RequestChunk]:
    """Priorities of the classes, where the workload states any; a trace's own are left as they are."""
    by_class = np.array([priorities.get(name, 0) for name in classes])
    for chunk in chunks:
        stated = chunk.priority is not None or not priorities
        yield chunk if stated else replace(chunk, priority=by_class[chunk.class_index])
