import pytest

from simulator.outcome.slo import verdict
from simulator.planning.estimate import steady_cluster
from simulator.planning.search.asked import ratios_at
from simulator.planning.search.bounds import bound_of
from simulator.planning.steady_cluster import IDLE
from simulator.planning.steady_state import saturation_rate
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario
from tests.simulator.outcome import specs
from tests.simulator.planning.search import small

KINDS = {
    "plain": {},
    "drafts": {"speculation": specs.MODELLED_DRAFTS},
    "b200": small.B200,
    "wide": {"target": {"model": "llama-3.1-8b", "weights": "fp8", "tensor_parallel": 4}},
}
SCENARIO = small.scenario(KINDS)


def bound(scenario: Scenario, name: str):
    return bound_of(steady_cluster(scenario, name).demand, scenario.slo)


@pytest.mark.parametrize("name", KINDS)
def test_no_replica_is_estimated_to_serve_more_than_its_bound(name):
    demand = steady_cluster(SCENARIO, name).demand

    assert saturation_rate(demand) < bound(SCENARIO, name).replica_req_per_s < 3 * saturation_rate(demand)


@pytest.mark.parametrize("name", KINDS)
def test_a_lone_request_is_faster_than_those_of_an_idle_cluster(name):
    cluster = steady_cluster(SCENARIO, name)
    idle = ratios_at(cluster, IDLE * cluster.saturation())

    ratios = bound(SCENARIO, name).ratios

    assert all(0.5 * idle[limit] < ratios[limit] < idle[limit] for limit in ("ttft_s.p95", "tpot_s.p95"))


@pytest.mark.parametrize("name", KINDS)
def test_nothing_holds_in_simulation_above_its_bound(name):
    rate = bound(SCENARIO, name).replica_req_per_s

    records = simulate_once(SCENARIO, name, 0, rate_per_s=1.05 * rate)

    assert not verdict(records, None, open_loop=True).holds


@pytest.mark.parametrize("metric", ["ttft_s", "tpot_s", "itl_s", "e2e_s"])
def test_each_limit_has_a_bound_that_tells_what_misses_it(metric):
    tight = small.scenario(slo={metric: {"p95": 1e-4}})
    loose = small.scenario(slo={metric: {"p95": 100.0}})

    assert bound(tight, "plain").misses == f"{metric}.p95"
    assert bound(loose, "plain").misses is None


def test_without_limits_nothing_is_missed():
    assert bound(small.scenario(slo=None), "plain").misses is None


def test_room_for_more_sequences_never_lowers_the_bound():
    rates = [bound(small.scenario(max_num_seqs=n), "plain").replica_req_per_s for n in (1, 4, 16, 64)]

    assert rates == sorted(rates)


def test_outputs_of_one_token_need_no_decoding():
    workload = small.scenario().workload.model_dump(mode="json") | {
        "lengths": {"kind": "fixed", "prompt_tokens": 300, "output_tokens": 1}
    }
    slo = {metric: {"p95": 1e-4} for metric in ("tpot_s", "itl_s")}

    found = bound(small.scenario(workload=workload, slo=slo), "plain")

    assert found.ratios == {"tpot_s.p95": 0.0, "itl_s.p95": 0.0}
    assert 0 < found.replica_req_per_s < float("inf")
