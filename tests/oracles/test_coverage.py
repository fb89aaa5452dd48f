"""How often a 95 % interval over replications holds the truth: 200 trials on a queue whose truth is known."""

import numpy as np
import pytest

from simulator.outcome.interval import t_interval
from simulator.outcome.latency import request_latencies, summarise
from tests.simulator.cluster.toys import LinearTimes, fixed_lengths, make_plan, poisson_chunks, simulate

TRIALS, REPLICATIONS = 200, 5
LOAD, REQUESTS, WARMUP = 0.6, 1600, 200
SERVICE_S = 1.0


def long_run_waits(customers, seed=99):
    """Waits of an M/D/1 queue by Lindley's recursion, which knows nothing of the simulator."""
    gaps = np.random.default_rng(seed).standard_exponential(customers) / LOAD
    walk = np.concatenate(([0.0], np.cumsum(SERVICE_S - gaps)))
    return (walk - np.minimum.accumulate(walk))[1000:]


@pytest.fixture(scope="module")
def truth():
    """Mean and p95 of TTFT: the wait and one step."""
    waits = long_run_waits(4_000_000)
    return {"mean": waits.mean() + SERVICE_S, "p95": float(np.quantile(waits, 0.95)) + SERVICE_S}


def ttft(seed):
    plan = make_plan(LinearTimes(SERVICE_S), max_num_seqs=1)
    records = simulate(plan, poisson_chunks(LOAD, fixed_lengths(1, 1), seed), REQUESTS, WARMUP)
    return summarise(request_latencies(records.requests).ttft_s[records.measured])


def test_the_long_run_agrees_with_the_formula(truth):
    assert truth["mean"] - SERVICE_S == pytest.approx(LOAD / (2 * (1 - LOAD)), rel=0.01)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(truth):
    held = {"mean": 0, "p95": 0}
    for trial in range(TRIALS):
        found = [ttft(1000 + REPLICATIONS * trial + number) for number in range(REPLICATIONS)]
        for name in held:
            low, high = t_interval([summary[name] for summary in found])
            held[name] += low <= truth[name] <= high

    coverage = {name: count / TRIALS for name, count in held.items()}
    assert all(0.92 <= share <= 0.98 for share in coverage.values()), coverage
