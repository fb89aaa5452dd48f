"""What a deployment costs with inputs moved, by the steady state; what several moves share is computed once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simulator.cluster.plan import limits_of
from simulator.outcome.cost import Bill, Gpus, bill_of, usd_per_million_tokens
from simulator.outcome.report import Row
from simulator.physics.drafted import DeploymentSteps
from simulator.physics.step import StepShape
from simulator.planning.capacity import LoadAxis, load_axis
from simulator.planning.comparison import BY_CAPACITY, BY_LOAD
from simulator.planning.demand import Demand, slowed
from simulator.planning.estimate import steady_cluster
from simulator.planning.moved import Factors, Moved, moved_requests
from simulator.planning.sampled_requests import sample_requests
from simulator.planning.steady_cluster import IDLE, SteadyCluster
from simulator.run import step_times_of, with_best_trees
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

HALF = 0.5
"""Share of the saturation rate near which a capacity is sought where nothing is known of it."""


class Costs(NamedTuple):
    """What a deployment costs, on both bases of a comparison."""

    usd_per_hour: float | None
    """Of the fewest replicas that hold the offered load; None where no number does, or no load is offered."""
    usd_per_million: float | None
    """Output tokens, at the capacity of the deployment as described."""
    replicas: int | None

    def as_json(self) -> dict[str, float | None]:
        """By the names that these figures have in a report row."""
        return {BY_LOAD: self.usd_per_hour, BY_CAPACITY: self.usd_per_million, "replicas_for_offered": self.replicas}

    def on(self, basis: str) -> float | None:
        """The cost by the name of its field in a report row."""
        return self.as_json()[basis]

    def row(self, deployment: str) -> Row:
        """As the fields of a report row by which deployments are ranked."""
        return {"deployment": deployment, **self.as_json()}


def costs_under(
    scenario: Scenario, deployment: str, moves: Sequence[Moved], *, load_alone: bool = False
) -> list[Costs]:
    """What a deployment costs under each of several moves.

    load_alone: whether the cost of the offered load is all that is asked, which takes less than half of the time.

    Raises ScenarioError when it does not fit into its GPUs.
    """
    scenario = with_best_trees(scenario)
    axis = load_axis(scenario.workload, scenario.seed, 0)
    spec, unmoved = scenario.deployments[deployment], steady_cluster(scenario, deployment)
    clusters, found = {_follows_from(Moved(), deployment): unmoved}, list[Costs]()
    share = unmoved.capacity() / unmoved.saturation() or HALF
    for moved in moves:
        key = _follows_from(moved, deployment)
        if moved.prompt_tokens > 1.0 and _too_long(moved_requests(scenario, deployment, moved), deployment):
            found.append(Costs(None, None, None))
            continue
        if key not in clusters:
            clusters[key] = moved_cluster(scenario, deployment, moved)
        near = share * clusters[key].saturation()
        found.append(_costs(clusters[key], near, axis, (spec, moved), load_alone=load_alone))
    return found


def _follows_from(moved: Moved, deployment: str) -> object:
    """What of a move the steady state of a deployment follows from: neither the rate nor prices."""
    speed = moved.step_time.get(deployment, 1.0), moved.bandwidth.get(deployment, 1.0)
    return moved.prompt_tokens, moved.output_tokens, tuple(sorted(moved.odds(deployment).items())), speed


def _too_long(scenario: Scenario, deployment: str) -> bool:
    """Whether the engine takes no request at all, because all prompts are too long for it."""
    limits = limits_of(deployment, scenario.deployments[deployment], scenario.workload)
    return bool(sample_requests(scenario).prompts.min() > limits.longest_prompt)


def moved_cluster(scenario: Scenario, deployment: str, moved: Moved) -> SteadyCluster:
    """The steady state of a deployment with its requests, acceptance and step times moved.

    Raises ScenarioError when it does not fit into its GPUs.
    """
    scenario = moved_requests(scenario, deployment, moved)
    cluster = steady_cluster(scenario, deployment)
    slower, faster_memory = moved.step_time.get(deployment, 1.0), moved.bandwidth.get(deployment, 1.0)
    demand = cluster.demand
    if faster_memory != 1.0:
        demand = with_bandwidth(
            demand, step_times_of(scenario.deployments[deployment], scenario.workload), faster_memory
        )
    if slower != 1.0:
        demand = slowed(demand, slower)
    return cluster if demand is cluster.demand else replace(cluster, demand=demand)


def with_bandwidth(demand: Demand, model: DeploymentSteps, factor: float) -> Demand:
    r"""The same requests where the target's GPUs read their memory faster by a factor.

    .. math:: T'(n) = T(n) - R(n) (1 - 1 / f)

    factor: f on the bandwidth. [ratio]

    R is what a decoding step of n sequences reads: weights, while reading them explains half of the time of the layers
    (as for `bound_by`), and the KV of its context, unless arithmetic binds attention. Prompts and the passes of drafts,
    which mostly wait for arithmetic and for launches, take as long as before. [s]
    """
    read_s = np.array([_read_s(demand, model, int(n)) for n in demand.sequences])
    saved_s = read_s * (1.0 - 1.0 / factor)

    def seconds(shape: StepShape) -> float:
        return demand.seconds(shape) - float(np.interp(shape.sequences, demand.sequences, saved_s))

    return replace(demand, seconds=seconds, decode_s=demand.decode_s - saved_s, prompt_work={})


def _read_s(demand: Demand, model: DeploymentSteps, sequences: int) -> float:
    """Seconds for which a decoding step, and the steps that a policy takes in its place, read memory."""
    if not sequences:
        return 0.0
    chosen = None if demand.chosen is None else demand.chosen.at(sequences)
    queries = 1 + (demand.limits.draft_tokens if chosen is None else round(chosen.draft_tokens))
    layers = model.target.layers(sequences * queries)
    weights_s = layers.reading_s if layers.linear_s + layers.experts_s <= 2.0 * layers.reading_s else 0.0
    _, slope = model.target.decode_attention(sequences, queries)
    kv_s = 0.0 if model.target.bound_by_flops(queries) else slope * sequences * demand.context_tokens
    return (1.0 if chosen is None else chosen.rounds) * (weights_s + kv_s)


def _costs(
    cluster: SteadyCluster, near: float, axis: LoadAxis, what: tuple[Deployment, Moved], *, load_alone: bool
) -> Costs:
    """What a moved cluster costs.

    near: a capacity not far from its own. [requests/s]
    """
    spec, moved = what
    bill, offered = priced(bill_of(spec), spec, moved.price), _offered(cluster, axis, moved.rate)
    if load_alone and offered is not None:
        replicas = cluster.replicas_for(offered, near) if _holds_idle(cluster) else None
        return Costs(None if replicas is None else bill.usd_per_hour(replicas), None, replicas)
    capacity = cluster.capacity(near)
    output_tokens_per_s = capacity * float(cluster.demand.output_tokens.mean())
    replicas = None if offered is None else cluster.replicas_for(offered, capacity)
    return Costs(
        usd_per_hour=None if replicas is None else bill.usd_per_hour(replicas),
        usd_per_million=usd_per_million_tokens(bill.usd_per_hour(spec.replicas), output_tokens_per_s),
        replicas=replicas,
    )


def _holds_idle(cluster: SteadyCluster) -> bool:
    """Whether any number of replicas holds: with many of them each is nearly idle."""
    return cluster.pressure(IDLE * cluster.saturation()) <= 1.0


def _offered(cluster: SteadyCluster, axis: LoadAxis, factor: float) -> float | None:
    """Requests per second that are offered; of a closed loop those that its clients bring; None for a batch."""
    if axis.offered is None:
        return None
    load = axis.offered * factor
    return load if axis.kind == "rate" else cluster.offered(axis.kind, load).rate_per_s


def priced(bill: Bill, spec: Deployment, factors: Factors) -> Bill:
    """A bill with factors on the prices of its GPUs.

    factors: GPU → factor. [ratio]
    """

    def moved(gpus: Gpus, gpu: str) -> Gpus:
        return replace(gpus, usd_per_gpu_hour=gpus.usd_per_gpu_hour * factors.get(gpu, 1.0))

    pool = None if bill.pool is None else moved(bill.pool, spec.draft_gpu)
    return replace(bill, replica=moved(bill.replica, spec.gpu), pool=pool)
