from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from simulator.planning.estimate import steady_cluster
from simulator.planning.search import ranking
from simulator.planning.search.appraisal import Ask, appraise
from simulator.planning.search.ranking import anew, appraisals, cheapest
from tests.simulator.planning.search import small

CANDIDATES = {
    "plain": {},
    "b200": small.B200,
    "too-dear": {"price": 40.0},
    "too-large": {"target": {"model": "llama-3.3-70b", "weights": "bf16"}},
}


def test_each_candidate_gets_its_fewest_replicas_by_the_estimate():
    field = small.field(small.scenario())

    of = appraisals(field)["plain"]

    assert of.estimated is not None
    assert of.least_replicas <= of.estimated.hopeful <= of.estimated.replicas
    assert of.estimated.row["holds_slo"]
    assert of.estimated.row["capacity_req_per_s"] >= 60.0
    one = steady_cluster(field.scenario, "plain")
    assert not field.asked.holds(one.with_replicas(of.estimated.replicas - 1))


def test_headroom_takes_more_replicas():
    needed = [
        appraisals(small.field(small.scenario(), headroom=share))["plain"].estimated.replicas for share in (0.0, 0.5)
    ]

    assert needed[1] >= 4 / 3 * needed[0]


def test_what_does_not_fit_is_told_and_costs_no_estimate():
    of = appraisals(small.field(small.scenario(CANDIDATES)))["too-large"]

    assert "GiB" in of.unfit
    assert (of.bound, of.asked) == (None, False)


def test_what_misses_a_limit_alone_costs_no_estimate():
    of = appraisals(small.field(small.scenario(slo={"ttft_s": {"p95": 1e-4}})))["plain"]

    assert of.bound is not None
    assert (of.bound.misses, of.asked) == ("ttft_s.p95", False)


def test_what_costs_too_much_by_its_bound_is_left_out_once_a_cheaper_one_is_known(monkeypatch):
    monkeypatch.setattr(ranking, "ROUND", 1)
    scenario = small.scenario(
        {"plain": {}, "dear": {"price": 40.0, "target": {"model": "llama-3.1-8b", "weights": "fp8"}}}
    )

    found = appraisals(small.field(scenario))

    assert (found["plain"].asked, found["dear"].asked) == (True, False)


def test_what_costs_less_than_twice_the_cheapest_by_its_bound_is_estimated(monkeypatch):
    monkeypatch.setattr(ranking, "ROUND", 1)
    cheapest_usd = 3.0 * appraisals(small.field(small.scenario()))["plain"].estimated.replicas
    near, far = ({"price": cheapest_usd * factor / 2, "gpu": "b200-sxm"} for factor in (1.9, 2.1))

    found = appraisals(small.field(small.scenario({"plain": {}, "near": near})))
    beyond = appraisals(small.field(small.scenario({"plain": {}, "far": far})))

    assert found["near"].least_replicas == 2
    assert (found["near"].asked, beyond["far"].asked) == (True, False)


def test_what_is_beyond_the_budget_by_its_bound_is_left_out_and_can_be_asked_anew():
    field = small.field(small.scenario(), budget={"gpus": 1})

    assert not appraisals(field)["plain"].asked
    assert anew(field, ["plain"])["plain"].estimated is not None
    assert cheapest(field, anew(field, ["plain"])) == float("inf")


def test_any_executor_finds_the_same_in_the_same_order():
    scenario = small.scenario(CANDIDATES)

    with ThreadPoolExecutor(3) as pool:
        parallel = appraisals(replace(small.field(scenario), executor=pool))

    assert list(parallel.items()) == list(appraisals(small.field(scenario)).items())


def test_rounds_take_candidates_from_all_over():
    names = [str(number) for number in range(150)]

    rounds = list(ranking._rounds(names))

    assert sorted((name for of in rounds for name in of), key=int) == names
    assert [len(of) for of in rounds] == [50, 50, 50]
    assert rounds[0][:3] == ["0", "3", "6"]


def test_users_bring_the_load_that_each_cluster_is_sized_for():
    scenario = small.scenario()
    asked = small.field(scenario, users={"count": 120, "think_s": 1.0}).asked

    of = appraise((Ask(scenario, "plain", asked, None),))[0]

    assert of.estimated is not None
    rate, mean_s = of.estimated.rate_per_s, of.estimated.row["e2e_s"]["mean"]
    assert abs(rate * (1.0 + mean_s) / 120 - 1) < 0.02
