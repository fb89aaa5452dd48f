"""The simulation against queueing theory: a replica made so simple that the answer is known."""

from math import factorial

import numpy as np
import pytest

from simulator.cluster.records import ClusterRecords
from tests.simulator.cluster.toys import LinearTimes, fixed_lengths, make_plan, poisson_chunks, simulate

Z_999 = 3.29
"""Half-width of a 99.9 % interval in standard errors."""


def mean_over_replications(measure, replications=20):
    """Mean and its standard error over independent replications."""
    values = np.array([measure(seed) for seed in range(replications)])
    return values.mean(), values.std(ddof=1) / np.sqrt(replications)


def waits(records: ClusterRecords) -> float:
    measured = records.measured
    return float((records.requests.scheduled_s - records.requests.arrival_s)[measured].mean())


@pytest.mark.parametrize(
    "load", [pytest.param(0.3, marks=pytest.mark.slow), 0.7, pytest.param(0.85, marks=pytest.mark.slow)]
)
def test_fixed_service_one_at_a_time_is_m_d_1(load):
    plan = make_plan(LinearTimes(1.0), max_num_seqs=1)

    mean, error = mean_over_replications(
        lambda seed: waits(simulate(plan, poisson_chunks(load, fixed_lengths(1, 1), seed), 4000, 400))
    )

    assert mean == pytest.approx(load / (2 * (1 - load)), abs=Z_999 * error)


@pytest.mark.parametrize(
    "load", [pytest.param(0.3, marks=pytest.mark.slow), 0.7, pytest.param(0.85, marks=pytest.mark.slow)]
)
def test_exponential_service_one_at_a_time_is_m_m_1(load):
    def exponential(rng, count):
        return np.maximum(np.rint(rng.standard_exponential(count) * 10_000), 1).astype(np.int64), np.ones(
            count, np.int64
        )

    plan = make_plan(
        LinearTimes(0.0, prompt_token_s=1e-4), max_num_seqs=1, max_model_len=10**7, kv_blocks=10**6,
        max_num_batched_tokens=10**7,
    )  # fmt: skip

    mean, error = mean_over_replications(
        lambda seed: waits(simulate(plan, poisson_chunks(load, exponential, seed), 4000, 400))
    )

    assert mean == pytest.approx(load / (1 - load), abs=Z_999 * error)


def erlang_c_wait(servers: int, load: float, service_s: float) -> float:
    """Mean wait of M/M/c at a utilisation (Erlang C)."""
    offered = servers * load
    tail = offered**servers / factorial(servers) / (1 - load)
    waiting = tail / (sum(offered**k / factorial(k) for k in range(servers)) + tail)
    return waiting * service_s / (servers * (1 - load))


@pytest.mark.parametrize(("servers", "load"), [(4, 0.7), (8, 0.85)])
def test_places_in_a_batch_with_constant_steps_are_the_servers_of_m_m_c(servers, load):
    step_s, tokens = 0.001, 1000
    service_s = step_s * tokens

    def geometric(rng, count):
        return np.ones(count, np.int64), rng.geometric(1 / tokens, count)

    plan = make_plan(LinearTimes(step_s), max_num_seqs=servers, max_model_len=10**6, kv_blocks=10**6)
    rate = servers * load / service_s

    mean, error = mean_over_replications(
        lambda seed: waits(simulate(plan, poisson_chunks(rate, geometric, seed), 4000, 400))
    )

    until_next_step = step_s
    assert mean == pytest.approx(erlang_c_wait(servers, load, service_s), abs=Z_999 * error + until_next_step)


def test_littles_law_holds_for_requests_in_the_system():
    plan = make_plan(LinearTimes(0.01, prompt_token_s=2e-5, sequence_s=2e-4), survival=(0.8, 0.6), replicas=2)
    records = simulate(plan, poisson_chunks(20.0, fixed_lengths(300, 120), 4), 6000, 0)
    requests = records.requests
    window = slice(500, 5500)
    begin, end = requests.arrival_s[500], requests.arrival_s[5500]

    ended = np.isfinite(requests.finish_s)
    overlap = np.clip(np.minimum(requests.finish_s[ended], end) - np.maximum(requests.arrival_s[ended], begin), 0, None)
    in_system = overlap.sum() / (end - begin)
    rate = 5000 / (end - begin)
    stay = (requests.finish_s - requests.arrival_s)[window].mean()
    assert in_system == pytest.approx(rate * stay, rel=0.01)
