"""KV on the host: room and bytes of both tiers close, steps pay for the link, and where that is worth it."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.errors import ProfileError
from simulator.physics.checks import check_deployment
from simulator.physics.step_model import build_step_model
from simulator.physics.tiers import host_position_s
from simulator.spec.deployment import Engine
from tests.simulator.physics.speculating import PROMPT, decode, step_model
from tests.simulator.physics.toys import deployment, ledger

EIGHT_B = {"model": "llama-3.1-8b", "weights": "bf16"}
SMALL = {"model": "llama-3.2-1b", "kv": "fp8"}
PCIE = 55e9
KV = 131_072


def tiered(host_gb, **choices):
    engine = {"max_model_len": 32_768} | choices.pop("engine", {})
    return {**EIGHT_B, **choices, "engine": engine | ({"kv_host_gb": host_gb} if host_gb else {})}


sizes = st.floats(0.001, 2000)
drafts = st.sampled_from([None, SMALL, SMALL | {"window": {"recent": 508}}, {"head": {"method": "eagle"}}])


@given(sizes, drafts, st.sampled_from([1, 2, 8]))
def test_both_tiers_close_to_the_byte(host_gb, draft, split):
    row = ledger(**tiered(host_gb, draft=draft, tensor_parallel=split))
    assume(row.kv_blocks)

    drafted, target = (row.kv_tokens * row.kv_bytes_per_token[whose] for whose in ("draft", "target"))
    on_host = row.kv_host_share * target
    assert row.kv_host_bytes == round(host_gb * 1e9)
    assert on_host <= row.kv_host_bytes * (1 + 1e-9)
    assert drafted + target - on_host <= row.kv_budget_bytes * (1 + 1e-9)
    one_block = 16 * sum(row.kv_bytes_per_token.values())
    left = row.kv_budget_bytes + row.kv_host_bytes - drafted - target
    assert left < one_block or row.kv_budget_bytes - drafted < one_block


@given(st.lists(sizes, min_size=2, max_size=4), drafts)
def test_more_memory_of_the_host_never_holds_less(several, draft):
    rows = [ledger(**tiered(host_gb, draft=draft)) for host_gb in (0, *sorted(several))]

    assert [row.kv_tokens for row in rows] == sorted(row.kv_tokens for row in rows)
    assert [row.kv_host_share for row in rows] == sorted(row.kv_host_share for row in rows)
    assert rows[0].kv_host_share == 0.0


def test_drafts_keep_their_kv_in_hbm_which_bounds_what_the_host_can_add():
    row = ledger(**tiered(100_000.0, draft={**SMALL, "kv": "bf16"}))

    assert row.kv_blocks == row.kv_budget_bytes // (16 * row.kv_bytes_per_token["draft"])
    assert row.kv_host_share == pytest.approx(1.0, abs=1e-4)


def test_a_sequence_too_long_for_hbm_fits_with_the_host():
    tight = {"engine": {"hbm_budget_gb": 24.0, "max_model_len": 131_072}}

    alone, both = (ledger(**tiered(host_gb, **tight)) for host_gb in (0, 16.0))

    assert (alone.fits, both.fits) == (False, True)
    assert both.kv_tokens >= 131_072
    assert alone.shortfall_bytes <= both.kv_host_bytes


def test_what_is_short_counts_both_tiers():
    tight = {"engine": {"hbm_budget_gb": 24.0, "max_model_len": 131_072}}
    without, some = (ledger(**tiered(host_gb, **tight)) for host_gb in (0, 1.0))

    assert without.shortfall_bytes - some.shortfall_bytes == 10**9
    assert "and 0.93 GiB on the host" in some.reason


def test_weights_that_do_not_fit_are_not_helped_by_the_host():
    row = ledger(model="llama-3.1-405b", weights="bf16", engine={"kv_host_gb": 500.0})

    assert (row.fits, row.kv_tokens) == (False, 0)
    assert row.shortfall_bytes > 600e9


def test_gpus_that_split_the_kv_read_their_parts_over_links_of_their_own():
    """By how much the host slows a step down, for each share of the KV that lies there."""

    def slower_s(split):
        plain, both = (build_step_model(deployment(**tiered(host_gb, tensor_parallel=split))) for host_gb in (0, 50.0))
        share = ledger(**tiered(50.0, tensor_parallel=split)).kv_host_share
        return (both.decode_affine(16)[1] - plain.decode_affine(16)[1]) / share

    assert slower_s(4) == pytest.approx(slower_s(1) / 4, rel=1e-6)


def test_a_step_reads_the_hosts_part_over_the_link_and_writes_what_it_commits():
    plain, both = (build_step_model(deployment(**tiered(host_gb))) for host_gb in (0, 50.0))
    share = ledger(**tiered(50.0)).kv_host_share
    shape = decode(16, 0, 8192)

    position_s = host_position_s(share, KV, PCIE)
    added = both.cost(shape).attention_s - plain.cost(shape).attention_s
    assert added == pytest.approx((16 * 8192 + 16) * position_s)
    assert both.seconds(shape) == pytest.approx(both.cost(shape).total_s)


def test_a_prompt_writes_its_part_and_each_chunk_reads_what_came_before():
    plain, both = (build_step_model(deployment(**tiered(host_gb))) for host_gb in (0, 50.0))
    position_s = host_position_s(ledger(**tiered(50.0)).kv_host_share, KV, PCIE)

    added = both.cost(PROMPT).prefill_attention_s - plain.cost(PROMPT).prefill_attention_s
    budget = 8192
    assert added == pytest.approx((2048 + 2048 * 1024.5 / budget) * position_s)


def test_data_parallel_ranks_read_over_links_of_their_own():
    one, two = (
        build_step_model(deployment(**tiered(50.0, data_parallel=ranks, expert_parallel=1))) for ranks in (1, 2)
    )

    assert two.decode_affine(32)[1] == pytest.approx(one.decode_affine(32)[1] / 2, rel=0.02)


def test_the_host_helps_where_few_sequences_share_the_weights_reading():
    """A 70B model with room for three such sequences in HBM: twice as many share the reading of its weights."""
    choices = {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8"}
    tight = {"hbm_budget_gb": 78.4, "max_model_len": 2048}
    one = build_step_model(deployment(**choices, engine=tight))
    more = {"kv_host_gb": 0.5} | tight

    row = ledger(**choices, engine=more)
    n = [ledger(**choices, engine=tight).max_sequences_at[1024], row.max_sequences_at[1024]]
    rates = [
        batch / model.seconds(decode(batch, 0, 1024))
        for batch, model in zip(n, (one, build_step_model(deployment(**choices, engine=more))), strict=True)
    ]

    assert n[0] < n[1]
    assert rates[1] > 1.05 * rates[0]


def test_the_host_does_not_help_where_hbm_already_holds_a_large_batch():
    held = [ledger(**tiered(host_gb)).max_sequences_at[8192] for host_gb in (0, 100.0)]
    models = [build_step_model(deployment(**tiered(host_gb))) for host_gb in (0, 100.0)]

    rates = [n / model.seconds(decode(n, 0, 8192)) for n, model in zip(held, models, strict=True)]

    assert held[1] > 1.8 * held[0]
    assert rates[1] < 0.2 * rates[0]


def test_speculation_gains_more_where_kv_comes_over_a_link():
    """Verification reads the host's part once for all draft tokens."""
    gains = []
    for host in ({}, {"kv_host_gb": 20.0}, {"kv_host_gb": 80.0}):
        plain, drafting = step_model(engine=host), step_model(SMALL, engine=host)
        gains.append(plain.seconds(decode(16, 0, 8192)) / drafting.seconds(decode(16, 4, 8192)))

    assert gains == sorted(gains)
    assert gains[2] > 1.5 * gains[0]


def test_a_draft_that_shares_the_targets_kv_reads_the_hosts_part_too():
    engine = {"kv_host_gb": 50.0}
    head = {"head": {"method": "mtp", "shares_kv": True}}

    hbm, host = (step_model(head, engine=one).draft.passes(8, 1)[1] for one in ({}, engine))

    share = ledger(**tiered(50.0, draft=head, engine={"max_model_len": 131_072})).kv_host_share
    assert host - hbm == pytest.approx(host_position_s(share, KV / 32, PCIE))


def test_links_are_told_apart():
    slow = build_step_model(deployment(**tiered(50.0, engine={"kv_host_link": "internode"})))
    fast = build_step_model(deployment(**tiered(50.0)))

    assert slow.decode_affine(8)[1] > fast.decode_affine(8)[1]


def test_what_the_host_is_not_for_is_refused():
    with pytest.raises(ValidationError, match="kv_host_link leads to no memory"):
        Engine(policy="vllm", kv_host_link="pcie")
    cpu = deployment(model="smollm2-135m", weights="fp32", kv="fp32", gpu="cpu-1thread", policy="specfleet",
                     engine={"kv_host_gb": 1.0})  # fmt: skip
    assert check_deployment("it", cpu) == [
        "it.engine.kv_host_gb: cpu-1thread is the host: its KV lies there already; leave it out"
    ]
    with pytest.raises(ProfileError, match="were measured whole"):
        build_step_model(cpu)
