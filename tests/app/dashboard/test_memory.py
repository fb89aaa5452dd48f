import pytest

from app.dashboard.document import mapping_of
from app.dashboard.kv_steps import bought
from app.dashboard.pages.memory import smallest_budget_gb, with_budget
from app.dashboard.share import decode, encode
from app.format import count, duration
from scenarios.load import load_scenario
from simulator.physics.ledger import fits
from tests.app.dashboard.looking import beside, changed, figure, figures, labelled, metrics, table


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


def test_no_empty_axes_are_drawn_where_nothing_fits(memory):
    labelled(memory, "HBM budget").set_value(10).run()

    assert [element.key for element in memory.at.get("plotly_chart")] == ["chart HBM of each GPU"]
    assert [element.value.partition(" of ")[0] for element in memory.at.info] == [
        "No sequence has room at any",
        "No step makes room for a sequence",
    ]


def test_long_names_are_told_by_where_they_differ(dashboard):
    scenario = mapping_of(load_scenario("h200_vs_b200_chat"))
    names = {f"production-eu-west-chat-{name}-{'and-on-' * 5}x": spec for name, spec in scenario["deployments"].items()}

    dashboard.open("memory", encode({**scenario, "deployments": names}))

    assert next(iter(metrics(dashboard))).startswith("…h200-plain-and")
    assert [label[:11] for label in figure(dashboard)["layout"]["yaxis"]["ticktext"]] == [
        "…h200-plain", "…h200-spec-", "…b200-plain", "…b200-spec-"
    ]  # fmt: skip
    assert figure(dashboard)["layout"]["yaxis"]["tickvals"][0] == next(iter(names))
    assert next(iter(names)) in table(dashboard, "per GPU")[0]


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


def deployment(memory, name):
    return memory.scenario().deployments[name]


def test_the_table_of_steps_says_what_the_library_does(memory):
    found = bought(memory.scenario(), "h200-spec", 8192)

    shown = {row["step"]: row for row in table(memory, "step")}

    assert list(shown) == [one.step.name for one in found]
    for one in found:
        assert shown[one.step.name]["sequences of 8K"] == count(one.sequences)
        assert shown[one.step.name]["TPOT p95"] == duration(one.row["tpot_s"]["p95"])
    assert shown["as it is"]["sequences of 8K"] == metrics(memory)["h200-spec"]


def test_another_format_changes_the_scenario_the_ledger_and_the_link(memory):
    before = metrics(memory)["h200-spec"]

    memory.move("memory_kv:h200-spec", "bf16")

    assert deployment(memory, "h200-spec").target.kv == "bf16"
    assert int(metrics(memory)["h200-spec"]) < int(before)
    assert decode(memory.at.query_params["s"])["deployments"]["h200-spec"]["target"]["kv"] == "bf16"


def test_a_host_tier_comes_with_its_link_and_goes_again(memory):
    key = "deployments.h200-spec"
    memory.move(f"memory_host:{key}", 64.0).move(f"memory_link:{key}", "internode")
    engine = deployment(memory, "h200-spec").engine

    assert (engine.kv_host_gb, engine.kv_host_link) == (64.0, "internode")
    assert "KV on the host" in figures(memory)[0]
    memory.move(f"memory_host:{key}", 0.0)
    assert memory.said == ""
    assert deployment(memory, "h200-spec").engine.kv_host_gb is None


def test_a_drafts_cache_takes_another_format_and_a_window(memory):
    place = "deployments.h200-spec.speculation.drafts.general"

    memory.move(f"memory_kv:{place}", "int8").move(f"memory_window:{place}", 1024).move(f"memory_sinks:{place}", 8)
    draft = deployment(memory, "h200-spec").speculation.draft

    assert memory.said == ""
    assert (draft.kv, draft.window.recent, draft.window.sinks) == ("int8", 1024, 8)
    assert memory.control(f"memory_sinks:{place}").label == "Draft general: sinks [tokens]"
    memory.move(f"memory_window:{place}", 0)
    assert deployment(memory, "h200-spec").speculation.draft.window is None


def test_a_prefix_cache_can_be_chosen_where_prompts_begin_alike(memory):
    memory.at.session_state["specfleet_loaded"] = changed(memory, "workload.prefix", {"shared_tokens": 400})
    memory.at.run()

    memory.move("memory_prefix:h200-spec", "not kept")

    assert deployment(memory, "h200-spec").engine.prefix_cache is False


def test_the_budget_that_is_tried_holds_for_the_steps_too(memory):
    labelled(memory, "HBM budget").set_value(60).run()

    assert table(memory, "step")[0]["sequences of 8K"] == metrics(memory)["h200-spec"]


def test_what_a_deployment_cannot_have_is_said(memory):
    memory.at.session_state["specfleet_loaded"] = load_scenario("cpu_smollm2")
    memory.at.run()

    said = "\n".join(caption.value for caption in memory.at.caption)
    assert "cpu-1thread is the host itself" in said
    assert "No KV of its own to choose: lookup" in said


def test_what_each_step_still_lacks_stands_beside_it(memory):
    memory.at.session_state["specfleet_loaded"] = load_scenario("article/four_drafts_400b")
    memory.at.run()

    lacks = {row["step"]: row["lacks"] for row in table(memory, "step")}
    assert (lacks["as it is"], lacks["no draft"]) == ("74.29 GiB", "64.57 GiB")
    assert not memory.at.exception


def test_gpus_of_the_drafts_have_a_card_and_a_column_of_their_own(memory):
    memory.at.session_state["specfleet_loaded"] = changed(
        memory, "deployments.h200-spec.speculation.placement", {"kind": "dedicated", "gpus": 1, "link": "nvlink"}
    )
    memory.at.run()

    assert {"h200-spec", "h200-spec, draft GPUs"} <= set(metrics(memory))
    assert {"h200-spec", "h200-spec, draft GPUs"} <= set(table(memory, "per GPU")[0])


def test_kv_of_a_sequence_is_target_and_draft_together(memory):
    rows = {line["per GPU"]: line["h200-spec"] for line in table(memory, "per GPU")}

    assert rows["KV of 8K tokens"] == "805 MB, 17 % draft"


def test_every_figure_and_table_of_memory_says_how_it_was_computed(memory):
    both = ["HBM of each GPU", "Sequences at context", "HBM in figures", "What each step buys"]

    assert sorted(beside(memory, "how")) == sorted(beside(memory, "csv")) == sorted(both)
