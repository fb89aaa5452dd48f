import pytest

from app.dashboard.pages.memory import smallest_budget_gb, with_budget
from scenarios.load import load_scenario
from simulator.physics.ledger import fits
from tests.app.dashboard.looking import changed, figures, labelled, metrics, table


@pytest.fixture
def memory(dashboard):
    return dashboard.open("memory")


def test_a_longer_context_leaves_fewer_sequences(memory):
    before = metrics(memory)
    labelled(memory, "Context").set_value(32768).run()

    assert before == {"h200-plain": "138", "h200-spec": "113", "b200-plain": "194", "b200-spec": "159"}
    assert metrics(memory)["h200-plain"] == "34"


def test_a_smaller_budget_leaves_less_kv_and_can_be_taken(memory):
    before = figures(memory)[0]
    labelled(memory, "HBM budget").set_value(60).run()

    assert figures(memory)[0] != before
    assert metrics(memory)["h200-plain"] == metrics(memory)["b200-plain"]
    memory.press("memory_adopt")
    assert {d.engine.hbm_budget_gb for d in memory.scenario().deployments.values()} == {60.0}


def test_what_does_not_fit_comes_with_changes_that_make_it_fit(memory):
    memory.at.session_state["specfleet_loaded"] = changed(memory, "deployments.h200-spec.target.weights", "bf16")
    labelled(memory, "HBM budget").set_value(40).run()

    assert "h200-spec: one sequence of 8,192 tokens lacks" in memory.at.error[1].value
    memory.press("memory_h200-spec_target.tensor_parallel 8")
    assert memory.scenario().deployments["h200-spec"].target.tensor_parallel == 8


def test_a_draft_can_be_dropped_to_fit(memory):
    labelled(memory, "HBM budget").set_value(44).run()

    memory.press("memory_h200-spec_no draft")

    assert memory.scenario().deployments["h200-spec"].speculation.kind == "none"


def test_the_smallest_budget_fits_and_one_less_does_not():
    spec = load_scenario("h200_vs_b200_chat").points[0].scenario.deployments["h200-spec"]
    least = smallest_budget_gb(spec)

    assert fits(with_budget(spec, float(least)))
    assert not fits(with_budget(spec, float(least - 1)))


def test_no_budget_fits_a_model_that_is_too_large():
    spec = load_scenario("h200_vs_b200_chat").points[0].scenario.deployments["h200-plain"]
    target = spec.target.model_copy(update={"weights": "bf16", "tensor_parallel": 1})

    assert smallest_budget_gb(spec.model_copy(update={"target": target})) is None


def test_the_draft_has_its_share_of_a_tokens_kv(memory):
    last = table(memory, "per GPU")[-1]

    assert (last["h200-plain"], last["h200-spec"]) == ("81,920", "98,304, 17 % draft")


def test_kv_on_the_host_is_shown_with_its_share(memory):
    memory.at.session_state["specfleet_loaded"] = changed(memory, "deployments.h200-plain.engine.kv_host_gb", 50.0)
    memory.at.run()

    rows = {line["per GPU"]: line["h200-plain"] for line in table(memory, "per GPU")}
    assert rows["KV on the host"].startswith("50.0 GB, 3")
    assert "KV on the host" in str(figures(memory)[0])
