"""Drafts: a latency of their own, which is not their share of the FLOPs."""

import pytest

from simulator.catalog.load import load_engine
from simulator.physics.step import StepShape
from simulator.physics.step_model import build_step_model
from simulator.spec.deployment import Deployment

ACCEPTANCE = {"all": {"survival": [0.8, 0.6, 0.5, 0.4]}}
ABSTRACT = {"flops_ratio": 0.1, "latency_ratio": 0.12, "weights_gb": 2.0, "kv_bytes_per_token": 32768}


def step_model(draft=None, k=4, tensor_parallel=4, data_parallel=1, gpu="h200-sxm"):
    speculation = {"kind": "none"}
    if draft is not None:
        drafts = {"d": {"acceptance": ACCEPTANCE} | draft}
        speculation = {"kind": "drafts", "drafts": drafts, "propose": {"shape": "chain", "draft_tokens": k}}
    target = {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8"}
    return build_step_model(
        Deployment.model_validate(
            {
                "gpu": gpu,
                "replicas": 1,
                "price": 3.0,
                "target": target | {"tensor_parallel": tensor_parallel, "data_parallel": data_parallel},
                "engine": {"policy": "vllm"},
                "speculation": speculation,
            }
        )
    )


def decode(sequences, k, context=1024):
    return StepShape(sequences, sequences * (k + 1), float(sequences * context), 0, 0, 0.0, k)


PREFILL = StepShape(0, 0, 0.0, 2, 2048, 2048 * 512.0, 0)
SMALL, TINY = {"model": "llama-3.2-1b"}, {"model": "qwen2.5-0.5b"}


@pytest.mark.parametrize("draft", [SMALL, {"abstract": ABSTRACT}])
def test_k_passes_take_k_times_one(draft):
    model = step_model(draft)
    one, four = (model.cost(decode(8, k)).draft_s for k in (1, 4))

    assert four == pytest.approx(4 * one)


@pytest.mark.parametrize("draft", [SMALL, {"abstract": ABSTRACT}])
def test_a_draft_that_proposes_nothing_costs_a_decode_step_what_the_engine_spends_on_having_one(draft):
    overhead = load_engine("vllm").overhead
    cost, plain = step_model(draft).cost(decode(8, 0)), step_model().cost(decode(8, 0))

    assert overhead.speculative_step_s > 0.0
    assert cost.overhead_s == pytest.approx(plain.overhead_s + overhead.speculative_step_s)
    assert cost.total_s - cost.overhead_s == pytest.approx(plain.total_s - plain.overhead_s)


@pytest.mark.parametrize("draft", [SMALL, {"abstract": ABSTRACT}])
def test_the_draft_reads_the_prompt_even_when_it_proposes_nothing(draft):
    cost, plain = (step_model(d, k=0).cost(PREFILL) for d in (draft, None))

    assert cost.draft_s > 0.0
    assert cost.total_s - cost.draft_s == pytest.approx(plain.total_s)


def test_the_prefill_of_a_modelled_draft_is_its_own_and_grows_with_the_pairs():
    model = step_model(SMALL)
    more = PREFILL._replace(prefill_context_tokens=2 * PREFILL.prefill_context_tokens)
    pairs_s = PREFILL.prefill_context_tokens * 4 * 32 * 64 * 16 / 589e12

    assert model.cost(more).draft_s - model.cost(PREFILL).draft_s == pytest.approx(pairs_s, rel=0.3)


def test_a_tiny_draft_is_slower_over_four_gpus_than_on_one():
    one, four = (step_model(TINY | {"tensor_parallel": tp}).cost(decode(1, 4)).draft_s for tp in (1, 4))

    assert four > one


def test_the_latency_ratio_of_a_small_draft_is_far_above_its_flops_ratio():
    flops_ratio, latency_ratio = step_model(SMALL).draft_ratios(1, 1024)

    assert flops_ratio == pytest.approx(1.236 / 69.5, rel=0.01)
    assert latency_ratio > 4 * flops_ratio


def test_an_abstract_draft_gives_back_its_ratios():
    assert step_model({"abstract": ABSTRACT}).draft_ratios(16, 16 * 2000.0) == pytest.approx((0.1, 0.12))


def test_an_abstract_pass_is_its_latency_ratio_of_a_plain_step_at_the_same_batch_and_context():
    cost = step_model({"abstract": ABSTRACT}).cost(decode(16, 4, context=5000))
    plain = step_model().seconds(decode(16, 0, context=5000))

    assert cost.draft_s == pytest.approx(4 * 0.12 * plain)


def test_an_abstract_prefill_is_its_flops_ratio_of_the_targets_arithmetic():
    cost = step_model({"abstract": ABSTRACT}).cost(PREFILL)
    head_s = step_model().cost(PREFILL).linear_s - step_model().target.layers(2048).linear_s

    assert cost.draft_s == pytest.approx(0.1 * (cost.linear_s - head_s + cost.prefill_attention_s))


def test_without_a_draft_both_ratios_are_zero():
    assert step_model().draft_ratios(4, 4096) == (0.0, 0.0)


def test_a_quantised_draft_is_faster():
    bf16, fp8 = (step_model(SMALL | {"weights": w}).cost(decode(1, 4)).draft_s for w in ("bf16", "fp8"))

    assert fp8 < bf16


def test_an_fp8_cache_of_the_draft_saves_time_at_long_context():
    bf16, fp8 = (step_model(SMALL | {"kv": kv}).cost(decode(64, 4, 32768)).draft_s for kv in ("bf16", "fp8"))

    assert fp8 < bf16


def test_a_draft_of_a_data_parallel_target_serves_each_ranks_own_sequences():
    one, four = (step_model(SMALL, 4, 2, dp).cost(decode(256, 4)).draft_s for dp in (1, 4))

    assert four < one


def test_nobody_to_draft_for_takes_no_time():
    assert step_model(SMALL).cost(StepShape(0, 0, 0.0, 0, 0, 0.0, 4)).draft_s == 0.0
