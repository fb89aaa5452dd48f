"""What drafts hold beside the target, by the way they are given; sizes by hand or from published checkpoints."""

import math

import pytest

from simulator.catalog.load import load_model, load_quantisation
from simulator.physics.draft_memory import MEMORY_OF
from simulator.physics.footprint import parameters, weight_bytes
from simulator.physics.subset import subset_model
from simulator.spec.draft import WAYS, MoeSubset
from tests.simulator.physics.toys import ROUTED, UNION, ledger

EIGHT_B = {"model": "llama-3.1-8b", "weights": "bf16"}
V3 = {"model": "deepseek-v3", "weights": "fp8", "tensor_parallel": 8}
QWEN = {"model": "qwen3-30b-a3b", "weights": "bf16"}
EAGLE3 = {"method": "eagle3", "vocab_size": 32000}
SUBSET = {"resident_experts": 32, "active_experts": 2, "shares_weights": False}


def head(**changes):
    return {"head": {"method": "eagle"} | changes}


def subset(**changes):
    return {"moe_subset": SUBSET | changes}


def drafts_bytes(target, draft, **choices):
    return ledger(**target, draft=draft, **choices).draft_weights_bytes


def test_every_way_has_its_memory():
    assert set(MEMORY_OF) == set(WAYS)


@pytest.mark.parametrize(
    ("target", "draft", "gb"),
    [
        (EIGHT_B, {"head": EAGLE3}, 0.850),  # yuhuili/EAGLE3-LLaMA3.1-Instruct-8B: 850 MB
        (EIGHT_B, head(), 0.504),  # OamPatel/llama-3-8b-1-layer-original-eagle: 252 M parameters, no embedding
        ({"model": "llama-3.3-70b"}, head(), 1.980),  # yuhuili/EAGLE-LLaMA3-Instruct-70B: 4.08 GB, 2.10 its embedding
        (V3, {**head(method="mtp", dense=False), "weights": "fp8", "tensor_parallel": 8}, 11.6 / 8),  # 11.5 B in fp8
    ],
)
def test_a_head_is_as_large_as_published_checkpoints(target, draft, gb):
    assert drafts_bytes(target, draft) / 1e9 == pytest.approx(gb, rel=0.002 if target is not V3 else 0.08)


def test_an_mtp_module_of_v4_pro_is_about_the_3_gb_that_were_measured_on_each_of_eight_gpus():
    """Measured +3.07 GB of each H200; the format of its experts is not told, the two at hand lie around it."""
    fp4, fp8 = (
        drafts_bytes(
            {"model": "deepseek-v4-pro", "weights": "mxfp4", "tensor_parallel": 8},
            {**head(method="mtp", dense=False), "weights": weights, "tensor_parallel": 8},
        )
        for weights in ("mxfp4", "fp8")
    )

    assert fp4 < 3.07e9 < fp8 < 3.5e9


def test_a_head_shares_the_targets_vocabulary_unless_it_has_a_smaller_one():
    shared, reduced = (drafts_bytes(EIGHT_B, head(vocab_size=size)) for size in (None, 32000))

    assert reduced - shared == 32000 * 4096 * 2


def test_modules_in_a_row_share_one_output_head_and_cache_a_layer_each():
    one, three = (ledger(**EIGHT_B, draft=head(vocab_size=32000, modules=n, layers=2)) for n in (1, 3))

    body = one.draft_weights_bytes - 32000 * 4096 * 2
    assert three.draft_weights_bytes == one.draft_weights_bytes + 2 * body
    assert (one.kv_bytes_per_token["draft"], three.kv_bytes_per_token["draft"]) == (2 * 4096, 6 * 4096)


def test_a_layer_of_a_head_is_a_layer_of_the_target():
    one, two = (drafts_bytes(EIGHT_B, head(layers=n)) for n in (1, 2))

    attention, mlp, norms = 2 * 4096 * 128 * (32 + 8), 3 * 4096 * 14336, 2 * 4096
    assert two - one == 2 * (attention + mlp + norms)


def test_the_width_of_a_heads_mlp_counts():
    narrow, wide = (drafts_bytes(EIGHT_B, head(intermediate_size=size)) for size in (4096, 8192))

    assert wide - narrow == 2 * 3 * 4096 * 4096


def test_a_head_with_the_targets_experts_is_larger_than_a_dense_one():
    dense, experts = (drafts_bytes(QWEN, head(dense=dense)) for dense in (True, False))

    router = 2048 * 128
    assert experts - dense == 2 * (3 * 2048 * 768 * (128 - 8) + router)


@pytest.mark.parametrize(
    ("way", "target"),
    [({"ngram": {}}, EIGHT_B), ({"measured": "lookup"}, EIGHT_B), (subset(shares_weights=True, shares_kv=True), QWEN)],
)
def test_what_holds_nothing_leaves_the_targets_kv_alone(way, target):
    plain, drafting = ledger(**target), ledger(**target, draft=way)

    assert (drafting.kv_tokens, drafting.draft_weights_bytes) == (plain.kv_tokens, 0)
    assert drafting.role == "target+draft"


@pytest.mark.parametrize("split", [{}, {"tensor_parallel": 4}, {"data_parallel": 4, "expert_parallel": 4}])
def test_a_copied_subset_is_the_target_without_its_other_experts_and_vocabulary(split):
    p = parameters(load_model("qwen3-30b-a3b"))
    gpus, shares = math.prod(split.values()) // split.get("expert_parallel", 1), split.get("tensor_parallel", 1)

    shared, copied = (ledger(**QWEN, **split, draft=subset(shares_weights=one)) for one in (True, False))

    kept = p.attention / shares + p.norms + p.router / 4 + p.routed_experts / 4 / gpus
    assert copied.draft_weights_bytes - shared.draft_weights_bytes == 2 * kept
    assert copied.kv_bytes_per_token == shared.kv_bytes_per_token


def test_a_subset_with_kv_of_its_own_doubles_the_targets():
    row = ledger(**QWEN, draft=subset(shares_kv=False))

    assert row.kv_bytes_per_token["draft"] == row.kv_bytes_per_token["target"]


def test_32_of_256_experts_of_a_terabyte_model_are_133_gb_however_few_a_token_uses():
    """A model of 1,000 GB in FP8 whose token uses 40 GB with 8 of 256 experts: 3.87 GB an expert, 9 GB of the rest."""
    fields = {"num_experts": 256, "top_k": 8, "expert_intermediate": 2949, "first_dense_layers": 0, "num_shared": 0}
    v3 = load_model("deepseek-v3")
    terabyte = v3.model_copy(update={"moe": v3.moe.model_copy(update=fields), "attention_extra_params": -6_100_000_000})
    few, many = (MoeSubset(resident_experts=32, active_experts=n) for n in (2, 8))

    sizes = [weight_bytes(subset_model(terabyte, s), load_quantisation("fp8")) for s in (few, many)]

    assert weight_bytes(terabyte, load_quantisation("fp8")).total_bytes / 1e9 == pytest.approx(1000, rel=0.01)
    assert sizes[0] == sizes[1]
    assert sizes[0].total_bytes / 1e9 == pytest.approx(133, rel=0.01)


@pytest.mark.parametrize("combine", [ROUTED, UNION])
def test_all_drafts_are_resident_with_kv_for_every_token(combine):
    alone = [ledger(**EIGHT_B, draft={"model": name}) for name in ("llama-3.2-1b", "qwen2.5-0.5b")]
    drafts = {"a": {"model": "llama-3.2-1b"}, "b": {"model": "qwen2.5-0.5b"}}

    row = ledger(**EIGHT_B, drafts=drafts, speculation={"combine": combine})

    assert list(row.draft_weights_bytes_by_draft.values()) == [one.draft_weights_bytes for one in alone]
    assert row.kv_bytes_per_token["draft"] == sum(one.kv_bytes_per_token["draft"] for one in alone)
    assert row.kv_bytes_per_token_by_draft == {"a": 32_768, "b": 12_288}


def test_a_router_is_whole_on_each_gpu():
    drafts = {"a": {"model": "llama-3.2-1b"}, "b": {"model": "llama-3.2-1b"}}

    row = ledger(tensor_parallel=2, drafts=drafts, speculation={"combine": ROUTED})

    assert row.router_weights_bytes == 300_000_000
    assert row.draft_weights_bytes == sum(row.draft_weights_bytes_by_draft.values()) + 300_000_000


def test_experts_of_a_draft_are_spread_over_the_replica_as_its_passes_are():
    one, eight = (drafts_bytes({"model": "deepseek-v3", "weights": "fp8", "data_parallel": n}, MIXED) for n in (1, 8))

    assert one - eight == pytest.approx(2 * parameters(load_model("qwen3-30b-a3b")).routed_experts * 7 / 8)


MIXED = {"model": "qwen3-30b-a3b"}
