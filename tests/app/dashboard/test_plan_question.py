"""What the page Plan asks: offers and choices as a plan file."""

import pytest

from app.dashboard.plan_question import (
    MOST_COMBINATIONS,
    Question,
    first_question,
    mapping_of,
    offers,
    plan_document,
    plan_text,
    priced_gpus,
    question_of,
)
from app.dashboard.planned import load, read_plan
from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from simulator.spec.plan import Plan


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat")


@pytest.fixture(scope="module")
def deployments(chat):
    return chat.base["deployments"]


def test_at_first_the_width_and_k_of_every_deployment_are_open(chat):
    asked = first_question(chat.points[0].scenario)

    loaded = load(plan_text(chat.base, asked))

    assert set(asked.plan.vary) == {"target.tensor_parallel", "speculation.propose.draft_tokens"}
    assert set(loaded.offers.values()) == set(chat.base["deployments"])
    assert len(loaded.offers) == 2 * 4 + 2 * 4 * 6


def test_how_many_replicas_are_bought_is_not_told_but_asked(chat):
    document = plan_document(chat.base, Question())

    assert not any("replicas" in spec for spec in document["deployments"].values())
    assert document["plan"] == {}


def test_a_deployment_can_be_taken_off_offer(deployments):
    assert "b200-plain" not in offers(deployments, Question(without=("b200-plain", "unknown")))


def test_k_is_open_only_where_an_offer_drafts(chat):
    asked = first_question(chat.points[0].scenario)
    plain = asked.model_copy(update={"without": ("h200-spec", "b200-spec")})

    assert list(plan_document(chat.base, plain)["plan"]["vary"]) == ["target.tensor_parallel"]
    assert load(plan_text(chat.base, plain)).scenario.deployments


def test_nothing_on_offer_says_what_to_do(chat):
    with pytest.raises(ScenarioError, match="choose at least one"):
        plan_document(chat.base, Question(without=tuple(chat.base["deployments"])))


def test_a_further_gpu_has_the_offers_of_the_first_at_a_price_of_its_own(deployments):
    found = offers(deployments, Question(gpus=("b300-sxm",)))

    assert set(found) - set(deployments) == {"b300-plain", "b300-spec"}
    assert found["b300-spec"]["speculation"] == deployments["h200-spec"]["speculation"]
    assert found["b300-spec"]["gpu"] == "b300-sxm"
    assert "catalog" in found["b300-spec"]["price"]


def test_a_gpu_that_stands_there_already_is_not_added_twice(deployments):
    assert set(offers(deployments, Question(gpus=("b200-sxm",)))) == set(deployments)


def test_a_further_draft_is_on_offer_on_each_gpu(deployments):
    found = offers(deployments, Question(drafts=("EAGLE-3 head",)))

    assert set(found) - set(deployments) == {"h200-eagle-3-head", "b200-eagle-3-head"}
    assert found["b200-eagle-3-head"]["speculation"]["kind"] == "heads"


def test_every_gpu_and_draft_that_the_page_offers_can_be_planned_with(chat):
    asked = Question(gpus=tuple(priced_gpus()), drafts=("EAGLE-3 head", "copied text (n-gram)"))

    loaded = load(plan_text(chat.base, asked))

    assert {spec.gpu for spec in loaded.scenario.deployments.values()} == set(priced_gpus())


def test_a_question_survives_a_link():
    asked = Question(without=("a",), gpus=("gb200",), plan=Plan(vary={"target.kv": ("fp8",)}, headroom=0.2))

    assert question_of(mapping_of(asked)) == asked


@pytest.mark.parametrize(
    "wrong", [{"gpus": 3}, {"plan": {"headroom": 7}}, {"other": 1}, {"plan": {"vary": {"replicas": [1]}}}]
)
def test_a_link_that_is_no_question_is_refused_in_words(wrong):
    with pytest.raises(ScenarioError, match="link: "):
        question_of(wrong)


def test_more_combinations_than_a_browser_may_ask_for_are_refused_before_they_are_made(chat):
    plan = Plan(vary={"engine.max_num_seqs": tuple(range(1, MOST_COMBINATIONS + 2))})

    with pytest.raises(ScenarioError, match="vary less, or take the plan file"):
        plan_document(chat.base, Question(plan=plan))


def test_a_plan_file_opens_as_its_offers_and_its_question(chat):
    asked = Question(plan=Plan(vary={"gpu": ("h200-sxm", "b200-sxm"), "target.tensor_parallel": (4, 8)}, headroom=0.1))
    text = plan_text(chat.base, asked.model_copy(update={"without": ("b200-plain", "b200-spec")}))

    scenario, found = read_plan(text, "mine.yaml")

    assert list(scenario["deployments"]) == ["h200-plain", "h200-spec"]
    assert scenario["deployments"]["h200-plain"]["target"]["tensor_parallel"] == 4
    assert found == asked
    assert plan_document(scenario, found)["plan"] == plan_document(chat.base, asked)["plan"]


def test_a_trace_in_a_plan_file_is_refused_before_it_is_opened(chat):
    mapping = {**chat.base, "workload": {**chat.base["workload"], "arrivals": {"kind": "trace", "file": "/etc/passwd"}}}

    with pytest.raises(ScenarioError, match="traces are files of the server"):
        load(plan_text(mapping, Question()))


def test_a_models_file_on_the_server_is_refused_even_among_choices(chat):
    asked = Question(plan=Plan(vary={"target.model": ("llama-3.3-70b", "/models/own/config.json")}))

    with pytest.raises(ScenarioError, match="is a file of the server"):
        load(plan_text(chat.base, asked))


def test_a_mistake_in_a_plan_file_is_told_by_its_line():
    with pytest.raises(ScenarioError, match=r"mine\.yaml:2"):
        read_plan("schema_version: 1\nnamee: x\nplan: {}\n", "mine.yaml")
