"""What each way to hold KV buys: held against the ledger and the estimate themselves."""

import pytest

from app.dashboard.kv_steps import AS_IT_IS, bought, steps_of, with_step
from scenarios.load import load_scenario
from simulator.physics.ledger import memory_ledger
from simulator.planning.estimate import estimate


def scenario_of(built_in, *sets):
    return load_scenario(built_in, sets).points[0].scenario


def by_name(scenario, name, length=32768):
    return {one.step.name: one for one in bought(scenario, name, length)}


@pytest.fixture(scope="module")
def long():
    """Long contexts in bf16: a target, a draft with its whole cache, and one with a window."""
    return scenario_of("long_context_split_cache")


def test_every_step_has_the_figures_of_the_ledger_and_the_estimate(long):
    for step in steps_of(long, "whole-cache"):
        changed = with_step(long.deployments["whole-cache"], step.changes)
        row = memory_ledger("whole-cache", changed)[0]
        estimated = estimate(long.model_copy(update={"deployments": {"whole-cache": changed}}), "whole-cache")

        found = by_name(long, "whole-cache")[step.name]

        assert (found.sequences, found.kv_tokens, found.reason) == (row.max_sequences_at[32768], row.kv_tokens, "")
        assert found.row["tpot_s"] == estimated["tpot_s"]
        assert found.row["usd_per_million_output_tokens_at_capacity"] == pytest.approx(
            estimated["usd_per_million_output_tokens_at_capacity"]
        )


def test_the_target_in_eight_bits_holds_twice_the_sequences(long):
    found = by_name(long, "plain")

    assert found["target's KV in fp8"].sequences == pytest.approx(2 * found[AS_IT_IS].sequences, rel=0.02)


def test_a_host_tier_holds_more_and_takes_longer(long):
    found = by_name(long, "plain")
    host = next(one for name, one in found.items() if "of the host" in name)

    assert host.sequences > 1.9 * found[AS_IT_IS].sequences
    assert 0.4 < host.kv_host_share < 0.6
    assert host.row["tpot_s"]["p50"] > found[AS_IT_IS].row["tpot_s"]["p50"]


def test_a_window_of_the_draft_leaves_room_for_the_target(long):
    found = by_name(long, "whole-cache")

    assert found["draft's KV in a window of 512"].sequences > found[AS_IT_IS].sequences
    assert found["no draft"].sequences >= found["draft's KV in a window of 512"].sequences


def test_what_is_chosen_already_is_offered_the_other_way(long):
    names = list(by_name(long, "split-cache"))
    host = by_name(long, "plain-host-tier")

    assert "draft's KV without a window" in names
    assert "draft's KV in a window of 512" not in names
    assert host["no KV on the host"].sequences < host[AS_IT_IS].sequences


def test_what_takes_less_room_is_counted_together_too(long):
    found = by_name(long, "whole-cache")
    together = found["all of these together"]

    assert set(together.step.changes) == {"target.kv", "speculation.drafts.small.window"}
    assert together.sequences == max(one.sequences for name, one in found.items() if "host" not in name)


def test_a_prefix_cache_is_a_step_where_prompts_have_something_in_common(long):
    shared = scenario_of("h200_vs_b200_chat", "workload.prefix={shared_tokens: 500}")

    assert by_name(shared, "h200-plain", 8192)["no prefix cache"].step.changes == {"engine.prefix_cache": False}
    assert not any("prefix" in name for name in by_name(long, "plain"))


def test_a_step_that_the_model_refuses_says_why():
    chat = scenario_of("h200_vs_b200_chat")
    draft = with_step(chat.deployments["h200-spec"], {"speculation.drafts.general.model": "gemma-3-1b"})
    scenario = chat.model_copy(update={"deployments": {"a": draft}})

    refused = by_name(scenario, "a", 8192)["draft's KV in a window of 512"]

    assert "keep a window of their own" in refused.reason
    assert (refused.fits, refused.row) == (False, None)


def test_what_does_not_fit_has_no_estimate_and_says_what_it_lacks():
    found = by_name(scenario_of("h200_vs_b200_chat", "deployments.h200-plain.engine.hbm_budget_gb=20"), "h200-plain")

    as_it_is = found[AS_IT_IS]
    assert f"lacks {as_it_is.shortfall_bytes / 2**30:.2f} GiB" in as_it_is.reason
    assert (as_it_is.fits, as_it_is.row) == (False, None)
    assert not any("host" in name for name in found)


def test_a_host_that_is_the_device_has_no_second_tier():
    cpu = scenario_of("cpu_smollm2")

    assert not any("host" in step.name for step in steps_of(cpu, "plain"))


def test_the_cost_of_a_draft_goes_with_it():
    paid = scenario_of(
        "h200_vs_b200_chat", "deployments.h200-spec.economics={training_gpu_hours: 10, usd_per_gpu_hour: 2}"
    )

    assert by_name(paid, "h200-spec", 8192)["no draft"].reason == ""
