"""Where drafts should run, and at which price ratio GPU types tie."""

import pytest

from scenarios.load import load_scenario
from simulator.planning.advice import placement_advice, price_ties
from simulator.planning.comparison import BY_CAPACITY
from simulator.planning.estimate import estimate
from tests.app import toys


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture(scope="module")
def advice(chat):
    return placement_advice(chat, "h200-spec")


def test_both_places_have_a_cost(chat, advice):
    assert advice["own"]["usd_per_million"] == estimate(chat, "h200-spec")[BY_CAPACITY]
    assert advice["other"]["placement"]["kind"] == "dedicated"
    assert advice["other"]["usd_per_million"] > 0


def test_the_sentence_names_the_cheaper_place(advice):
    cheaper = min(("own", "other"), key=lambda name: advice[name]["usd_per_million"])

    where = "leave them beside the target" if cheaper == "own" else "cheaper on"
    assert where in advice["sentence"]


def test_a_draft_that_cannot_leave_its_target_stays():
    heads = load_scenario("eagle_heads").points[0].scenario

    advice = placement_advice(heads, "eagle3-chain-5")

    assert advice["other"]["usd_per_million"] is None
    assert "its drafts stay beside the target" in advice["sentence"]
    assert "hidden states" in advice["sentence"]


def test_drafts_with_gpus_of_their_own_are_held_against_the_target_s(chat):
    spec = chat.deployments["h200-spec"]
    placement = {"kind": "dedicated", "gpus": 1, "shared_by": 2, "link": "nvlink"}
    document = spec.model_dump(mode="json", exclude_unset=True)
    document["speculation"]["placement"] = placement
    apart = chat.model_copy(update={"deployments": {"apart": type(spec).model_validate(document)}})

    advice = placement_advice(apart, "apart")

    assert advice["own"]["placement"] == placement
    assert advice["other"]["placement"] == {"kind": "colocated"}
    assert advice["other"]["usd_per_million"] == pytest.approx(estimate(chat, "h200-spec")[BY_CAPACITY])


def test_without_drafts_there_is_nothing_to_place(chat):
    assert placement_advice(chat, "h200-plain") is None


def priced(deployment, gpu, price, cost):
    return toys.row(deployment, gpu=gpu, usd_per_gpu_hour=price, **{BY_CAPACITY: cost})


def test_at_the_tie_both_gpu_types_cost_the_same():
    rows = [priced("a", "h200-sxm", 3.5, 2.0), priced("b", "b200-sxm", 5.5, 1.5)]

    (tie,) = price_ties(rows)
    at_tie = 1.5 * (tie["tie"] * 3.5) / 5.5

    assert (tie["winner"], tie["now"]) == ("b", pytest.approx(5.5 / 3.5))
    assert at_tie == pytest.approx(2.0)


def test_each_gpu_type_is_held_against_every_other_by_its_cheapest_deployment():
    rows = [
        priced("dear", "h200-sxm", 3.5, 3.0),
        priced("cheap", "h200-sxm", 3.5, 2.0),
        priced("b", "b200-sxm", 5.5, 1.5),
        priced("c", "b300-sxm", 7.0, 1.0),
        priced("none", "h100-sxm", 2.0, None),
    ]

    pairs = {(tie["winner"], tie["other"]) for tie in price_ties(rows)}

    assert pairs == {("c", "b"), ("c", "cheap"), ("b", "cheap")}


def test_several_drafts_may_share_a_pool_between_replicas():
    drafts = load_scenario("multi_draft_code_math_prose").points[0].scenario

    assert placement_advice(drafts, "b200-union")["other"]["placement"]["shared_by"] > 1
