"""A capacity that is sought from near by is the one that is sought from afar."""

from dataclasses import replace

import pytest

from scenarios.load import load_scenario
from simulator.planning.demand import slowed
from simulator.planning.estimate import steady_cluster
from simulator.planning.steady_cluster import RATE_TOLERANCE, fewest_below

CHAT = load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture(scope="module")
def cluster():
    return steady_cluster(CHAT, "h200-spec")


@pytest.mark.parametrize("off_by", [0.05, 0.8, 1.0, 1.2, 50.0])
def test_where_a_search_begins_does_not_matter(cluster, off_by):
    sought = replace(cluster).capacity()

    assert replace(cluster).capacity(near=sought * off_by) == pytest.approx(sought, rel=2 * RATE_TOLERANCE)


def test_a_capacity_is_that_of_its_own_cluster(cluster):
    capacity = cluster.capacity()

    slower = replace(cluster, demand=slowed(cluster.demand, 1.2))

    assert slower.capacity(near=capacity / 1.2) < capacity
    assert replace(cluster, num_replicas=2 * cluster.num_replicas).capacity() > 1.5 * capacity


def test_the_fewest_replicas_of_a_large_load_hold_it_and_one_less_does_not(cluster):
    load = 40 * cluster.capacity()

    count = cluster.replicas_for(load, cluster.capacity())

    assert cluster.with_replicas(count).holds(load)
    assert not cluster.with_replicas(count - 1).holds(load)


@pytest.mark.parametrize("fewest", [1, 99_999, 100_000, 62_345])
def test_the_fewest_of_very_many_are_found_in_few_looks(fewest):
    looks: list[int] = []

    found = fewest_below(100_000, 1, lambda count: looks.append(count) or count >= fewest)

    assert found == fewest
    assert len(looks) < 40
