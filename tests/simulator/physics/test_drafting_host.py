"""Host time of speculation, once a step: drafts with passes have it, trees more of it, copied text none."""

import pytest

from simulator.catalog.load import load_engine
from tests.simulator.physics.speculating import EAGLE3, chain, step_model

OVERHEAD = load_engine("vllm").overhead
TREE_S = 32 * OVERHEAD.tree_layer_us * 1e-6


def added_s(propose, draft=EAGLE3, **more):
    return step_model(draft, propose=propose, **more).draft.step_s


def test_a_chain_has_the_time_of_a_speculative_step():
    assert added_s(chain(3)) == OVERHEAD.speculative_step_s > 0


@pytest.mark.parametrize(
    "propose",
    [
        {"shape": "tree", "widths": [2, 1]},
        {"shape": "nodes", "paths": [[0], [1]]},
        {"shape": "dynamic_tree", "depth": 3, "top_k": 2, "nodes": 3},
    ],
)
def test_a_tree_has_more(propose):
    assert added_s(propose) == OVERHEAD.speculative_step_s + TREE_S > OVERHEAD.speculative_step_s


def test_copied_text_has_none():
    assert added_s(chain(3), {"ngram": {}}) == 0.0


def test_a_union_is_verified_as_a_tree():
    union = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}

    assert step_model(EAGLE3, EAGLE3, combine=union).draft.step_s == OVERHEAD.speculative_step_s + TREE_S


def test_a_union_that_proposes_nothing_verifies_no_tree():
    union = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}

    assert step_model(EAGLE3, EAGLE3, combine=union, propose=chain(0)).draft.step_s == OVERHEAD.speculative_step_s
