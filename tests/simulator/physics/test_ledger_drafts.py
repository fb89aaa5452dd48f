"""The ledger closes whatever the drafts are."""

from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.physics.checks import check_deployment
from simulator.physics.ledger import memory_ledger
from tests.simulator.physics.toys import deployment

TARGETS = ["llama-3.1-8b", "llama-3.3-70b", "qwen3-30b-a3b", "deepseek-v3", "deepseek-v4-pro", "gpt-oss-20b"]
UNION = {"combine": {"kind": "union", "recursive_rejection": {"correlation": 0.5}}}

formats = st.fixed_dictionaries(
    {"weights": st.sampled_from(["bf16", "fp8", "nvfp4"]), "kv": st.sampled_from(["bf16", "fp8"])},
    optional={"tensor_parallel": st.sampled_from([1, 2, 4])},
)
models = st.sampled_from(["llama-3.2-1b", "qwen3-0.6b", "qwen3-30b-a3b"]).map(lambda name: {"model": name})
heads = st.fixed_dictionaries(
    {"method": st.sampled_from(["eagle", "eagle3", "mtp", "parallel"])},
    optional={
        "layers": st.integers(1, 4),
        "modules": st.integers(1, 4),
        "dense": st.booleans(),
        "vocab_size": st.integers(1, 100_000),
    },
).map(lambda head: {"head": head})
subsets = st.builds(
    lambda resident, active, weights, kv: {
        "moe_subset": {
            "resident_experts": resident, "active_experts": min(active, resident), "shares_weights": weights,
            "shares_kv": kv,
        }
    },
    st.integers(1, 32), st.integers(1, 4), st.booleans(), st.booleans(),
)  # fmt: skip
costs = st.fixed_dictionaries(
    {
        "flops_ratio": st.just(0.1), "latency_ratio": st.just(0.1), "weights_gb": st.floats(0, 20),
        "kv_bytes_per_token": st.integers(0, 10**5),
    }
).map(lambda given: {"abstract": given})  # fmt: skip
own = st.builds(lambda way, form: way | form, st.one_of(models, heads), formats)
drafts = st.one_of(own, subsets, costs, st.just({"ngram": {}}), st.just({"measured": "lookup"}))
targets = st.fixed_dictionaries(
    {
        "model": st.sampled_from(TARGETS),
        "weights": st.sampled_from(["bf16", "fp8", "nvfp4"]),
        "gpu": st.sampled_from(["h200-sxm", "b200-sxm"]),
        "policy": st.sampled_from(["vllm", "trtllm", "sglang"]),
        "tensor_parallel": st.sampled_from([4, 8]),
        "data_parallel": st.sampled_from([1, 2]),
    }
)


def ledger_of(target, several):
    """The ledger with so many drafts in a union, if their shapes are possible."""
    named = {f"d{number}": draft for number, draft in enumerate(several)}
    chosen = deployment(**target, drafts=named, speculation=UNION)
    assume(not check_deployment("it", chosen))
    return memory_ledger("it", chosen)[0]


@given(targets, st.lists(drafts, min_size=1, max_size=4))
def test_the_ledger_closes_to_the_byte_whatever_the_drafts(target, several):
    row = ledger_of(target, several)

    by_draft = sum(row.draft_weights_bytes_by_draft.values())
    spent = row.target_weights_bytes + by_draft + row.activation_bytes + row.runtime_bytes + row.kv_budget_bytes
    assert row.draft_weights_bytes == by_draft
    assert min(row.draft_weights_bytes_by_draft.values()) >= 0
    assert row.kv_bytes_per_token["draft"] == sum(row.kv_bytes_per_token_by_draft.values())
    assert row.kv_budget_bytes == 0 or spent == row.usable_bytes or target["policy"] == "trtllm"
    assert row.kv_budget_bytes == 0 or spent <= row.usable_bytes


@given(targets, st.lists(drafts, min_size=2, max_size=4))
def test_one_draft_more_never_adds_room_for_kv(target, several):
    fewer, more = ledger_of(target, several[:-1]), ledger_of(target, several)

    assert more.kv_budget_bytes <= fewer.kv_budget_bytes
    assert more.kv_tokens <= fewer.kv_tokens
    assert all(more.max_sequences_at[n] <= fewer.max_sequences_at[n] for n in fewer.max_sequences_at)
    assert more.shortfall_bytes >= fewer.shortfall_bytes
