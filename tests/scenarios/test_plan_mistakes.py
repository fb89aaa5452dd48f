"""Plan files that are wrong: each mistake with its line and the way out."""

import pytest
import yaml

from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, edited, line_of
from tests.scenarios.plan_examples import PLAN, plan_of, varied


def test_an_offer_of_which_nothing_is_possible_is_a_mistake():
    with pytest.raises(ScenarioError) as error:
        plan_of(varied(target__tensor_parallel=[3, 5]))

    text = varied(target__tensor_parallel=[3, 5])
    assert f"chat.yaml:{line_of(text, '- 3')}: deployments.plain.target.tensor_parallel: 3 does not divide" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("path", "values", "said"),
    [
        ("target.tensor_paralel", [1, 2], "no deployment has this place; nearest: target.tensor_parallel"),
        ("draft_tokens", [1, 2], "nearest: speculation.propose.draft_tokens"),
        ("workload.arrivals.rate_per_s", [1, 2], "a plan varies what stands inside a deployment"),
        ("deployments.plain.gpu", ["h200-sxm"], "a plan varies what stands inside a deployment"),
        ("target.tensor_parallel", [], "a list of at least one value"),
        ("target.tensor_parallel", [1, 2, 1], "1 stands twice"),
        ("target.tensor_parallel", 2, "2:"),
        ("replicas", [1, 2], "how many replicas is what a plan finds"),
        ("extends", ["plain"], "extends cannot be varied"),
    ],
)
def test_what_cannot_be_varied_is_told_with_its_line(path, values, said):
    text = CHAT + yaml.safe_dump({"plan": {"vary": {path: values}}}, default_flow_style=None)

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    assert said in str(error.value)
    assert str(error.value).startswith("chat.yaml:")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("headrom: 0.1", "plan.headrom: unknown key; nearest: headroom"),
        ("headroom: 20", "plan.headroom: 20"),
        ("budget: {usd: 3}", "plan.budget.usd: unknown key"),
        ("users: {count: 100}", "plan.users.think_s: missing"),
        ("gpus: 8", "plan.gpus: unknown key"),
    ],
)
def test_a_mistake_in_the_question_is_told_with_its_line(line, said):
    text = f"{CHAT}plan:\n  {line}\n"

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    assert f"chat.yaml:{line_of(text, line)}: {said}" in str(error.value)


@pytest.mark.parametrize(("hours", "said"), [("[-1, 1]", "hours.0: -1: "), ("[1]", "hours: [1]: List should have at")])
def test_a_list_is_called_too_short_only_where_it_is(hours, said):
    with pytest.raises(ScenarioError) as error:
        plan_of(f"{CHAT}plan:\n  fleet: {{hours: {hours}}}\n")

    assert f"plan.fleet.{said}" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_value_that_is_none_is_a_mistake_and_not_left_out():
    text = varied(gpu=["h200-sxm", "h2000"])

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    assert f"chat.yaml:{line_of(text, '- h2000')}: deployments.plain.gpu: no GPU 'h2000'" in str(error.value)


@pytest.mark.parametrize(("value", "said"), [("two", "'two': "), (0, "0: ")])
def test_a_number_that_is_none_is_a_mistake_and_not_left_out(value, said):
    text = varied(target__tensor_parallel=[1, value])

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    line = line_of(text, f"- {value}")
    assert f"chat.yaml:{line}: deployments.plain.target.tensor_parallel: {said}" in str(error.value)


def test_a_set_of_a_place_that_is_varied_is_answered_with_the_place_and_not_with_its_list():
    with pytest.raises(ScenarioError, match=r"nearest: deployments\.spec\.speculation\.propose\.draft_tokens$"):
        plan_of(CHAT + PLAN, "speculation.propose.draft_tokens=3")


def test_mistakes_of_the_scenario_and_of_the_question_are_told_at_once():
    text = edited(("rate_per_s: 4", "rate: 4")) + PLAN.replace("headroom", "headrom")

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    assert "workload.arrivals.rate: unknown key" in str(error.value)
    assert "plan.headrom: unknown key" in str(error.value)


def test_a_contract_without_a_price_is_told_with_its_line():
    text = CHAT + "plan:\n  fleet:\n    reserved: {b200-sxm: {catalog: nebius}}\n"

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    assert f"chat.yaml:{line_of(text, 'reserved')}: plan.fleet.reserved.b200-sxm: " in str(error.value)
    assert "nebius-on-demand" in str(error.value)


def test_several_gpus_at_one_price_are_refused():
    text = edited(("{catalog: nebius-on-demand}", "3.5")) + PLAN

    with pytest.raises(ScenarioError, match=r"deployments\.plain\.price: one price for 2 GPU types"):
        plan_of(text)


@pytest.mark.parametrize("more", ["sweep: {seed: [1, 2]}\n", "assert: [plain.fits == true]\n"])
def test_what_spans_points_does_not_go_with_a_plan(more):
    with pytest.raises(ScenarioError, match=r"a plan (has no sweep|asserts nothing)"):
        plan_of(CHAT + PLAN + more)


def test_too_many_candidates_are_refused_before_any_is_checked():
    many, more = list(range(1, 200)), list(range(1, 200))

    with pytest.raises(ScenarioError, match="more than 10,000 candidates"):
        plan_of(varied(engine__max_num_seqs=many, engine__max_num_batched_tokens=more))


def test_a_temperature_that_no_candidate_knows_is_refused_and_one_that_some_know_is_not():
    warm = edited(("  horizon:", "  temperature: 0.7\n  horizon:"))
    known = warm.replace("{survival: [0.8, 0.6]}", "{survival: [0.8, 0.6], by_temperature: {0: 1, 1: 0.8}}")

    with pytest.raises(ScenarioError, match=r"workload\.temperature: 0\.7 has no effect"):
        plan_of(warm)

    assert plan_of(known).scenario.workload.temperature == 0.7


@pytest.mark.parametrize(
    ("arrivals", "question", "place"),
    [
        ("{kind: closed_loop, concurrency: 8}", "{}", "workload.arrivals: the 8 clients"),
        ("{kind: queued_at_once}", "{}", "workload.arrivals: a batch"),
    ],
)
def test_a_load_that_waits_for_the_service_is_refused_with_its_line(arrivals, question, place):
    text = edited(("{kind: poisson, rate_per_s: 4}", arrivals)) + f"plan: {question}\n"

    with pytest.raises(ScenarioError) as error:
        plan_of(text)

    assert str(error.value).startswith(f"chat.yaml:{line_of(text, arrivals)}: {place}")
