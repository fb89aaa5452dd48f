"""What well-formed drafts cannot do is told at its place."""

import pytest

from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, load_text

DRAFTS = "deployments.spec.speculation"
ROUTER = "router: {parameters: 1.5e+8, latency_s: 0.001}"
ONE = "code: {survival: [0.8, 0.6]}, prose: {survival: [0.5, 0.3]}"


def several(combine, general=ONE, coder="code: {survival: [0.9, 0.8]}"):
    drafts = (
        f"{{general: {{model: llama-3.2-1b, acceptance: {{{general}}}}}, "
        f"coder: {{model: llama-3.2-1b, acceptance: {{{coder}}}}}}}"
    )
    return f"{DRAFTS}={{kind: drafts, drafts: {drafts}, propose: {{draft_tokens: 2}}, combine: {combine}}}"


def routed(routes="{code: coder, prose: general}", accuracy="{all: 0.9}"):
    return f"{{kind: routed, routes: {routes}, accuracy: {accuracy}, fallback: general, {ROUTER}}}"


def refused(*sets):
    with pytest.raises(ScenarioError) as error:
        load_text(CHAT, *sets)
    return str(error.value)


def test_a_draft_needs_the_acceptance_of_what_is_routed_to_it_only():
    assert load_text(CHAT, several(routed())).points


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (several(routed("{code: coder, math: general, all: general}")), "the router has route for class math"),
        (several(routed("{code: coder}")), "the router has no route for class prose: name the class or `all`"),
        (several(routed(accuracy="{code: 0.9}")), "the router has no accuracy for class prose: name the class or"),
        (several(routed(accuracy="{maths: 0.9, all: 1}")), "the router has accuracy for class maths, which the"),
        (several(routed("{all: coder}")), "draft coder has no acceptance for class prose: name the class or `all`"),
        (several(routed(), general="code: {survival: [0.8]}"), "draft general has no acceptance for class prose"),
        (several(routed("{all: coder}"), "code: {survival: [0.8]}", ONE), "draft general has no acceptance for class"),
        (several("{kind: union, recursive_rejection: {correlation: 0}}"), "draft coder has no acceptance for class"),
        (several("{kind: union, survival: {code: [0.9]}}"), "the union has no survival for class prose: name the"),
        (several("{kind: union, survival: {all: [0.9], math: [1]}}"), "the union has survival for class math, which"),
    ],
)
def test_classes_that_are_missing_or_not_there_are_named(change, said):
    assert f"deployments.spec: {said}" in refused(change)


def test_a_union_that_was_measured_as_a_whole_asks_no_draft_for_its_acceptance():
    assert load_text(CHAT, several("{kind: union, survival: {all: [0.9, 0.7]}}", "", "")).points


@pytest.mark.parametrize("measured", ["[0.3, 0.2]", "[0.95, 0.95]", "[0.9, 0.2]"])
def test_a_union_is_not_measured_below_each_of_its_drafts_nor_above_all_together(measured):
    small = "code: {survival: [0.5, 0.3]}"

    said = refused(several(f"{{kind: union, survival: {{code: {measured}, prose: [0.6, 0.4]}}}}", ONE, small))

    assert "combine.survival" in said


def test_what_a_union_accepts_may_be_any_that_its_drafts_allow():
    measured = several("{kind: union, survival: {code: [0.95, 0.8], prose: [0.6, 0.4]}}", ONE, ONE)

    assert load_text(CHAT, measured).points


def test_a_union_is_held_to_no_draft_whose_acceptance_depends_on_the_prompt():
    long = "code: {survival: [0.8, 0.6], by_context: {100: 0.3, 8000: 0.3}}, prose: {survival: [0.5, 0.3]}"
    measured = several("{kind: union, survival: {code: [0.3, 0.2], prose: [0.6, 0.4]}}", long, long)

    assert load_text(CHAT, measured).points


def test_a_draft_that_nobody_is_routed_to_is_refused():
    said = refused(several(routed("{all: general}"), coder=ONE))

    assert "speculation.drafts.coder: no route leads to it and it is not the fallback" in said


def test_more_draft_tokens_than_were_measured_are_taken():
    assert load_text(CHAT, f"{DRAFTS}.propose.draft_tokens=4").points


def test_what_a_second_child_is_worth_must_be_known_for_a_tree():
    told = refused(f"{DRAFTS}.propose={{shape: tree, widths: [2, 1]}}")

    assert f"{DRAFTS}.drafts.small.acceptance: a tree is proposed, but for class code, prose nothing says what" in told


@pytest.mark.parametrize("known", ["branches: [0.8, 0.1]", "of: tree"])
def test_a_tree_is_taken_with_branches_or_with_figures_of_its_own(known):
    acceptance = f"{DRAFTS}.drafts.small.acceptance={{all: {{survival: [0.8, 0.6], {known}}}}}"

    assert load_text(CHAT, acceptance, f"{DRAFTS}.propose={{shape: tree, widths: [2, 1]}}").points


def test_figures_of_a_tree_are_not_those_of_a_chain():
    told = refused(f"{DRAFTS}.drafts.small.acceptance={{all: {{survival: [0.8, 0.6], of: tree}}}}")

    assert "of: tree (class all) says what a tree accepts, but chains are proposed" in told


def test_a_step_holds_all_nodes_of_a_sequence():
    acceptance = f"{DRAFTS}.drafts.small.acceptance={{all: {{survival: [0.8, 0.6], of: tree}}}}"
    tree = f"{DRAFTS}.propose={{shape: tree, widths: [4, 4]}}"

    told = refused(acceptance, tree, "deployments.plain.engine.max_num_batched_tokens=20")

    assert "engine.max_num_batched_tokens: 20: a step verifies 21 tokens of each sequence (20 draft tokens" in told


@pytest.mark.parametrize(
    ("acceptance", "temperature", "said"),
    [
        ("survival: [0.8], by_temperature: {0: 1, 1: 0.8}", "null", "acceptance.all: by_temperature has no effect"),
        ("survival: [0.8], by_temperature: {0: 1, 1: 0.8}", "1.5", "acceptance.all: by_temperature was measured from"),
        ("tokens_per_step: 2.9, at: 2, decay: 0.5", "null", "acceptance.all: decay 0.5 commits at most"),
        ("survival: [0.8]", "0.7", "workload.temperature: 0.7 has no effect: no draft says"),
    ],
)
def test_what_no_acceptance_is_known_for_is_told(acceptance, temperature, said):
    told = refused(
        f"{DRAFTS}.drafts.small.acceptance={{all: {{{acceptance}}}}}",
        f"workload.temperature={temperature}",
    )

    assert said in told
