"""Queues whose behaviour is known from theory, written down as the records of a cluster."""

from heapq import heappop, heappush

import numpy as np

from simulator.cluster.records import ClusterRecords, Floats, Ints, RequestColumns, StepColumns
from simulator.physics.step import StepCost, StepShape
from simulator.spec.scenario import Scenario

STEP_S = 0.01


class FlatCosts:
    """A step costs 4 ms in linear layers, 5 ms in the draft if there is one, and 10 µs for each context token."""

    def cost(self, shape: StepShape) -> StepCost:
        return StepCost(
            linear_s=0.004,
            attention_s=1e-5 * shape.context_tokens,
            prefill_attention_s=1e-6 * shape.prefill_context_tokens,
            draft_s=0.005 if shape.draft_tokens else 0.0,
        )

    def seconds(self, shape: StepShape) -> float:
        return self.cost(shape).total_s

    def bound_by(self, cost: StepCost, shape: StepShape) -> str:
        return "draft" if cost.draft_s > cost.linear_s else "weight_bandwidth"

    def draft_ratios(self, sequences: int, context_tokens: float) -> tuple[float, float]:
        return 0.1, 0.2 + 1e-3 * sequences + 1e-5 * context_tokens


def requests(arrival: Floats, scheduled: Floats, first: Floats, finish: Floats, **columns: object) -> RequestColumns:
    """Request columns of which only the times matter, unless others are given."""
    zeros = np.zeros(arrival.size, np.int64)
    defaults = {
        "prompt_tokens": zeros + 100, "output_tokens": zeros + 10, "class_index": zeros, "replica": zeros,
        "steps": zeros + 9, "drafted_tokens": zeros, "committed_tokens": zeros + 9, "accepted_tokens": zeros,
        "preemptions": zeros, "cached_tokens": zeros, "rejected": zeros > 0, "truncated": zeros > 0,
    }  # fmt: skip
    others = dict.fromkeys(list(RequestColumns.__dataclass_fields__)[4:], zeros)
    own = {name: np.array(column) for name, column in (others | defaults | columns).items()}
    return RequestColumns(arrival, scheduled, first, finish, **own)  # type: ignore[arg-type]


def steps(start: Floats, duration: Floats, num_steps: Ints, **columns: object) -> StepColumns:
    """Step columns of one sequence that decodes a token a step, unless said otherwise."""
    zeros = np.zeros(start.size, np.int64)
    defaults = {
        "replica": zeros, "sequences": zeros + 1, "context_tokens": zeros + 100.0, "prefill_sequences": zeros,
        "prefill_tokens": zeros, "prefill_context_tokens": zeros + 0.0, "emitted_tokens": num_steps,
        "kv_blocks": zeros + 10.0, "waiting": zeros, "blocked_by": zeros,
    }  # fmt: skip
    others = {
        name: zeros for name in StepColumns.__dataclass_fields__ if name not in ("start_s", "duration_s", "num_steps")
    }
    return StepColumns(
        start_s=start,
        duration_s=duration,
        num_steps=num_steps,
        **(others | defaults | columns),  # type: ignore[arg-type]
    )


def queue(arrivals: Floats, service_s: Floats, servers: int = 1) -> tuple[Floats, Floats]:
    """Start and finish of each customer of a first-come queue with equal servers."""
    free = [0.0] * servers
    start = np.empty(arrivals.size)
    for i, arrival in enumerate(arrivals.tolist()):
        start[i] = max(arrival, heappop(free))
        heappush(free, start[i] + float(service_s[i]))
    return start, start + service_s


def toy_cluster(
    rate_per_s: float, requests_: int = 400, warmup: int = 100, servers: int = 1, seed: int = 1, step_s: float = STEP_S
) -> ClusterRecords:
    """A first-come queue in which each request is served alone: a prompt step, then nine more tokens, a step each."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.standard_exponential(requests_)) / rate_per_s
    return served_alone(arrival, warmup, servers, step_s)


def served_alone(arrival: Floats, warmup: int, servers: int, step_s: float) -> ClusterRecords:
    service = np.full(arrival.size, 10 * step_s)
    start, finish = queue(arrival, service, servers)
    ones = np.ones(arrival.size, np.int64)
    times = np.concatenate((start, start + step_s))
    prompts = np.concatenate((ones, 0 * ones))
    return ClusterRecords(
        requests(arrival, start, start + step_s, finish),
        steps(
            times, np.concatenate((ones * step_s, 9 * ones * step_s)), np.concatenate((ones, 9 * ones)),
            sequences=1 - prompts, prefill_sequences=prompts, prefill_tokens=100 * prompts,
        ),
        kv_blocks_total=100, num_replicas=servers, draft_tokens=0, measured=slice(warmup, arrival.size),
    )  # fmt: skip


def simulate(
    scenario: Scenario, deployment: str, replication: int, *,
    rate_per_s: float | None = None, concurrency: int | None = None, replicas: int | None = None,
) -> ClusterRecords:  # fmt: skip
    """What simulate_once does, on queues: a GPU serves a request in 0.1 s, one named b200-sxm in half of that."""
    spec, workload = scenario.deployments[deployment], scenario.workload
    count, warmup = workload.horizon.requests, workload.horizon.warmup_requests
    servers = replicas or spec.replicas
    step_s = STEP_S * (0.5 if spec.gpu == "b200-sxm" else 1.0)
    seed = scenario.seed + 1000 * replication
    if workload.arrivals.kind == "queued_at_once":
        return served_alone(np.zeros(count), warmup, servers, step_s)
    if workload.arrivals.kind == "closed_loop":
        clients = concurrency or workload.arrivals.concurrency
        return served_alone(_closed_loop(count, clients, servers, 10 * step_s), warmup, servers, step_s)
    rate = rate_per_s or getattr(workload.arrivals, "rate_per_s", None)
    assert rate is not None
    return toy_cluster(rate, count, warmup, servers, seed, step_s)


def _closed_loop(count: int, clients: int, servers: int, service_s: float) -> Floats:
    """Arrivals of clients that send their next request when their last one ends."""
    arrivals, ready, free = [], [0.0] * clients, [0.0] * servers
    for _ in range(count):
        arrivals.append(heappop(ready))
        finish = max(arrivals[-1], heappop(free)) + service_s
        heappush(free, finish)
        heappush(ready, finish)
    return np.array(arrivals)
