from dataclasses import replace

import numpy as np
import pytest

from simulator.outcome.warmup import BATCH, WarmUp, mser, warm_up
from tests.simulator.outcome import toys


def noise(size, seed=0):
    return np.random.default_rng(seed).normal(size=size)


def direct(values, batch=BATCH):
    """The definition, one cut after the other."""
    number = values.size // batch
    means = values[: number * batch].reshape(number, batch).mean(axis=1)
    error = [((means[d:] - means[d:].mean()) ** 2).sum() / (number - d) ** 2 for d in range(number - 5)]
    cut = int(np.argmin(error))
    return cut * batch if cut <= number // 2 else None


@pytest.mark.parametrize("length", [0, 50, 200, 400])
def test_a_step_down_is_found_where_it_ends(length):
    values = np.concatenate((np.full(length, 20.0), np.full(1000 - length, 5.0))) + noise(1000)

    assert length <= mser(values) <= length + 50


@pytest.mark.parametrize("seed", range(5))
def test_the_sums_agree_with_the_definition(seed):
    values = np.exp(-np.arange(300) / 40) * 10 + noise(300, seed)

    assert mser(values) == direct(values)


def test_a_curve_that_settles_is_cut_before_it_looks_flat():
    cut = mser(10 * np.exp(-np.arange(2000) / 50) + noise(2000))

    assert 60 < cut < 300


@pytest.mark.parametrize("values", [np.arange(400.0), np.arange(400.0) ** 2, np.ones(49)])
def test_what_never_settles_or_is_too_short_has_no_answer(values):
    assert mser(values) is None


def test_a_constant_needs_no_warm_up():
    assert mser(np.full(500, 3.0)) == 0


def test_a_closed_loop_is_steady_once_its_clients_are_in():
    arrival = np.concatenate((np.zeros(64), np.arange(1, 537) * 0.1))
    first = arrival + np.concatenate((np.linspace(0.5, 3.0, 64), np.full(536, 0.5)))
    records = toys.toy_cluster(5.0, 600)

    def found(warmup):
        requests = toys.requests(arrival, arrival, first, arrival + 6.4)
        return warm_up(replace(records, requests=requests, measured=slice(warmup, 600)), "closed_loop")

    assert found(20) == WarmUp(pytest.approx(64, abs=5), True)
    assert found(100) == WarmUp(pytest.approx(64, abs=5), False)


def slowed(length, warmup, requests=3000):
    """A queue whose first requests are served more slowly."""
    arrival = np.cumsum(np.random.default_rng(5).standard_exponential(requests)) / 5.0
    service = np.full(requests, 0.1)
    service[:length] *= 1.9
    start, finish = toys.queue(arrival, service)
    return replace(
        toys.toy_cluster(5.0, requests), requests=toys.requests(arrival, start, start + 0.01, finish),
        measured=slice(warmup, requests),
    )  # fmt: skip


def test_a_warm_up_that_is_too_short_is_told_with_the_request_where_the_run_is_steady():
    found = warm_up(slowed(800, warmup=100), "poisson")

    assert found.too_short
    assert found.found_requests == pytest.approx(800, abs=150)


def test_one_that_is_long_enough_is_not():
    assert not warm_up(slowed(800, warmup=1000), "poisson").too_short


def test_a_majority_of_replications_of_a_steady_queue_never_complains():
    short = np.array([warm_up(toys.toy_cluster(8.0, 2000, 200, seed=seed), "poisson").too_short for seed in range(50)])

    assert short.mean() < 0.2
    assert (short.reshape(10, 5).sum(axis=1) < 3).all()


@pytest.mark.parametrize("kind", ["trace", "diurnal", "queued_at_once"])
def test_arrivals_that_change_in_time_have_no_steady_state(kind):
    assert warm_up(slowed(800, warmup=100), kind) == WarmUp(None, False)


def test_a_saturated_run_has_none_either():
    assert warm_up(slowed(800, warmup=100), "poisson", saturated=True) == WarmUp(None, False)


def test_a_handful_of_requests_says_nothing():
    assert warm_up(toys.toy_cluster(5.0, 30, 5), "poisson") == WarmUp(None, False)


def test_rejected_requests_count_as_positions_but_not_as_samples():
    records = slowed(800, warmup=100)
    records.requests.first_token_s[::2] = np.nan
    records.requests.finish_s[::2] = np.nan

    found = warm_up(records, "poisson").found_requests

    assert found == pytest.approx(800, abs=200)


def test_drift_through_the_whole_run_is_a_warm_up_that_does_not_end():
    arrival = np.arange(1000) * 1.0
    wait = np.linspace(0.0, 0.5, 1000)
    records = replace(
        toys.toy_cluster(5.0, 1000), measured=slice(100, 1000),
        requests=toys.requests(arrival, arrival + wait, arrival + wait + 0.01, arrival + wait + 0.1),
    )  # fmt: skip

    assert warm_up(records, "constant") == WarmUp(None, True)
