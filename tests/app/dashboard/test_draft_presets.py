import pytest

from app.dashboard.draft_presets import NO_DRAFT, PRESETS, chosen_draft, draft_changes
from scenarios.load import load_scenario
from simulator.planning.estimate import estimate
from simulator.spec.speculation import DraftSpeculation, NoSpeculation


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.mark.parametrize("name", PRESETS)
def test_every_draft_of_the_list_is_valid_and_changes_what_is_estimated(chat, name):
    plain = chat.deployments["h200-plain"]
    speculation = DraftSpeculation.model_validate(PRESETS[name].mapping())
    drafting = plain.model_copy(update={"speculation": speculation})

    row = estimate(chat.model_copy(update={"deployments": {"it": drafting}}), "it")

    assert row["fits"] is True
    assert row["tokens_per_step"] > 1.2


@pytest.mark.parametrize("name", PRESETS)
def test_a_draft_of_the_list_is_called_by_its_name(name):
    assert chosen_draft(DraftSpeculation.model_validate(PRESETS[name].mapping())) == name


def test_a_draft_of_the_list_with_more_said_of_it_is_ones_own():
    more = PRESETS["MTP module"].mapping() | {"policy": {"kind": "goodput"}}

    assert chosen_draft(DraftSpeculation.model_validate(more)) == "mtp head, chain of 2"


def test_a_draft_of_ones_own_is_called_by_its_words(chat):
    assert chosen_draft(chat.deployments["h200-spec"].speculation) == "llama-3.2-1b, chain of 4"
    assert chosen_draft(NoSpeculation(kind="none")) == NO_DRAFT


def test_choosing_no_draft_takes_it_away_and_its_own_words_change_nothing():
    assert draft_changes("a", NO_DRAFT) == {"deployments.a.speculation": {"kind": "none"}}
    assert draft_changes("a", "llama-3.2-1b, chain of 4") == {}
