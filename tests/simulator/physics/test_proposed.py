"""Chains, trees, routed drafts and unions come down to survival by group; the first checks are identities."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import ScenarioError
from simulator.physics.factors import Conditions
from simulator.physics.proposed import (
    class_parts,
    extrapolations,
    proposed_shares,
    survival_by_group,
    tokens_over_steps,
)
from simulator.physics.spread import mean_over_steps
from simulator.spec.acceptance import Acceptance
from simulator.spec.speculation import DraftSpeculation

CODE, PROSE = [0.8, 0.65, 0.5], [0.6, 0.35, 0.2]
curves = st.lists(st.floats(0, 1), min_size=3, max_size=3).map(lambda s: sorted(s, reverse=True))


def speculation(*acceptances, combine=None, propose=None, **draft):
    """Drafts a, b, … with their acceptance of every class."""
    costs = {"abstract": {"flops_ratio": 0.1, "latency_ratio": 0.1, "weights_gb": 1, "kv_bytes_per_token": 0}}
    drafts = {
        name: (draft or costs) | {"acceptance": {"all": of}} for name, of in zip("abcd", acceptances, strict=False)
    }
    return DraftSpeculation.model_validate(
        {"kind": "drafts", "drafts": drafts, "propose": propose or {"draft_tokens": 3}, "combine": combine or {}}
    )


def table(*acceptances, **other):
    """[groups, depth] and weights of class c under the first prompt length."""
    survival, weights = survival_by_group(class_parts(speculation(*acceptances, **other), "c"))
    return survival[0], weights


def routed(accuracy):
    router = {"parameters": 1e8, "latency_s": 0.001}
    return {"kind": "routed", "routes": {"all": "a"}, "accuracy": {"all": accuracy}, "fallback": "b", "router": router}


def union(correlation, **other):
    return {"kind": "union", "recursive_rejection": {"correlation": correlation, **other}}


@pytest.mark.parametrize("spread", [0.0, 0.7])
@pytest.mark.parametrize(("accuracy", "draft"), [(1.0, CODE), (0.0, PROSE)])
def test_a_router_that_is_always_right_is_the_own_draft_and_one_that_never_is_the_fallback(accuracy, draft, spread):
    code, prose, draft = ({"survival": of, "spread": spread} for of in (CODE, PROSE, draft))

    for found, alone in zip(table(code, prose, combine=routed(accuracy)), table(draft), strict=True):
        assert np.array_equal(found, alone)


def test_a_router_sends_its_share_and_a_group_is_as_difficult_for_either_draft():
    spread, alike = {"survival": CODE, "spread": 0.7}, {"survival": PROSE}

    survival, weights = table(spread, alike, combine=routed(0.75))

    assert weights.sum() == pytest.approx(1)
    assert np.array_equal(survival[::2], table(spread)[0])
    assert np.array_equal(survival[1::2], np.tile(PROSE, (64, 1)))
    assert weights[:2] == pytest.approx([0.75 / 64, 0.25 / 64])


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_one_draft_in_a_union_is_that_draft_alone(spread):
    given_ = {"survival": CODE, "spread": spread}

    assert np.array_equal(table(given_, combine=union(0.3))[0], table(given_)[0])


@given(curves, curves, st.floats(0, 1), st.sampled_from([None, ["a", "b"], ["b", "a"]]))
def test_a_union_is_no_worse_than_the_draft_tried_first_and_no_better_than_their_sum(one, other, correlation, order):
    first = {None: max(one, other, key=sum), "a": one, "b": other}[order and order[0]]

    ((found,), _) = table({"survival": one}, {"survival": other}, combine=union(correlation, order=order))

    assert np.all(found >= np.array(first) - 1e-12)
    assert np.all(found <= np.array(one) + other + 1e-12)
    assert all(after <= before + 1e-12 for before, after in pairwise(found))


def test_the_better_draft_of_the_class_is_tried_first():
    best, worst = ({"survival": of} for of in (CODE, PROSE))

    assert table(worst, best, combine=union(1.0))[0][0] == pytest.approx(CODE)


def test_a_union_that_was_measured_is_used_as_measured_and_extended():
    found, _ = table(*({"survival": CODE},) * 2, combine={"kind": "union", "survival": {"all": [0.9, 0.72]}})

    assert found[0] == pytest.approx([0.9, 0.72, 0.72 * 0.8 * 0.8 / 0.9])


def test_drafts_of_a_union_find_the_same_requests_difficult():
    spread = {"survival": CODE, "spread": 0.7}

    found, _ = table(spread, {"survival": PROSE, "spread": 0.7}, combine=union(0.0))

    assert np.all(np.diff(found, axis=0) > 0)
    assert np.all(found >= table(spread)[0])


@pytest.mark.parametrize(
    "propose", [{"shape": "tree", "widths": [1, 1, 1]}, {"shape": "nodes", "paths": [[0], [0, 0], [0, 0, 0]]}]
)
def test_a_tree_of_width_one_is_the_chain_to_the_last_bit(propose):
    acceptance = {"survival": CODE, "spread": 0.5}

    assert np.array_equal(table(acceptance, propose=propose)[0], table(acceptance)[0])


def test_a_second_child_adds_what_the_first_leaves_in_the_proportions_measured():
    acceptance = {"survival": [0.7, 0.42], "branches": [0.6, 0.2, 0.1]}

    ((found,), _) = table(acceptance, propose={"shape": "tree", "widths": [2, 1]})

    assert found == pytest.approx([0.7 + 0.3 * 0.5, (0.7 + 0.15) * 0.6])


def test_children_beyond_those_measured_fall_on_and_never_exceed_what_is_left():
    tree = {"shape": "tree", "widths": [6]}

    (narrow, wide) = (table({"survival": [0.6], "branches": b}, propose=tree)[0] for b in ([0.6, 0.1], [0.6, 0.2, 0.2]))

    assert 0.7 < narrow[0, 0] < 1.0
    assert wide[0, 0] <= 1.0 + 1e-12


def test_figures_of_the_very_tree_are_used_by_depth():
    acceptance = {"survival": [0.9, 0.7], "of": "tree"}

    assert table(acceptance, propose={"shape": "tree", "widths": [4, 2]})[0].tolist() == [[0.9, 0.7]]


@pytest.mark.parametrize(
    ("acceptance", "message"),
    [
        ({"survival": [0.7]}, "up to 3 children, and nothing says what each brings: add branches"),
        ({"survival": [0.7], "branches": [0.7, 0.1], "drafted": {0: 1, 1: 9}}, "leave it out where a tree is proposed"),
    ],
)
def test_a_tree_whose_further_children_are_unknown_is_an_error(acceptance, message):
    with pytest.raises(ScenarioError, match=message):
        table(acceptance, propose={"shape": "tree", "widths": [3]})


def test_tokens_that_a_subset_routes_elsewhere_count_as_rejected():
    subset = {"resident_experts": 32, "active_experts": 2, "routing_mismatch": 0.1}

    found, _ = table({"survival": [0.8, 0.6]}, propose={"draft_tokens": 2}, moe_subset=subset)

    assert found[0] == pytest.approx([0.8 * 0.9, 0.6 * 0.81])


def test_a_prompt_length_has_a_table_of_its_own_in_every_shape():
    acceptance = {"survival": [0.8, 0.6], "branches": [0.6, 0.2], "by_context": {0: 1.0, 1000: 0.5}}
    lengths = Conditions(prompt_tokens=(0.0, 500.0, 1000.0))

    for propose in ({"draft_tokens": 2}, {"shape": "tree", "widths": [2, 1]}):
        (part,) = class_parts(speculation(acceptance, propose=propose), "c", lengths)
        tokens = tokens_over_steps(part)

        assert part.survival.shape == (3, 1, 2)
        assert tokens[0] > tokens[1] > tokens[2]


def test_tokens_per_step_of_a_spread_draft_come_back():
    (part,) = class_parts(speculation({"survival": CODE, "spread": 1.0}), "c")

    assert tokens_over_steps(part) == pytest.approx([mean_over_steps(np.array([1 + sum(CODE)]))])


def test_drafts_of_a_union_propose_what_each_proposes():
    less, all_ = {"survival": [0.4, 0.3, 0.2], "drafted": {0: 1, 3: 1}}, {"survival": CODE}

    shares = proposed_shares(speculation(less, all_, combine=union(0.5)), None, "c")

    assert shares == (0, 0, 0, 0.5, 0, 0, 0.5)
    assert proposed_shares(speculation(all_), "a", "c") is None


def test_a_tree_that_was_measured_as_a_whole_says_how_many_nodes_there_were():
    counted = {"histogram": {0: 5, 1: 3, 2: 2}, "drafted": {0: 2, 4: 8}, "of": "tree"}
    spec = speculation(counted, propose={"shape": "tree", "widths": [2, 1]})

    (part,) = class_parts(spec, "c")

    assert proposed_shares(spec, "a", "c") == (0.2, 0, 0, 0, 0.8)
    assert part.survival[0, 0].tolist() == [0.5, 0.2]


def test_a_union_that_was_measured_as_a_whole_asks_its_drafts_for_nothing():
    spec = speculation({"survival": CODE}, {"survival": PROSE}, combine={"kind": "union", "survival": {"all": CODE}})
    silent = {name: draft.model_copy(update={"acceptance": {}}) for name, draft in spec.drafts.items()}
    less = silent["b"].model_copy(update={"acceptance": {"all": Acceptance(survival=(0.4,), drafted={0: 1, 3: 1})}})

    assert proposed_shares(spec.model_copy(update={"drafts": silent}), None, "c") is None
    shares = proposed_shares(spec.model_copy(update={"drafts": silent | {"b": less}}), None, "c")
    assert shares == (0, 0, 0, 0.5, 0, 0, 0.5)


def test_what_is_used_beyond_what_was_measured_is_named():
    tree = {"shape": "tree", "widths": [3, 1, 1, 1]}
    deep = speculation({"survival": CODE, "branches": [0.6, 0.2]}, propose=tree)
    two = speculation({"survival": CODE}, {"tokens_per_step": 2, "at": 2}, combine=union(0.5))

    assert list(extrapolations(deep, ["x", "y"])) == [
        "acceptance of x, y extrapolated beyond K = 3",
        "acceptance of x, y extrapolated beyond children of a node = 2",
    ]
    assert list(extrapolations(two, ["x"])) == ["acceptance of x by b extrapolated beyond K = 2"]
    assert list(extrapolations(speculation({"survival": CODE}), ["x"])) == []
