"""Plan files: what may be varied, and which candidates come of it."""

import re
from pathlib import Path

import pytest
import yaml

from scenarios.files import builtin_names, builtin_plans, find_scenarios
from scenarios.load import load_scenario
from scenarios.plan_file import described, load_plan
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, edited, line_of
from tests.scenarios.plan_examples import PLAN, plan_of, varied

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def planned():
    return plan_of(CHAT + PLAN)


def test_every_offer_in_every_choice_is_a_candidate(planned):
    assert len(planned.scenario.deployments) == 2 * 2 * (1 + 3)
    assert list(planned.scenario.deployments)[:2] == ["plain.h200-sxm.tp1", "plain.h200-sxm.tp2"]
    assert "spec.b200-sxm.tp2.k3" in planned.scenario.deployments


def test_a_candidate_says_what_was_chosen_of_which_offer(planned):
    name = "spec.b200-sxm.tp2.k3"

    assert planned.offers[name] == "spec"
    assert planned.choices[name] == {
        "gpu": "b200-sxm",
        "target.tensor_parallel": 2,
        "speculation.propose.draft_tokens": 3,
    }
    deployment = planned.scenario.deployments[name]
    assert (deployment.gpu, deployment.target.tensor_parallel, deployment.speculation.draft_tokens) == (
        "b200-sxm",
        2,
        3,
    )


def test_an_offer_without_the_place_is_not_varied_by_it(planned):
    assert "speculation.propose.draft_tokens" not in planned.choices["plain.h200-sxm.tp1"]


def test_the_question_is_read(planned):
    assert planned.plan.headroom == 0.1
    assert planned.plan.confirm == 6


def test_a_set_reaches_the_question():
    planned = plan_of(CHAT + PLAN, "plan.headroom=0.2", "plan.vary.target.tensor_parallel=[4]", "plan.spare_replicas=1")

    assert (planned.plan.headroom, planned.plan.spare_replicas) == (0.2, 1)
    assert {of["target.tensor_parallel"] for of in planned.choices.values()} == {4}


def test_the_only_value_of_a_choice_is_no_part_of_a_name():
    assert list(plan_of(varied(target__tensor_parallel=[2])).scenario.deployments) == ["plain", "spec"]


def test_a_scenario_without_a_question_asks_for_the_replicas_of_its_deployments():
    planned = plan_of(CHAT)

    assert list(planned.scenario.deployments) == ["plain", "spec"]
    assert planned.plan.vary == {}


def test_replicas_and_whatever_is_varied_may_be_left_out():
    text = edited(("    replicas: 1\n", ""), ("    gpu: h200-sxm\n", ""), (", draft_tokens: 2", "")) + PLAN

    assert len(plan_of(text).scenario.deployments) == 16


def test_shared_draft_gpus_have_enough_replicas_to_share_them():
    pool = {"kind": "dedicated", "gpus": 1, "link": "nvlink", "shared_by": 4}

    planned = plan_of(varied(speculation__placement=[{"kind": "colocated"}, pool]))

    assert planned.scenario.deployments["spec.colocated"].replicas == 1
    assert planned.scenario.deployments["spec.dedicated"].replicas == 4


def test_a_place_inside_of_one_that_is_varied_is_varied_where_it_is_there():
    small = {
        "kind": "drafts",
        "drafts": {"small": {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": [0.8]}}}},
    }
    text = varied(
        speculation__propose__draft_tokens=[1, 2],
        speculation=[{"kind": "none"}, {**small, "propose": {"shape": "chain", "draft_tokens": 1}}],
    )

    names = list(plan_of(text).scenario.deployments)

    assert names[:3] == ["plain.none", "plain.k1.drafts", "plain.k2.drafts"]


def test_values_that_read_alike_are_numbered():
    engines = [{"policy": "vllm"}, {"policy": "vllm", "max_num_seqs": 64}]

    assert list(plan_of(varied(engine=engines)).scenario.deployments)[:2] == ["plain.vllm-1", "plain.vllm-2"]


@pytest.mark.parametrize(
    ("path", "values", "names"),
    [
        ("engine__max_num_seqs", [None, 64], ["seqs-default", "seqs64"]),
        ("engine__prefix_cache", [True, False], ["prefix_cache-true", "prefix_cache-false"]),
        ("engine__memory_fraction", [0.9, 0.85], ["memory_fraction0.9", "memory_fraction0.85"]),
        (
            "speculation__drafts__small__acceptance__code__survival",
            [[0.8, 0.6], [0.9, 0.7]],
            ["survival-0.8-0.6", "survival-0.9-0.7"],
        ),
    ],
)
def test_a_name_says_what_was_chosen(path, values, names):
    found = list(plan_of(varied(**{path: values})).scenario.deployments)

    assert found[-2:] == [f"spec.{name}" for name in names]


def test_names_that_are_too_long_are_cut_and_stay_apart():
    long = "x" * 78
    text = edited(("  plain:\n", f"  {long}:\n"), ("extends: plain", f"extends: {long}"))

    names = list(plan_of(f"{text}plan: {{vary: {{engine.max_num_seqs: [64, 65]}}}}\n").scenario.deployments)

    assert names[:2] == ["x" * 73 + ".seqs64", "x" * 73 + ".seqs65"]
    assert len(set(names)) == 4


def test_offers_that_differ_beyond_where_they_are_cut_stay_apart():
    long = "x" * 75
    text = edited(
        ("  plain:\n", f"  {long}-one:\n"),
        ("  spec:\n", f"  {long}-two:\n"),
        ("extends: plain", f"extends: {long}-one"),
    )

    names = list(plan_of(f"{text}plan: {{vary: {{engine.max_num_seqs: [64, 65]}}}}\n").scenario.deployments)

    assert len(set(names)) == 4
    assert all(len(name) <= 80 and ".seqs6" in name for name in names)


def test_what_is_left_out_is_counted_by_candidates_and_not_by_reasons():
    planned = plan_of(varied(engine__max_num_seqs=[64, 65], target__tensor_parallel=[1, 2, 3]))

    found = described({"points": [], "counts": {"candidates": 8}}, planned)

    assert found["counts"] == {"candidates": 8, "refused": 4}
    assert [one["count"] for one in found["refused"]] == [4]


def test_an_offer_called_as_a_candidate_of_another_is_a_candidate_of_its_own():
    text = f"{CHAT}  spec.k1: {{extends: plain, speculation: {{kind: none}}}}\n"

    planned = plan_of(f"{text}plan: {{vary: {{speculation.propose.draft_tokens: [1, 2]}}}}\n")

    assert list(planned.offers.items()) == [
        ("plain", "plain"), ("spec.k1", "spec"), ("spec.k2", "spec"), ("spec.k1-4", "spec.k1")
    ]  # fmt: skip


def test_what_a_choice_makes_impossible_is_left_out_with_the_reason():
    text = varied(speculation__drafts__small__tensor_parallel=[1, 2], target__tensor_parallel=[1, 2, 3])

    planned = plan_of(text)

    assert set(planned.scenario.deployments) == {
        "plain.target-tp1",
        "plain.target-tp2",
        "spec.small-tp1.target-tp1",
        "spec.small-tp1.target-tp2",
        "spec.small-tp2.target-tp2",
    }
    reasons = {refused.reason.partition(":")[0]: refused.count for refused in planned.refused}
    assert reasons["draft small"] == 1
    assert sum(refused.count for refused in planned.refused) == 4


def test_a_price_that_a_list_does_not_have_leaves_a_candidate_out():
    planned = plan_of(
        varied(gpu=["h200-sxm", "b200-sxm"], price=[{"catalog": "nebius-on-demand"}, {"catalog": "aws-reserved"}])
    )

    assert sum(refused.count for refused in planned.refused) == 2
    assert "aws-reserved" in planned.refused[0].reason


def test_run_and_estimate_lead_to_plan():
    text = CHAT + PLAN

    with pytest.raises(ScenarioError, match=r"this file asks for a plan: `specfleet plan chat\.yaml`") as error:
        load_scenario("chat.yaml", text=text)

    assert str(error.value).startswith(f"chat.yaml:{line_of(text, 'plan:')}: plan: ")
    assert load_scenario("chat.yaml", ["plan=null"], text=text).name == "chat"


def test_the_document_with_sets_applied_loads_to_the_same_candidates(tmp_path, monkeypatch):
    (tmp_path / "own.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,100,10\n")
    monkeypatch.chdir(tmp_path)
    planned = plan_of(CHAT + PLAN, "workload.arrivals={kind: trace, file: own.csv}", "plan.spare_replicas=2")
    monkeypatch.chdir("/")

    again = plan_of(yaml.safe_dump(planned.document, sort_keys=False))

    assert again.scenario == planned.scenario
    assert again.plan == planned.plan


def test_a_folder_gives_its_scenarios_and_leaves_its_plans_out(tmp_path):
    (tmp_path / "chat.yaml").write_text(CHAT)
    (tmp_path / "plan.yaml").write_text(CHAT + PLAN)

    assert find_scenarios(tmp_path) == [str(tmp_path / "chat.yaml")]

    (tmp_path / "chat.yaml").unlink()
    with pytest.raises(ScenarioError, match="its plan files are for `specfleet plan`"):
        find_scenarios(tmp_path)


def test_the_page_on_planning_shows_questions_that_load():
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    first, *others = re.findall(r"```yaml\n(plan:\n.*?)```", page, re.DOTALL)

    assert plan_of(CHAT + first).plan.spare_replicas == 1
    assert all(plan_of(CHAT + other).plan for other in others)


def test_the_built_in_plans_are_those():
    assert builtin_plans() == ["plan_70b_chat"]
    assert not set(builtin_plans()) & set(builtin_names())


def test_the_built_in_plan_has_more_than_five_hundred_candidates_and_says_what_it_assumes():
    planned = load_plan("plan_70b_chat")

    assert len(planned.scenario.deployments) >= 500
    assert planned.refused == ()
    assert {of.gpu for of in planned.scenario.deployments.values()} == {"h200-sxm", "b200-sxm"}
    assert planned.path is not None
    text = planned.path.read_text()
    assert "# Question: " in text
    assert "# Assumptions" in text
    assert planned.scenario.description.endswith("?")
