"""How many requests run on a replica: against laws that are known in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simulator.planning.level_law import level_law

SIZES = np.arange(201)


def mean(law):
    return float(law.running @ np.arange(law.running.size)) + law.mean_waiting


def test_stays_that_do_not_depend_on_the_others_make_a_poisson_law():
    law = level_law(np.full(201, 4.0), num_replicas=1, pooling=1.0)

    assert law.running == pytest.approx(stats.poisson.pmf(SIZES, 4.0), abs=1e-12)
    assert law.found == pytest.approx(law.running)


def test_one_place_is_a_queue_with_one_server():
    law = level_law(np.array([0.6, 0.6]), num_replicas=1, pooling=1.0)

    assert law.running == pytest.approx([0.4, 0.6])
    assert law.mean_waiting == pytest.approx(0.6 * 0.6 / 0.4)


@given(st.floats(0.1, 3.9), st.integers(1, 16))
def test_a_pool_of_replicas_holds_its_poisson_number_level(stays, replicas):
    law = level_law(np.full(201, stays), replicas, pooling=1.0)

    pool = stats.poisson.pmf(np.arange(200 * replicas), stays * replicas)
    fewest = np.bincount(np.arange(200 * replicas) // replicas, pool)
    assert mean(law) == pytest.approx(stays)
    assert law.found[:200] == pytest.approx(fewest, abs=1e-9)


def test_an_arrival_finds_no_more_than_a_replica_has_at_any_time():
    law = level_law(np.linspace(2.0, 12.0, 33), num_replicas=8, pooling=1.0)

    assert (np.cumsum(law.found) >= np.cumsum(law.running) - 1e-12).all()
    assert law.found[-1] <= law.running[-1]


def test_half_a_pool_is_half_way_between_alone_and_level():
    load = np.linspace(2.0, 12.0, 33)
    alone, half, level = (level_law(load, 8, pooling) for pooling in (0.0, 0.5, 1.0))

    assert half.running == pytest.approx((alone.running + level.running) / 2)
    assert half.mean_waiting == pytest.approx((alone.mean_waiting + level.mean_waiting) / 2)


@pytest.mark.parametrize("replicas", [1, 4])
def test_all_chances_add_up_when_arrivals_exceed_the_places(replicas):
    law = level_law(np.full(9, 20.0), replicas, pooling=1.0)

    assert law.running.sum() == pytest.approx(1.0)
    assert law.running[-1] > 0.9
    assert law.mean_waiting > 100.0
