from dataclasses import replace
from math import inf

from simulator.planning.search.appraisal import Appraisal, Estimated
from simulator.planning.search.confirm import confirm, confirmed, settled
from simulator.planning.search.rivals import Confirmed, rivals_of
from tests.simulator.outcome import specs, toys
from tests.simulator.planning.search import small

SLO = {"ttft_s": {"p95": 0.3}}

FEWER_PLACES = {"policy": "vllm", "max_model_len": 4096, "max_num_seqs": 8}

OF_OTHER_KINDS = {
    "plain": {},
    "kv": {"target": {"model": "llama-3.1-8b", "weights": "fp8"}},
    "weights": {"target": {"model": "llama-3.1-8b", "weights": "bf16"}},
}


def field(deployments=None, rate_per_s: float = 30.0, **said):
    """Candidates whose replicas serve 10 requests/s in simulation, 20 on a B200."""
    workload = specs.workload({"kind": "poisson", "rate_per_s": rate_per_s})
    scenario = specs.scenario(deployments, workload=workload, slo=SLO, replications=3)
    return replace(small.field(scenario, **said), simulate=toys.simulate)


def estimated(replicas: int, hopeful: int | None = None, utilisation: float = 0.9) -> Estimated:
    row = {"utilisation": utilisation, "ttft_s": {"p95": 0.1}}
    return Estimated(replicas, hopeful or replicas, 30.0, row)


def least(of, found) -> float:
    return rivals_of(of, {}, found).least_cost()


def appraised(**of: Estimated) -> dict[str, Appraisal]:
    return {name: Appraisal(estimated=one, asked=True) for name, one in of.items()}


def test_simulation_finds_the_fewest_replicas_whatever_the_estimate_said():
    sizes = [confirm(field(), "plain", estimated(start)).replicas for start in (1, 4, 9)]

    assert len(set(sizes)) == 1
    assert 3 < sizes[0] < 6


def test_one_replica_less_was_simulated_and_does_not_hold():
    found = confirm(field(), "plain", estimated(4))

    assert found.replicas is not None
    assert found.sizes[found.replicas].holds
    assert not found.sizes[found.replicas - 1].holds


def test_a_size_that_held_by_luck_is_found_out_by_all_of_its_replications():
    def lucky_at_first(scenario, deployment, replication, **load):
        return toys.simulate(scenario, deployment, replication, rate_per_s=90.0 if replication > 3 else 10.0)

    of = replace(field(), simulate=lucky_at_first)
    found = confirm(of, "plain", estimated(4))

    surely = settled(of, "plain", estimated(4), found)

    assert not surely.sizes[found.replicas].holds
    assert surely.replicas == found.replicas + 1


def test_a_size_that_holds_in_full_stays():
    found = confirm(field(), "plain", estimated(4))

    surely = settled(field(), "plain", estimated(4), found)

    assert (surely.replicas, surely.sizes[surely.replicas].replications_left) == (found.replicas, 0)


def test_an_estimate_over_the_budget_is_tried_within_it():
    enough = confirm(field(), "plain", estimated(4)).replicas

    assert confirm(field(budget={"gpus": enough}), "plain", estimated(enough + 3)).replicas == enough


def test_what_is_over_the_budget_is_not_simulated():
    found = confirm(field(budget={"gpus": 2}), "plain", estimated(2))

    assert found.replicas is None
    assert max(found.sizes) == 2


def test_figures_come_with_the_answer_and_without_one_there_are_none():
    assert confirm(field(), "plain", estimated(4)).row["ttft_s"]["p95"] <= 0.3
    assert confirm(field(budget={"gpus": 2}), "plain", estimated(2)).row is None


def test_headroom_is_left_free_in_simulation_too():
    roomy = confirm(field(headroom=0.5), "plain", estimated(4))

    assert roomy.replicas > 1.6 * confirm(field(), "plain", estimated(4)).replicas
    assert roomy.row["offered_req_per_s"] == 30.0


def test_the_cheapest_by_hope_is_tried_first_and_a_dearer_one_only_if_it_may_cost_less():
    two = {"h200": {}, "b200": {"gpu": "b200-sxm", "price": 30.0}}

    found = confirmed(field(two, confirm=1), appraised(h200=estimated(4), b200=estimated(2)), {})

    assert list(found) == ["h200"]


def test_a_rival_that_the_estimate_puts_too_high_still_wins():
    two = {"h200": {}, "b200": {"gpu": "b200-sxm", "price": 4.5}}

    found = confirmed(field(two), appraised(h200=estimated(4), b200=estimated(4, hopeful=2)), {})

    assert least(field(two), found) == 4.5 * found["b200"].replicas < 3.0 * found["h200"].replicas


def test_no_more_candidates_are_simulated_than_asked_for():
    hopes = {name: estimated(4, hopeful=2) for name in OF_OTHER_KINDS}

    found = confirmed(field(OF_OTHER_KINDS, confirm=2), appraised(**hopes), {})

    assert len(found) == 2


def test_with_nothing_to_confirm_nothing_is_simulated():
    zero = replace(field(), question=small.question().model_copy(update={"confirm": 0}))

    assert confirmed(zero, appraised(plain=estimated(4)), {}) == {}


def test_while_none_holds_more_are_simulated():
    few = field(OF_OTHER_KINDS, confirm=1, budget={"gpus": 3})
    hopes = {name: estimated(3, hopeful=2) for name in OF_OTHER_KINDS}

    found = confirmed(few, appraised(**hopes), {})

    assert len(found) == 3
    assert least(few, found) == inf


def rivals_after_a_failure(utilisation: float, **of: object) -> list[str]:
    """Who is simulated next when one failed with three replicas of which the load took 95 % by the estimate."""
    few = field({"failed": {}, "next": of}, confirm=1, budget={"gpus": 3})
    hopes = {"failed": estimated(3, utilisation=0.95), "next": estimated(3, utilisation=utilisation)}
    done = {"failed": confirm(few, "failed", hopes["failed"])}
    return [name for name in rivals_of(few, appraised(**hopes), done).hoped if _open(few, hopes, done, name)]


def _open(few, hopes, done, name: str) -> bool:
    return rivals_of(few, appraised(**hopes), done).might_cost_less(name, inf)


def test_what_is_no_faster_than_its_kin_that_failed_is_not_tried():
    assert rivals_after_a_failure(0.94, engine=FEWER_PLACES) == []


def test_what_is_faster_than_its_kin_or_of_another_kind_is_tried():
    assert rivals_after_a_failure(0.85, engine=FEWER_PLACES) == ["next"]
    assert rivals_after_a_failure(0.94, target=OF_OTHER_KINDS["kv"]["target"]) == ["next"]


def test_slots_that_are_left_go_to_other_gpu_types():
    two = {"h200": {}, "b200": {"gpu": "b200-sxm", "price": 30.0}}
    hopes = {"h200": estimated(4), "b200": estimated(2)}

    found = confirmed(field(two, confirm=2), appraised(**hopes), {})

    assert list(found) == ["h200", "b200"]


def may_cost_less(of, replicas: int, usd_per_hour: float) -> bool:
    return rivals_of(of, appraised(plain=estimated(replicas)), {}).might_cost_less("plain", usd_per_hour)


def test_an_equal_cost_is_no_reason_to_look_further():
    assert not may_cost_less(field(), 4, 12.0)
    assert may_cost_less(field(), 4, 12.1)
    assert not may_cost_less(field(budget={"gpus": 3}), 4, 99.0)


def bursty(**said):
    """The same candidates where requests come in bursts, of which the estimate knows nothing."""
    of = field(OF_OTHER_KINDS, **said)
    arrivals = {"kind": "bursty", "rate_per_s": 30.0, "burst_factor": 3.0, "on_s": 10.0, "off_s": 30.0}
    scenario = specs.scenario(OF_OTHER_KINDS, workload=specs.workload(arrivals), slo=SLO, replications=3)
    return replace(of, scenario=scenario)


def test_where_bursts_are_left_out_others_will_need_as_many_more_replicas_as_those_that_were_simulated():
    done = {"plain": Confirmed(8, {}, None), "kv": Confirmed(9, {}, None)}
    hopes = {"plain": estimated(4), "kv": estimated(3), "weights": estimated(4)}

    rivals = rivals_of(bursty(), appraised(**hopes), done)

    assert rivals.shortfall() == 2.0
    assert not rivals.might_cost_less("weights", 24.0)
    assert rivals.might_cost_less("weights", 24.1)


def test_where_the_estimate_knows_the_arrivals_nothing_is_carried_over():
    done = {"plain": Confirmed(8, {}, None)}

    assert rivals_of(field(OF_OTHER_KINDS), appraised(plain=estimated(4)), done).shortfall() == 1.0
