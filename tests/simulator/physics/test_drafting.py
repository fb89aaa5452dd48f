"""What a draft costs by the way it is given, and for trees."""

from types import SimpleNamespace

import pytest

from simulator.catalog.load import load_engine, load_model
from simulator.errors import ProfileError, ScenarioError
from simulator.physics.draft import head_draft
from simulator.physics.drafting import COST_OF
from simulator.physics.forward import HeadCost, LayersCost
from simulator.physics.profiled import UNCALIBRATED
from simulator.spec.draft import WAYS, Head
from simulator.spec.speculation import Chain
from tests.simulator.physics.speculating import EAGLE3, PROMPT, SMALL, V3, chain, decode, draft_s, step_model

SUBSET = {"moe_subset": {"resident_experts": 32, "active_experts": 2}}
TREE = {"shape": "tree", "widths": [4, 2, 1]}
NGRAM = {"ngram": {"host_us_per_sequence": 3.0}}


def test_every_way_to_give_a_draft_has_a_cost():
    assert set(COST_OF) == set(WAYS)


def test_an_eagle3_head_costs_more_with_every_draft_token_and_a_parallel_head_hardly_any():
    """vLLM PR 32628 (gpt-oss-120b): 3.15 → 4.33 ms from K = 3 to 8 one after the other, 2.7 to 2.9 ms in parallel."""
    eagle3 = [draft_s(step_model(EAGLE3, propose=chain(k))) for k in (3, 8)]
    parallel = [
        draft_s(step_model({"head": EAGLE3["head"] | {"method": "parallel"}}, propose=chain(k))) for k in (3, 8)
    ]

    assert eagle3[1] / eagle3[0] == pytest.approx(8 / 3, rel=0.05)
    assert parallel[1] / parallel[0] < 1.1


def test_a_pass_of_an_eagle_head_takes_the_share_of_a_step_that_was_measured():
    """vLLM issue 20780, Llama-3.1-8B on an H100: 7.07 ms a token, 0.74 ms more for each draft token: 0.105."""
    model = step_model({"head": {"method": "eagle"}}, gpu="h100-sxm")

    assert model.draft_ratios(1, 600.0)[1] == pytest.approx(0.105, rel=0.2)


class Recorder:
    """A model's passes that take no time and remember their rows."""

    prefill_context_s, calibration = 0.0, UNCALIBRATED
    model = load_model("llama-3.2-1b")
    machine = SimpleNamespace(policy=load_engine("vllm"))

    def __init__(self):
        self.rows, self.logit_rows = [], []

    def layers(self, rows):
        self.rows.append(rows)
        return LayersCost(0.0, 0.0, 0.0, 0.0, 0.0)

    def head_cost(self, logit_rows):
        self.logit_rows.append(logit_rows)
        return HeadCost(0.0, 0.0, 0.0)

    def decode_attention(self, sequences, queries):
        return 0.0, 0.0


@pytest.mark.parametrize(
    ("head", "first_rows", "later_rows", "logit_rows"),
    [
        ({"method": "eagle3"}, [50], [10], [10, 10]),
        ({"method": "mtp", "modules": 4}, [50], [], [10]),
        ({"method": "parallel"}, [80], [], [40]),
    ],
)
def test_a_head_extends_its_cache_over_all_that_a_step_can_commit(head, first_rows, later_rows, logit_rows):
    """Ten sequences, K = 4: five tokens each, then one; passes that are alike are priced once."""
    first, later = Recorder(), Recorder()
    head_draft(Head(**head), first, later, first, Chain(draft_tokens=4)).passes(10, 4)

    assert (first.rows, later.rows) == (first_rows, later_rows)
    assert first.logit_rows + later.logit_rows == logit_rows


def test_a_draft_with_more_rows_than_the_largest_graph_is_launched_kernel_by_kernel():
    graph, eager = (
        step_model(SMALL, propose=chain(1), engine={"cuda_graph_max_tokens": n}).cost(decode(32, 1)).draft_s
        for n in (32, 31)
    )

    assert eager > 1.3 * graph


def test_modules_in_a_row_each_extend_their_cache():
    one, four = (step_model({"head": {"method": "mtp", "modules": n}}, propose=chain(4)) for n in (1, 4))

    assert draft_s(four, 256) > draft_s(one, 256)
    assert four.cost(PROMPT).draft_s == pytest.approx(4 * one.cost(PROMPT).draft_s)


def test_a_head_reads_the_prompt_in_a_small_part_of_the_targets_time():
    cost = step_model(EAGLE3).cost(PROMPT)

    assert 0.01 < cost.draft_s / (cost.total_s - cost.draft_s) < 0.1


def test_a_smaller_output_vocabulary_saves_time():
    whole, reduced = (draft_s(step_model({"head": {"method": "eagle3", "vocab_size": v}})) for v in (128256, 32000))

    assert reduced < 0.7 * whole


def test_copied_text_takes_the_host_time_of_its_sequences_and_no_prompt():
    model = step_model(NGRAM)

    assert draft_s(model, 10) == pytest.approx(30e-6)
    assert draft_s(model, 10, context=0) == draft_s(model, 10)
    assert model.cost(PROMPT).draft_s == 0.0
    assert model.draft_ratios(10, 1024.0)[0] == 0.0


def test_a_subset_of_the_experts_is_faster_than_the_target_and_slower_than_its_attention_alone():
    model = step_model(SUBSET, target=V3, propose=chain(1))
    plain = model.cost(decode(8, 1))

    assert 0.3 < model.draft_ratios(8, 8 * 1024.0)[1] < 1.0
    assert plain.draft_s > plain.attention_s


@pytest.mark.parametrize("change", [{"resident_experts": 128}, {"active_experts": 4}])
def test_more_experts_of_a_subset_take_longer(change):
    few, more = (
        draft_s(step_model({"moe_subset": SUBSET["moe_subset"] | some}, target=V3), 16) for some in ({}, change)
    )

    assert more > few


def test_a_subset_on_the_targets_own_cache_has_nothing_to_prefill():
    own, shared = (
        step_model({"moe_subset": SUBSET["moe_subset"] | {"shares_kv": flag}}, target=V3).cost(PROMPT).draft_s
        for flag in (False, True)
    )

    assert (own > 0.0, shared) == (True, 0.0)


def test_a_subset_of_more_experts_than_there_are_is_refused():
    with pytest.raises(ScenarioError, match="300 resident experts, but deepseek-v3 has 256 experts a layer"):
        step_model({"moe_subset": {"resident_experts": 300, "active_experts": 2}}, target=V3)


def test_a_draft_that_nobody_measured_is_refused():
    with pytest.raises(ProfileError, match=r"no measured steps of llama-3\.1-8b"):
        step_model({"measured": "lookup"})


@pytest.mark.parametrize("draft", [SMALL, EAGLE3, {"head": {"method": "parallel"}}])
def test_a_tree_of_width_one_costs_what_its_chain_costs(draft):
    tree, chained = (step_model(draft, propose=p) for p in ({"shape": "tree", "widths": [1, 1, 1]}, chain(3)))

    assert tree.cost(decode(8, 3)) == chained.cost(decode(8, 3))


def test_a_trees_passes_compute_a_level_each():
    """Rows 1, 4, 8 of each of 128 sequences: 512 and 1,024 rows are no longer free."""
    tree, chained = (draft_s(step_model(SMALL, propose=p), 128) for p in (TREE, chain(3)))
    single, chained_once = (draft_s(step_model(SMALL, propose=p), 1) for p in (TREE, chain(3)))

    assert tree > 1.3 * chained
    assert single < 1.15 * chained_once


def test_an_abstract_drafts_tree_takes_its_ratio_of_the_targets_rows():
    ratios = {"flops_ratio": 0.1, "latency_ratio": 0.1, "weights_gb": 1.0, "kv_bytes_per_token": 0}
    model, plain = step_model({"abstract": ratios}, propose=TREE), step_model()
    levels = [plain.seconds(decode(32, rows - 1)) for rows in (1, 4, 8)]

    assert draft_s(model, 32) == pytest.approx(0.1 * sum(levels))


def test_a_wider_dynamic_tree_takes_no_more_passes():
    narrow, wide = (
        draft_s(step_model(EAGLE3, propose={"shape": "dynamic_tree", "depth": 4, "top_k": k, "nodes": 16}))
        for k in (4, 8)
    )

    assert narrow <= wide < 1.1 * narrow
