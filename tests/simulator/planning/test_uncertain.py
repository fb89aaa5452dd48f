"""The inputs of an answer, their intervals, and what they rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import ScenarioError
from simulator.planning.inputs import HIGH_END, LOW_END, Input, moved_by, two_piece
from simulator.planning.model_error import step_error
from simulator.planning.moved import Moved
from simulator.planning.price_spread import listed
from simulator.planning.uncertain import inputs_of, odds_within
from simulator.spec.acceptance import Acceptance
from tests.simulator.outcome import specs

NEBIUS = {"price": {"catalog": "nebius-on-demand"}}


def inputs(deployments=None, within=None, **changes):
    scenario = specs.scenario(deployments, **changes)
    return {one.name: one for one in inputs_of(scenario, list(scenario.deployments), within)}


def drafts(acceptance):
    draft = specs.DRAFTS["drafts"]["small"] | {"acceptance": {"all": acceptance}}
    return {"speculation": specs.DRAFTS | {"drafts": {"small": draft}}}


def one_input(**changes):
    return Input("x", "an x", 0.5, 4.0, "stated", "here", "rate", **changes)


def test_an_input_is_at_its_ends_at_the_ends_of_its_law():
    found = [two_piece(0.5, 4.0, chance) for chance in (LOW_END, 0.5, HIGH_END)]

    assert found == pytest.approx([0.5, 1.0, 4.0], rel=1e-6)


@given(st.floats(0.01, 1.0), st.floats(1.0, 100.0), st.floats(0.001, 0.499))
def test_half_of_the_law_lies_on_each_side(low, high, chance):
    assert two_piece(low, high, chance) <= 1.0 <= two_piece(low, high, 1.0 - chance)


def test_inputs_move_together_as_one():
    step = one_input()._replace(field="step_time", keys=("a", "b"))
    lists = one_input(lists=(("cheap", {"h200-sxm": 0.5}), ("dear", {"h200-sxm": 2.0})))._replace(field="price")

    moved = moved_by([(one_input(), HIGH_END), (step, LOW_END), (lists, 0.9)])

    assert moved.rate == pytest.approx(4.0)
    assert moved.step_time == pytest.approx({"a": 0.5, "b": 0.5})
    assert moved.price == {"h200-sxm": 2.0}


def test_two_inputs_of_one_kind_both_count():
    inputs_ = [one_input(keys=(key,))._replace(field="step_time") for key in ("a", "b")]

    assert set(moved_by([(one, 0.3) for one in inputs_]).step_time) == {"a", "b"}


def test_in_the_middle_nothing_is_moved():
    found = inputs(NEBIUS_PAIR, slo={"ttft_s": {"p95": 1.0}})

    moved = moved_by([(one, 0.5) for one in found.values() if not one.lists])

    assert (moved.rate, moved.output_tokens) == (1.0, 1.0)
    assert set(moved.step_time.values()) == {1.0}


NEBIUS_PAIR = {"a": NEBIUS, "b": NEBIUS | {"gpu": "b200-sxm"}}


def test_the_error_of_step_times_is_that_of_the_profile():
    found = inputs({"one": {}})["step_time.h200-sxm"]

    known = step_error(specs.deployment())
    assert (found.low, found.high, found.basis) == (1 / known.step, known.step, "measured")
    assert known.basis in found.source


def test_without_a_profile_an_error_is_assumed():
    found = inputs({"one": {"gpu": "gb200"}})["step_time.gb200"]

    assert (found.basis, found.high) == ("assumption", 1.3)


def test_deployments_of_one_kind_err_together():
    found = inputs({"a": {}, "b": {"replicas": 2}, "c": {"gpu": "b200-sxm"}})

    assert found["step_time.h200-sxm"].keys == ("a", "b")
    assert found["step_time.b200-sxm"].keys == ("c",)


def test_two_targets_on_one_gpu_err_apart():
    other = specs.PLAIN["target"] | {"model": "qwen3-8b"}

    assert {"step_time.h200-sxm.a", "step_time.h200-sxm.b"} <= set(inputs({"a": {}, "b": {"target": other}}))


def test_deployments_with_one_draft_are_right_or_wrong_together():
    found = inputs({"a": drafts({"survival": [0.8, 0.6]}), "b": drafts({"survival": [0.8, 0.6]}), "c": {}})

    assert found["acceptance.small"].keys == (("a", "small"), ("b", "small"))


def test_one_draft_is_one_input_whatever_is_said_of_it():
    found = inputs({"a": drafts({"survival": [0.8, 0.6]}), "b": drafts({"histogram": {0: 1, 1: 9}})})

    assert found["acceptance.small"].keys == (("a", "small"), ("b", "small"))
    assert found["acceptance.small"].basis == "assumption", "not all of it was counted"


def test_two_drafts_of_one_name_are_two_inputs():
    other = specs.MODELLED_DRAFTS

    found = inputs({"a": drafts({"survival": [0.8]}), "b": {"speculation": other}})

    assert {"acceptance.small.a", "acceptance.small.b"} <= set(found)


def test_counted_steps_carry_their_own_interval():
    few = inputs({"a": drafts({"histogram": {0: 20, 1: 30, 2: 50}})})["acceptance.small"]
    many = inputs({"a": drafts({"histogram": {0: 2000, 1: 3000, 2: 5000}})})["acceptance.small"]

    assert (few.basis, many.basis) == ("measured", "measured")
    assert few.low < many.low < 1.0 < many.high < few.high
    assert "10,000 steps" in many.source


def test_the_odds_of_a_histogram_that_says_nothing_are_cut():
    low, high = odds_within(Acceptance(histogram={0: 0, 1: 40}))

    assert 0.0 < low <= 1.0 <= high


def test_a_batch_has_no_rate_to_vary():
    assert "rate" not in inputs({"one": {}}, workload=specs.workload({"kind": "queued_at_once"}))


def test_prices_of_a_provider_come_together():
    found = inputs(NEBIUS_PAIR)["price"]

    now, aws = listed("nebius-on-demand"), listed("aws-on-demand")
    assert dict(found.lists)["aws-on-demand"] == {gpu: aws[gpu] / now[gpu] for gpu in ("h200-sxm", "b200-sxm")}
    assert dict(found.lists)["nebius-on-demand"] == {"h200-sxm": 1.0, "b200-sxm": 1.0}
    assert "azure-on-demand" not in dict(found.lists), "it has no B200"


def test_the_ends_of_prices_favour_either_gpu():
    lists = [factors["h200-sxm"] / factors["b200-sxm"] for _, factors in inputs(NEBIUS_PAIR)["price"].lists]

    assert lists == sorted(lists)
    assert inputs(NEBIUS_PAIR)["price"].at(LOW_END)["price"] == inputs(NEBIUS_PAIR)["price"].lists[0][1]


@pytest.mark.parametrize("price", [3.0, {"catalog": "nebius-spot"}])
def test_a_price_without_lists_like_it_is_assumed_to_be_off(price):
    found = inputs({"one": {"price": price}})["price.h200-sxm"]

    assert (found.basis, found.keys) == ("assumption", ("h200-sxm",))


def test_a_reader_states_an_interval():
    found = inputs(NEBIUS_PAIR, within={"price": (0.9, 1.5), "rate": (1.0, 2.0)})

    assert (found["rate"].low, found["rate"].high, found["rate"].basis) == (1.0, 2.0, "stated")
    assert found["price"].at(HIGH_END)["price"] == pytest.approx({"h200-sxm": 1.5, "b200-sxm": 1.5})


def test_an_interval_of_nothing_is_refused_with_what_there_is():
    with pytest.raises(ScenarioError, match=r"no input 'acceptence'.*there are: rate, output_tokens"):
        inputs({"one": {}}, within={"acceptence": (0.5, 2.0)})


def test_an_interval_holds_what_the_scenario_says():
    with pytest.raises(ScenarioError, match=r"rate: 1.5..2 is no interval"):
        inputs({"one": {}}, within={"rate": (1.5, 2.0)})


def test_every_input_is_a_field_of_a_move():
    fields = set(Moved.__dataclass_fields__)

    assert {one.field for one in inputs(NEBIUS_PAIR | {"c": drafts({"survival": [0.5]})}).values()} == fields
