"""Attention: a floor and a rate from measured points, reading against arithmetic, affine in the context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_gpu, load_model
from simulator.physics.attention import attention_curve, attention_shape, fit_affine_rate, measured_rate

H200 = load_gpu("h200-sxm")


def curve(name, tensor_parallel=1, kv="bf16"):
    return attention_curve(load_model(name), kv, tensor_parallel, H200.attention, "vllm", 989e12)


@given(st.floats(1e-7, 1e-4), st.floats(1e11, 1e13))
def test_points_on_a_line_give_back_the_line(floor_s, bytes_per_s):
    points = [(x, floor_s + x / bytes_per_s) for x in (1e6, 1e8, 1e9)]

    rate = fit_affine_rate(points)

    assert rate.floor_s == pytest.approx(floor_s, rel=1e-3, abs=1e-12)
    assert rate.bytes_per_s == pytest.approx(bytes_per_s, rel=1e-3)


@pytest.mark.parametrize("points", [[(1e6, 1e-6)], [(1e6, 1e-7), (2e6, 1e-6)]])
def test_a_fit_without_a_positive_floor_is_a_rate_through_zero(points):
    assert fit_affine_rate(points).floor_s == 0.0


def test_the_measured_rate_lies_below_the_bandwidth_of_the_gpu():
    rate = measured_rate(H200.attention, "vllm", "bf16")

    assert 5e-6 < rate.floor_s < 2e-5
    assert 3.5e12 < rate.bytes_per_s < 4.8e12


def test_a_70b_layer_reads_keys_and_values_of_its_heads():
    shape = attention_shape(load_model("llama-3.3-70b"), "fp8", 2)

    assert shape.context_bytes == 80 * 2 * 4 * 128
    assert shape.context_flops == 80 * 4 * 32 * 128


def test_an_mla_layer_has_242_flops_a_byte():
    shape = attention_shape(load_model("deepseek-v3"), "bf16", 1)

    assert shape.context_flops / shape.context_bytes == pytest.approx(241.8, abs=0.1)


def test_verification_of_mla_is_bound_by_flops_and_of_gqa_by_reading():
    mla, gqa = curve("deepseek-v3"), curve("llama-3.3-70b")

    assert mla.bound_by_flops(queries=4)
    assert mla.context_s(4) == pytest.approx(4 * 61 * 2 * 128 * 1088 / (989e12 * 0.6))
    assert not gqa.bound_by_flops(queries=4)
    assert gqa.context_s(4) == gqa.context_s(1)


def test_tensor_parallelism_splits_the_arithmetic_of_mla_but_not_its_latent_kv():
    one, eight = (attention_shape(load_model("deepseek-v3"), "bf16", tp) for tp in (1, 8))

    assert eight.context_bytes == one.context_bytes
    assert eight.context_flops == one.context_flops / 8


def test_sliding_layers_cost_a_window_per_sequence_and_nothing_per_token():
    shape = attention_shape(load_model("gpt-oss-120b"), "bf16", 1)

    assert shape.sequence_bytes == 128 * 18 * 2 * 8 * 64 * 2
    assert shape.context_bytes == 18 * 2 * 8 * 64 * 2


def test_a_prompt_pair_costs_four_flops_a_head_dimension_and_layer():
    seconds = curve("llama-3.3-70b", 2).prefill_context_s

    assert seconds == pytest.approx(4 * 32 * 128 * 80 / (989e12 * 0.6))


def test_without_sequences_or_prompts_there_is_no_floor():
    attention = curve("llama-3.3-70b")

    assert attention.decode_s(0, 1)[0] == 0.0
    assert attention.prefill_s(0) == 0.0


def test_an_fp8_cache_is_read_faster():
    assert curve("llama-3.3-70b", kv="fp8").context_s(1) < curve("llama-3.3-70b").context_s(1)


def test_a_compressed_cache_has_the_arithmetic_of_its_compressed_length():
    model = load_model("deepseek-v4-flash")

    flops = attention_shape(model, "fp8", 1).context_flops

    assert flops == pytest.approx(3125 / 512 * 4 * 64 * 512)
