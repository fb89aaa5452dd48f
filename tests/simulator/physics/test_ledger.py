from dataclasses import asdict, fields

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.catalog.load import load_engine, load_gpu, names
from simulator.errors import CatalogError
from simulator.physics.kv import sequence_blocks
from simulator.physics.ledger import CONTEXTS_TOKENS, memory_ledger, sequence_laws
from simulator.physics.memory_rules import activation_peak_bytes, kv_room_bytes
from tests.simulator.physics.toys import deployment, ledger

GIB = 2**30
PUBLISHED_FIELDS = (
    "deployment role hbm_bytes usable_bytes target_weights_bytes draft_weights_bytes activation_bytes runtime_bytes "
    "kv_budget_bytes kv_bytes_per_token kv_tokens max_sequences_at fits shortfall_bytes reason"
)

gpus = st.sampled_from(["h100-sxm", "h200-sxm", "b200-sxm"])
engines = st.sampled_from(names("engines"))
models = st.sampled_from(names("models"))
splits = st.sampled_from([1, 2, 4, 8])
weights = st.sampled_from(["bf16", "fp8", "nvfp4"])
kv_dtypes = st.sampled_from(["bf16", "fp8"])


def spent_bytes(row):
    weights = row.target_weights_bytes + row.draft_weights_bytes
    return weights + row.activation_bytes + row.runtime_bytes + row.kv_budget_bytes


@given(models, weights, gpus, engines, splits, kv_dtypes)
def test_what_is_spent_never_exceeds_what_is_usable(model, dtype, gpu, policy, split, kv):
    row = ledger(model=model, weights=dtype, gpu=gpu, policy=policy, tensor_parallel=split, kv=kv)

    assert row.kv_budget_bytes == 0 or spent_bytes(row) <= row.usable_bytes <= row.hbm_bytes
    assert row.kv_blocks * row.kv_block_tokens == row.kv_tokens


@given(models, weights, gpus)
def test_a_fraction_of_the_visible_memory_closes_to_the_byte(model, dtype, gpu):
    row = ledger(model=model, weights=dtype, gpu=gpu)
    assume(row.kv_budget_bytes)

    assert spent_bytes(row) == row.usable_bytes
    assert row.usable_bytes == int(0.9 * load_gpu(gpu).memory.visible_bytes)


@given(models, weights, gpus, engines)
def test_more_gpus_never_hold_fewer_tokens(model, dtype, gpu, policy):
    rows = [ledger(model=model, weights=dtype, gpu=gpu, policy=policy, tensor_parallel=n) for n in (2, 4, 8)]

    assert [r.kv_tokens for r in rows] == sorted(r.kv_tokens for r in rows)


@given(models, weights, gpus, splits)
def test_fp8_kv_never_holds_fewer_tokens(model, dtype, gpu, split):
    bf16, fp8 = (ledger(model=model, weights=dtype, gpu=gpu, tensor_parallel=split, kv=kv) for kv in ("bf16", "fp8"))

    assert fp8.kv_tokens >= bf16.kv_tokens


@given(st.floats(1, 130))
def test_a_budget_caps_what_is_usable(budget_gb):
    free, capped = (ledger(tensor_parallel=4, engine=e) for e in ({}, {"hbm_budget_gb": budget_gb}))

    assert capped.usable_bytes == min(free.usable_bytes, int(budget_gb * 1e9))
    assert capped.kv_tokens <= free.kv_tokens


def test_a_larger_draft_leaves_fewer_tokens():
    drafts = [None, {"model": "llama-3.2-1b"}, {"model": "llama-3.2-3b"}, {"model": "llama-3.1-8b"}]

    kept = [ledger(tensor_parallel=2, draft=draft).kv_tokens for draft in drafts]

    assert kept == sorted(set(kept), reverse=True)


def test_a_block_costs_the_target_and_the_draft():
    row = ledger(tensor_parallel=2, draft={"model": "llama-3.2-1b"})

    assert row.role == "target+draft"
    assert row.kv_bytes_per_token == {"target": 163_840, "draft": 32_768}
    assert row.kv_blocks == row.kv_budget_bytes // (16 * (163_840 + 32_768))


def test_a_draft_over_fewer_gpus_fills_the_first_of_them():
    narrow, wide = (ledger(tensor_parallel=4, draft={"model": "llama-3.1-8b", "tensor_parallel": n}) for n in (1, 4))

    assert narrow.draft_weights_bytes > 3 * wide.draft_weights_bytes
    assert narrow.kv_bytes_per_token["draft"] == 4 * wide.kv_bytes_per_token["draft"]


def test_an_abstract_draft_is_spread_over_the_replica():
    costs = {"flops_ratio": 0.1, "latency_ratio": 0.12, "weights_gb": 2, "kv_bytes_per_token": 32_769}

    row = ledger(tensor_parallel=2, draft={"abstract": costs})

    assert row.draft_weights_bytes == 10**9
    assert row.kv_bytes_per_token["draft"] == 16_385


def test_a_draft_adds_no_activation_unless_its_vocabulary_is_larger():
    plain, same, larger = (
        ledger(tensor_parallel=4, draft=draft).activation_bytes
        for draft in (None, {"model": "llama-3.2-1b"}, {"model": "qwen2.5-0.5b"})
    )

    assert plain == same
    assert larger > plain


def test_data_parallel_pools_add_up_but_a_sequence_lives_in_one():
    row = ledger(model="deepseek-v3", weights="fp8", data_parallel=8, expert_parallel=8)

    assert row.kv_pools == 8
    assert row.kv_tokens == 8 * 16 * (row.kv_budget_bytes // (16 * 70_272))
    assert row.max_sequences_at[131_072] == 8 * (row.kv_tokens // 8 // 131_072)


def test_a_replicas_sequences_pay_for_their_fixed_part():
    row = ledger(model="qwen3-next-80b-a3b")

    by_tokens_alone = row.kv_tokens // 1024

    assert row.kv_bytes_per_sequence_fixed["target"] == 75_497_472
    assert row.max_sequences_at[1024] < by_tokens_alone / 3


def test_trtllm_gives_its_fraction_of_what_is_left_free():
    row = ledger(model="llama-3.1-8b", policy="trtllm", kv="fp8")

    free = row.hbm_bytes - row.target_weights_bytes - row.activation_bytes - row.runtime_bytes

    assert row.kv_budget_bytes == int(0.9 * free)
    assert row.kv_block_tokens == 32


def test_a_fraction_of_nothing_is_still_a_shortfall():
    rule = load_engine("trtllm").memory

    assert kv_room_bytes(rule, usable_bytes=10, used_bytes=30, memory_fraction=0.9) == -20


def test_drafts_on_parallel_streams_need_their_buffers_at_the_same_time():
    union = {"combine": {"kind": "union", "recursive_rejection": {"correlation": 0.5}}}
    drafts = {name: {"model": "llama-3.1-8b", "weights": "fp8"} for name in ("one", "two", "three")}

    in_turn, parallel = (
        ledger(tensor_parallel=4, drafts=drafts, speculation=union | streams).activation_bytes
        for streams in ({}, {"streams": {"kind": "parallel", "contention": 0.5}})
    )
    of_a_draft = ledger(model="llama-3.1-8b", tensor_parallel=4).activation_bytes

    assert in_turn == ledger(tensor_parallel=4).activation_bytes
    assert parallel == 3 * of_a_draft > in_turn


def test_activation_has_a_part_for_logits_and_one_for_the_layers():
    rule = load_engine("vllm").memory.model_copy(
        update={"activation_bytes_per_vocab_entry": 10.0, "activation_bytes_per_batched_token_per_hidden": 2.0}
    )

    assert activation_peak_bytes(rule, vocab_size=100, hidden_size=8, batched_tokens=50) == 1000 + 800


def test_a_row_has_every_published_field_and_turns_into_plain_data():
    row = ledger(tensor_parallel=2)

    assert set(PUBLISHED_FIELDS.split()) <= {f.name for f in fields(row)}
    assert set(asdict(row)["max_sequences_at"]) == set(CONTEXTS_TOKENS)


def test_what_fits_says_how_much_it_holds():
    row = ledger(tensor_parallel=2, engine={"max_model_len": 8192})

    assert (row.fits, row.shortfall_bytes) == (True, 0)
    assert row.reason == f"holds {row.max_sequences_at[8192]} sequences of 8,192 tokens"


def test_the_shortfall_is_what_one_sequence_lacks():
    chosen = deployment(model="qwen3-32b", weights="bf16", gpu="h100-sxm", engine={"max_model_len": 32_000})
    row = memory_ledger("it", chosen)[0]

    needed = sequence_blocks(sequence_laws(chosen), 16, 32_000) * 16 * 262_144

    assert row.shortfall_bytes == needed - row.kv_budget_bytes


def test_an_unknown_model_is_a_catalog_error():
    with pytest.raises(CatalogError, match=r"llama-3\.3-70b"):
        memory_ledger("it", deployment(model="llama-3.3-70"))
