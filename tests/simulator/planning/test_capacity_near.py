"""A capacity that is sought from near by is the one that is sought from afar."""

from dataclasses import replace

import pytest

from scenarios.load import load_scenario
from simulator.planning.demand import slowed
from simulator.planning.estimate import steady_cluster
from simulator.planning.steady_cluster import RATE_TOLERANCE

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
