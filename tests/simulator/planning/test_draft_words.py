import pytest

from simulator.planning.context import row_context
from simulator.planning.draft_words import speculation_words
from simulator.spec.speculation import DraftSpeculation
from tests.scenarios.examples import CHAT, load_text

ACCEPTED = {"acceptance": {"all": {"survival": [0.8, 0.6]}}}
CHAIN = {"shape": "chain", "draft_tokens": 4}
ROUTED = {
    "kind": "routed", "routes": {"all": "a"}, "accuracy": {"all": 1.0}, "fallback": "b",
    "router": {"parameters": 150_000_000, "latency_s": 0.001},
}  # fmt: skip


def words(propose=CHAIN, combine=None, **drafts):
    data = {"kind": "drafts", "drafts": {name: way | ACCEPTED for name, way in drafts.items()}, "propose": propose}
    return speculation_words(DraftSpeculation.model_validate(data | ({"combine": combine} if combine else {})))


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ({"model": "llama-3.2-1b"}, "llama-3.2-1b, chain of 4"),
        ({"measured": "lookup"}, "lookup, chain of 4"),
        ({"head": {"method": "eagle3"}}, "eagle3 head, chain of 4"),
        ({"ngram": {}}, "n-gram, chain of 4"),
        ({"moe_subset": {"resident_experts": 32, "active_experts": 2}}, "2 of 32 own experts, chain of 4"),
    ],
)
def test_a_single_draft_is_told_by_the_way_it_is_given(way, said):
    assert words(d=way) == said


def test_several_drafts_are_told_by_name_and_how_they_are_combined():
    a, b = {"model": "llama-3.2-1b"}, {"model": "qwen3-0.6b"}

    assert words(combine=ROUTED, a=a, b=b) == "a + b, routed, chain of 4"
    assert words(combine={"kind": "union", "survival": {"all": [0.9]}}, a=a, b=b) == "a + b, together, chain of 4"


def test_a_tree_is_told_by_its_tokens_and_its_depth():
    draft = {"model": "llama-3.2-1b"}

    assert words({"shape": "tree", "widths": [2, 2]}, d=draft).endswith("tree of 6, depth 2")
    assert words({"shape": "best_tree", "max_nodes": 32}, d=draft).endswith("best tree of at most 32")


def test_a_row_says_which_drafts_there_are_and_what_they_weigh():
    scenario = load_text(CHAT).points[0].scenario

    plain, spec = (row_context(scenario, name, "base") for name in ("plain", "spec"))

    assert (plain.speculation, plain.drafts, plain.draft_bytes) == (None, (), None)
    assert (spec.speculation, spec.drafts) == ("llama-3.2-1b, chain of 2", ("small",))
    assert spec.draft_bytes == pytest.approx(2.47e9, rel=0.01)
