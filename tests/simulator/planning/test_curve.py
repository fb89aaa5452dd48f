import pytest

from simulator.planning.curve import MOST_REQUESTS, loads_to_fill, shortened
from simulator.planning.study import study
from tests.simulator.outcome import specs, toys

SLO = {"ttft_s": {"p95": 0.3}}


def evidence(**changes):
    return study(specs.scenario(slo=SLO, **changes), simulate=toys.simulate).evidence["plain"]


def test_loads_near_those_that_were_tried_are_not_simulated_again():
    assert loads_to_fill(10.0, [2.1, 3.9, 6.0, 8.0, 9.3], whole=False) == [11.0]


def test_clients_come_whole_and_once():
    assert loads_to_fill(3.0, [], whole=True) == [1.0, 2.0, 3.0]


def test_without_a_capacity_there_is_no_curve():
    assert loads_to_fill(0.0, [5.0], whole=False) == []


def test_a_short_run_is_never_longer_than_the_scenario():
    longer = specs.workload({"kind": "poisson", "rate_per_s": 6.0}, requests=50_000, warmup=5000)

    assert shortened(specs.scenario()) == specs.scenario()
    assert shortened(specs.scenario(workload=longer)).workload.horizon.requests == MOST_REQUESTS


def test_a_study_keeps_every_load_that_it_tried_and_low_ones_of_the_first_replication():
    found = evidence()

    first = [trial["load"] for trial in found["trials"] if trial["replication"] == 0]
    others = [trial["load"] for trial in found["trials"] if trial["replication"] == 1]
    assert min(first) < 2.0 < min(others)
    assert 6.0 in first
    assert 6.0 in others
    assert found["run"]["quantiles"]["ttft_s"]


def test_a_batch_has_one_load_and_no_curve():
    found = evidence(workload=specs.workload({"kind": "queued_at_once"}, requests=50, warmup=0))

    assert found["trials"] == []
    assert found["run"]["timeline"]["end_s"] == pytest.approx(5.0)
