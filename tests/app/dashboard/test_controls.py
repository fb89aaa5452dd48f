"""Every control beside the pages changes the scenario, and with it what the page says."""

import pytest

from tests.app.dashboard.looking import changed

MOVES = [
    ("rate", 12.0, lambda s: s.workload.arrivals.rate_per_s == 12.0),
    ("lengths", "azure-code-2023", lambda s: s.workload.lengths.table == "azure-code-2023"),
    ("ttft", 0.5, lambda s: s.slo.ttft_s == {"p95": 0.5}),
    ("tpot", 20.0, lambda s: s.slo.tpot_s == {"p95": 0.02}),
    ("price_list", "nebius-spot", lambda s: all(d.price.catalog == "nebius-spot" for d in deployments(s))),
    ("price:b200-sxm", 9.0, lambda s: s.deployments["b200-spec"].price.usd_per_gpu_hour == 9.0),
    ("price:h200-sxm", 2.0, lambda s: s.deployments["h200-plain"].price.basis == "assumption"),
    ("k", 2, lambda s: s.deployments["b200-spec"].speculation.propose.draft_tokens == 2),
    ("acceptance", 0.5, lambda s: list(s.deployments["h200-spec"].speculation.draft.acceptance) == ["all"]),
    ("gpu:h200-plain", "b200-sxm", lambda s: s.deployments["h200-plain"].gpu == "b200-sxm"),
    ("replicas:h200-plain", 3, lambda s: s.deployments["h200-plain"].replicas == 3),
    ("weights:h200-plain", "bf16", lambda s: s.deployments["h200-plain"].target.weights == "bf16"),
    ("kv:h200-plain", "bf16", lambda s: s.deployments["h200-plain"].target.kv == "bf16"),
    ("tp:h200-plain", 4, lambda s: s.deployments["h200-plain"].target.tensor_parallel == 4),
    ("engine:h200-plain", "trtllm", lambda s: s.deployments["h200-plain"].engine.policy == "trtllm"),
    ("model:h200-plain", "llama-3.1-8b", lambda s: s.deployments["h200-plain"].target.model == "llama-3.1-8b"),
    ("requests", 500, lambda s: s.workload.horizon.requests == 500),
    ("seeds", 2, lambda s: s.replications == 2),
    ("seed", 11, lambda s: s.seed == 11),
]


def deployments(scenario):
    return scenario.deployments.values()


@pytest.mark.slow
@pytest.mark.parametrize(("key", "value", "holds"), MOVES, ids=[key for key, *_ in MOVES])
def test_a_control_changes_the_scenario_and_the_page(dashboard, key, value, holds):
    before = dashboard.open().html

    dashboard.move(key, value)

    assert holds(dashboard.scenario())
    assert dashboard.said == ""
    assert dashboard.html != before or key in ("requests", "seed", "seeds")


def test_a_change_of_one_deployment_leaves_the_others(dashboard):
    dashboard.open().move("replicas:h200-plain", 2)

    found = {name: spec.replicas for name, spec in dashboard.scenario().deployments.items()}

    assert found == {"h200-plain": 2, "h200-spec": 6, "b200-plain": 3, "b200-spec": 3}


def test_what_the_scenario_does_not_take_is_said_and_taken_back(dashboard):
    dashboard.open()
    budget = changed(dashboard, "deployments.h200-plain.engine.max_num_batched_tokens", 6)
    dashboard.at.session_state["specfleet_loaded"] = budget
    dashboard.at.run()

    dashboard.move("draft:h200-plain", "EAGLE-3 head").move("k", 7)

    assert "6: a step verifies 8 tokens of each sequence" in dashboard.said
    assert dashboard.control("k").value == 3


def test_more_draft_tokens_than_were_measured_are_called_extrapolated(dashboard):
    dashboard.open().move("k", 7)

    assert dashboard.said == ""
    assert "extrapolated beyond K = 4" in dashboard.html


def test_a_head_from_the_list_replaces_the_draft_of_one_deployment(dashboard):
    dashboard.open().move("draft:h200-plain", "EAGLE-3 head")

    assert dashboard.said == ""
    assert dashboard.scenario().deployments["h200-plain"].speculation.draft.head.method == "eagle3"
    assert dashboard.control("draft:h200-plain").value == "EAGLE-3 head"
    assert "llama-3.1-8b-eagle3-mt-bench" in dashboard.html


def test_the_sliders_of_chains_leave_trees_alone(dashboard):
    dashboard.open()
    tree = {"shape": "tree", "widths": [2]}
    accepted = {"all": {"survival": [0.5], "of": "tree"}}
    speculation = {
        "kind": "drafts",
        "drafts": {"a": {"model": "llama-3.2-1b", "acceptance": accepted}},
        "propose": tree,
    }
    dashboard.at.session_state["specfleet_loaded"] = changed(
        dashboard, "deployments.b200-spec.speculation", speculation
    )
    dashboard.at.run()

    dashboard.move("k", 2).move("acceptance", 0.5)

    assert dashboard.said == ""
    assert dashboard.scenario().deployments["b200-spec"].speculation.propose.widths == (2,)
    assert dashboard.scenario().deployments["h200-spec"].speculation.propose.draft_tokens == 2


def test_a_target_of_the_95th_percentile_leaves_the_others(dashboard):
    dashboard.open()
    dashboard.at.session_state["specfleet_loaded"] = changed(dashboard, "slo.ttft_s", {"p95": 1.0, "p99": 3.0})

    dashboard.at.run()
    dashboard.move("ttft", 0.5)

    assert dashboard.scenario().slo.ttft_s == {"p95": 0.5, "p99": 3.0}


def test_a_constant_acceptance_opens_more_draft_tokens(dashboard):
    dashboard.open().move("acceptance", 0.6).move("k", 7)

    assert dashboard.scenario().deployments["b200-spec"].speculation.propose.draft_tokens == 7


def test_fixed_lengths_bring_their_own_controls(dashboard):
    dashboard.open().move("lengths", "fixed").move("prompt", 2048).move("output", 128)

    assert dashboard.scenario().workload.lengths.model_dump() == {
        "kind": "fixed", "prompt_tokens": 2048, "output_tokens": 128,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["offline_batch", "saturated", "llama_405b", "reasoning_long_outputs", "long_context"])
def test_every_built_in_scenario_opens(dashboard, name):
    dashboard.open().move("open", name)

    assert dashboard.scenario().name == name.replace("_", "-")
    assert not dashboard.at.exception
    assert 'class="sf-winner' in dashboard.html


def test_values_beyond_a_control_are_shown_as_they_are(dashboard):
    dashboard.open()
    dashboard.at.session_state["specfleet_loaded"] = changed(dashboard, "replications", 400)
    dashboard.at.run()

    assert dashboard.control("seeds").value == 400
    assert not dashboard.at.exception


def test_a_price_source_brings_no_picture_into_the_page(dashboard):
    dashboard.open()
    source = "![x](https://elsewhere/x.png)"
    price = {"usd_per_gpu_hour": 3.0, "source": source, "as_of": "2026-01-01"}
    dashboard.at.session_state["specfleet_loaded"] = changed(dashboard, "deployments.h200-plain.price", price)
    dashboard.at.run()

    assert source not in dashboard.control("price:h200-sxm").proto.help
    assert "elsewhere/x.png" in dashboard.control("price:h200-sxm").proto.help
