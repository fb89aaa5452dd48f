import numpy as np
import pytest

from simulator.cluster.records import ClusterRecords
from simulator.outcome.saturation import saturated
from tests.simulator.outcome import toys


def m_m_1(load: float, measured: int, seed: int, warmup: int = 200) -> ClusterRecords:
    rng = np.random.default_rng(seed)
    count = measured + warmup
    arrival = np.cumsum(rng.standard_exponential(count)) / load
    start, finish = toys.queue(arrival, rng.standard_exponential(count))
    none = np.empty(0)
    return ClusterRecords(
        toys.requests(arrival, start, start, finish), toys.steps(none, none, none), 100, 1, 0, slice(warmup, count)
    )


def share_saturated(load: float, measured: int, seeds: int = 60) -> float:
    return float(np.mean([saturated(m_m_1(load, measured, seed), open_loop=True) for seed in range(seeds)]))


@pytest.mark.parametrize("measured", [1000, 3000])
def test_a_stable_queue_at_load_08_is_not_saturated(measured):
    assert share_saturated(0.8, measured) == 0.0


def test_an_overloaded_queue_is_saturated():
    assert share_saturated(1.1, 1000) >= 0.88
    assert share_saturated(1.1, 3000) >= 0.95
    assert share_saturated(1.5, 1000) == 1.0


def test_twice_the_load_of_a_server_is_seen_in_a_short_run():
    assert saturated(m_m_1(2.0, 60, seed=1, warmup=0), open_loop=True)


def test_a_closed_loop_is_never_saturated():
    assert not saturated(m_m_1(1.5, 1000, seed=1), open_loop=False)


def test_a_handful_of_requests_proves_nothing():
    assert not saturated(m_m_1(3.0, 8, seed=1, warmup=0), open_loop=True)


def filling_batch(slowdown: float) -> ClusterRecords:
    """Nobody waits; every request stays to the end, and the later it came the longer a token takes."""
    arrival = np.arange(1.0, 301.0)
    per_request = np.linspace(400.0, 400.0 * slowdown, 300)
    none = np.empty(0)
    columns = toys.requests(arrival, arrival, arrival, arrival + per_request)
    return ClusterRecords(columns, toys.steps(none, none, none), 100, 1, 0, slice(0, 300))


def test_a_batch_that_fills_without_slowing_down_is_not_saturated():
    assert not saturated(filling_batch(1.1), open_loop=True)


def test_a_batch_that_overfills_is_saturated_though_nobody_waits():
    assert saturated(filling_batch(3.0), open_loop=True)


def test_rejected_requests_are_no_backlog():
    records = m_m_1(0.5, 1000, seed=1)
    requests = records.requests
    requests.rejected[::3] = True
    requests.scheduled_s[::3] = requests.finish_s[::3] = np.nan

    assert not saturated(records, open_loop=True)
