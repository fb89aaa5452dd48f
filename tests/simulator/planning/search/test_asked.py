import pytest

from simulator.errors import ScenarioError
from simulator.planning.estimate import steady_cluster
from simulator.planning.search.asked import Asked, asked_of, at_rate, rate_of_users, ratios_at
from simulator.planning.steady_cluster import pressure
from simulator.spec.plan import Users
from tests.simulator.outcome import specs
from tests.simulator.planning.search import small


def users(count: int, think_s: float) -> dict[str, object]:
    return {"users": {"count": count, "think_s": think_s}}


def test_the_load_is_the_workloads_own_rate():
    assert asked_of(small.scenario(rate_per_s=7.0), small.question()) == Asked(7.0, None, 0.0)


def test_headroom_asks_for_a_larger_rate_than_comes():
    assert Asked(8.0, None, headroom=0.2).needed(8.0) == pytest.approx(10.0)


def test_clients_of_a_closed_loop_are_told_to_be_users():
    workload = specs.workload({"kind": "closed_loop", "concurrency": 64})

    with pytest.raises(ScenarioError, match=r"workload.arrivals: .*plan.users \{count: 64, think_s: 0\}"):
        asked_of(specs.scenario(workload=workload), small.question())


def test_a_batch_states_no_load():
    workload = specs.workload({"kind": "queued_at_once"})

    with pytest.raises(ScenarioError, match="give a rate_per_s"):
        asked_of(specs.scenario(workload=workload), small.question())


@pytest.mark.parametrize("think_s", [0.0, 2.0, 60.0])
def test_users_think_or_wait(think_s):
    cluster = steady_cluster(small.scenario(), "plain").with_replicas(4)

    rate = rate_of_users(cluster, Users(count=40, think_s=think_s))

    assert rate is not None
    assert rate * (think_s + cluster.at(rate).latencies.e2e_s.mean()) == pytest.approx(40, rel=0.01)


def test_users_who_think_longer_send_less():
    cluster = steady_cluster(small.scenario(), "plain")

    rates = [rate_of_users(cluster, Users(count=10, think_s=think_s)) for think_s in (0.0, 1.0, 10.0)]

    assert rates == sorted(rates, reverse=True)


def test_more_users_than_a_cluster_serves_have_no_rate():
    cluster = steady_cluster(small.scenario(), "plain")

    assert rate_of_users(cluster, Users(count=100_000, think_s=1.0)) is None


def test_no_cluster_holds_users_that_it_cannot_serve():
    asked = asked_of(small.scenario(), small.question(**users(100_000, 1.0)))

    assert not asked.holds(steady_cluster(small.scenario(), "plain"))


def test_users_send_no_more_than_to_an_idle_cluster():
    asked = asked_of(small.scenario(), small.question(**users(40, 5.0)))
    cluster = steady_cluster(small.scenario(), "plain").with_replicas(4)

    assert asked.offered(cluster) <= asked.most(cluster) * 1.01


def test_another_rate_leaves_everything_else():
    scenario = small.scenario(rate_per_s=5.0)

    assert at_rate(scenario, 9.0) == small.scenario(rate_per_s=9.0)
    assert at_rate(scenario, 5.0) is scenario


def test_the_largest_ratio_is_the_pressure():
    cluster = steady_cluster(small.scenario(), "plain")

    ratios = ratios_at(cluster, 10.0)

    assert list(ratios) == ["ttft_s.p95", "tpot_s.p95"]
    assert max(ratios.values()) == pytest.approx(pressure(cluster.at(10.0), cluster.slo))
