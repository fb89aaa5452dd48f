import pytest

from simulator.planning.search import plan
from simulator.planning.search.relax import rounded_down, rounded_up
from simulator.spec.plan import Plan
from tests.simulator.planning.search import small

TOO_LARGE = {"target": {"model": "llama-3.3-70b", "weights": "bf16"}}


def estimates(**said) -> Plan:
    return Plan.model_validate(said).model_copy(update={"confirm": 0})


def ways(result):
    return {way["what"]: way for way in result.relax}


def test_a_budget_that_is_too_small_is_told_by_how_much():
    needed = plan(small.scenario(), estimates()).choice

    result = plan(small.scenario(), estimates(budget={"gpus": needed.num_gpus - 1}))

    assert result.choice is None
    assert ways(result)["budget"]["to"] == {"plan.budget.gpus": needed.num_gpus}


def test_money_that_is_too_little_is_told_by_how_much():
    needed = plan(small.scenario(), estimates()).choice

    result = plan(small.scenario(), estimates(budget={"usd_per_hour": needed.cost - 1}))

    assert ways(result)["budget"]["to"] == {"plan.budget.usd_per_hour": pytest.approx(needed.cost)}


def test_the_load_that_a_budget_holds_is_told_and_held():
    result = plan(small.scenario(), estimates(budget={"gpus": 2}))

    rate = ways(result)["load"]["to"]["workload.arrivals.rate_per_s"]
    assert 1.0 < rate < 60.0
    assert plan(small.scenario(rate_per_s=rate), estimates(budget={"gpus": 2})).choice is not None


def test_a_limit_that_nothing_meets_is_loosened_until_something_does():
    tight = {"ttft_s": {"p95": 0.2}, "tpot_s": {"p95": 0.001}}

    way = ways(plan(small.scenario(slo=tight), estimates()))["slo"]

    assert list(way["to"]) == ["slo.tpot_s.p95"]
    loose = {"ttft_s": {"p95": 0.2}, "tpot_s": {"p95": way["to"]["slo.tpot_s.p95"]}}
    assert plan(small.scenario(slo=loose), estimates()).choice is not None


def test_the_nearest_candidate_is_named_with_what_it_lacks():
    result = plan(small.scenario({"plain": {}, "too-large": TOO_LARGE}), estimates(budget={"gpus": 1}))

    assert result.nearest["deployment"] == "plain"
    assert "plain comes nearest" in result.nearest["sentence"]
    assert result.nearest["factor"] == min(way["factor"] for way in result.relax)


def test_where_nothing_fits_the_nearest_says_what_memory_lacks():
    result = plan(small.scenario({"too-large": TOO_LARGE}), estimates())

    assert (result.choice, result.relax) == (None, [])
    assert (result.nearest["what"], result.nearest["deployment"]) == ("memory", "too-large")
    assert "GiB" in result.nearest["sentence"]


def test_a_plan_that_finds_something_relaxes_nothing():
    result = plan(small.scenario(), estimates())

    assert (result.nearest, result.relax) == (None, [])


def test_what_is_proposed_has_three_digits_and_lies_beyond_what_is_needed():
    assert (rounded_up(0.0123401), rounded_up(7.0), rounded_down(20.99)) == (0.0124, 7.0, 20.9)


def test_one_gpu_is_told_as_one():
    result = plan(small.scenario(rate_per_s=1.0), estimates(budget={"usd_per_hour": 0.01}))

    assert "plain holds on 1 GPU for $" in ways(result)["budget"]["sentence"]


def test_where_nothing_can_be_relaxed_the_nearest_says_why_it_is_no_answer():
    result = plan(small.scenario(rate_per_s=900_000.0), estimates())

    assert result.choice is None
    assert "plain comes nearest: needs " in result.nearest["sentence"]
    assert result.nearest["what"] == "load"
