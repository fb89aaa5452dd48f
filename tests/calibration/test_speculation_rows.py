"""From a measured speed-up to the two deployments that it compares."""

import pytest

from tests.calibration.speculating import CHAIN, LOOKUP, TREE, cases


def test_a_chain_of_a_published_head_has_its_shapes_and_says_what_is_assumed(tmp_path):
    (case,) = cases(tmp_path, CHAIN)
    (draft,) = case.speculative.speculation.drafts.values()

    assert case.unit == ("sglang", "h200-sxm", "llama-3.1-8b")
    assert (draft.head.method, draft.head.vocab_size) == ("eagle3", 32000)
    assert case.speculative.speculation.draft_tokens == 5
    assert case.plain.speculation.kind == "none"
    assert case.tokens_per_step == 3.4
    assert case.assumed == ("one GPU: the source gives no tensor parallelism",)


def test_a_tree_has_the_engines_depth_and_nodes_without_the_root(tmp_path):
    (case,) = cases(tmp_path, TREE)
    propose = case.speculative.speculation.propose

    assert (propose.depth, propose.top_k, propose.nodes) == (5, 3, 5)


def test_a_length_that_is_published_apart_is_joined(tmp_path):
    eagle3 = LOOKUP.replace("n-gram lookup,n-gram", "EAGLE-3,EAGLE-3")
    lookup, head = cases(tmp_path, LOOKUP, eagle3)

    assert (lookup.tokens_per_step, head.tokens_per_step) == (1.16, 2.4)
    assert head.assumed == ("one GPU: the source gives no tensor parallelism",)


def test_a_borrowed_length_is_said(tmp_path):
    (case,) = cases(tmp_path, LOOKUP.replace("n-gram lookup,n-gram", "EAGLE,EAGLE"))

    assert case.tokens_per_step == 2.4
    assert "that of EAGLE is not published" in case.assumed[-1]


def test_a_look_up_proposes_where_it_finds_something(tmp_path):
    (case,) = cases(tmp_path, LOOKUP)
    (draft,) = case.speculative.speculation.drafts.values()

    assert draft.acceptance["all"].drafted == {0: 712, 3: 288}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("H200", "A100", "GPU A100 is not in the catalog"),
        ("SGLang", "HF/PyTorch", "engine HF/PyTorch is not in the catalog"),
        ("Llama-3.1-8B-Instruct", "Vicuna-7B", "target Vicuna-7B is not in the catalog"),
        ("EAGLE-3 chain,1", "Medusa,1", "method Medusa is not modelled"),
        (",2.3,190,437,", ",,,,", "no time was measured"),
        (",3.4,1,", ",,,", "no accepted length of EAGLE-3 chain on gpqa is known"),
        ("EAGLE-3 chain,1,", "EAGLE-3 chain,,", "no draft length or no batch"),
    ],
)
def test_a_row_that_cannot_be_predicted_says_why(tmp_path, old, new, says):
    assert cases(tmp_path, CHAIN.replace(old, new)) == [says]
