import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_model, load_quantisation, names
from simulator.physics.footprint import (
    expert_params,
    flops_per_token,
    num_moe_layers,
    padded_share,
    parameters,
    weight_bytes,
)

models = st.sampled_from(names("models"))
formats = st.sampled_from(names("quantisation"))
splits = st.sampled_from([1, 2, 4, 8])


@given(models)
def test_every_model_uses_some_of_its_parameters_and_no_more_than_it_has(name):
    p = parameters(load_model(name))

    assert 0 < p.active_per_token <= p.total


def test_parameters_of_a_dense_model_are_those_of_its_matrices():
    p = parameters(load_model("llama-3.1-8b"))

    assert (p.embedding, p.attention, p.dense_mlp) == (525_336_576, 1_342_177_280, 5_637_144_576)
    assert p.total == 8_030_261_248


def test_a_tied_head_is_counted_once_and_still_worked_with():
    p = parameters(load_model("llama-3.2-1b"))

    assert p.lm_head == 0
    assert p.active_per_token == p.total


def test_only_the_chosen_experts_work_on_a_token():
    model = load_model("deepseek-v3")
    p = parameters(model)

    idle = num_moe_layers(model) * (256 - 8) * expert_params(model)

    assert p.total - p.active_per_token == idle + p.embedding


def test_a_token_costs_two_flops_a_parameter_and_a_prompt_token_no_head():
    model = load_model("llama-3.1-8b")

    assert flops_per_token(model) == 2 * 7_504_924_672
    assert flops_per_token(model) - flops_per_token(model, with_head=False) == 2 * 525_336_576


@given(models, formats.filter(lambda name: name != "fp32"))
def test_no_format_is_larger_than_bf16(name, quantisation):
    model = load_model(name)

    smaller, bf16 = (weight_bytes(model, load_quantisation(q)).total_bytes for q in (quantisation, "bf16"))

    assert smaller <= bf16


@given(models, formats, splits, splits)
def test_a_wider_split_never_puts_more_on_a_gpu_and_never_less_than_its_share(name, quantisation, few, more):
    model, low = load_model(name), load_quantisation(quantisation)
    few, more = sorted((few, more))

    wide, narrow = (weight_bytes(model, low, tensor_parallel=n) for n in (more, few))

    assert wide.per_gpu_bytes <= narrow.per_gpu_bytes
    assert wide.per_gpu_bytes * more >= wide.total_bytes


def test_data_parallel_attention_repeats_all_but_the_experts():
    model, low = load_model("deepseek-v3"), load_quantisation("fp8_block")

    split = weight_bytes(model, low, tensor_parallel=8)
    repeated = weight_bytes(model, low, data_parallel=8, expert_parallel=8)

    assert split.total_bytes == repeated.total_bytes
    assert repeated.per_gpu_bytes - split.per_gpu_bytes == pytest.approx(15.7e9, rel=0.01)


def test_whole_experts_and_slices_of_them_weigh_the_same_when_they_divide():
    model, low = load_model("deepseek-v3"), load_quantisation("fp8")

    sliced, whole = (weight_bytes(model, low, tensor_parallel=8, expert_parallel=n) for n in (1, 8))

    assert sliced == whole


def test_kv_projections_are_split_down_to_one_kv_head_and_repeated_beyond():
    model, bf16 = load_model("qwen2.5-7b"), load_quantisation("bf16")

    two, four, eight = (weight_bytes(model, bf16, tensor_parallel=n).per_gpu_bytes for n in (2, 4, 8))

    kv_projections = 28 * 2 * 3584 * 4 * 128 * 2
    assert two / 2 - four == pytest.approx(-model.norm_params, abs=1)
    assert eight - (four / 2 + model.norm_params) == pytest.approx(kv_projections / 8, abs=1)


def test_a_format_for_experts_leaves_the_rest_in_bf16():
    model, mxfp4 = load_model("gpt-oss-120b"), load_quantisation("mxfp4")
    p = parameters(model)

    total = weight_bytes(model, mxfp4).total_bytes

    assert total == pytest.approx(p.routed_experts * 4.25 / 8 + (p.total - p.routed_experts) * 2, abs=1)


def test_parts_that_a_checkpoint_keeps_are_in_bf16():
    model, fp8 = load_model("llama-3.1-8b"), load_quantisation("fp8")

    plain, attention, ends = (
        weight_bytes(model, fp8, kept).total_bytes for kept in ((), ("attention",), ("first_and_last_mlp",))
    )

    assert attention - plain == parameters(model).attention
    assert ends - plain == parameters(model).dense_mlp * 2 // 32


def test_the_first_layer_of_a_moe_model_may_be_dense_and_the_last_is_not():
    model, fp8 = load_model("deepseek-v3"), load_quantisation("fp8")

    ends = weight_bytes(model, fp8, ("first_and_last_mlp",)).total_bytes - weight_bytes(model, fp8).total_bytes

    assert ends == 3 * 7168 * (18432 + 257 * 2048)


def test_padding_counts_what_each_gpu_rounds_up():
    assert padded_share(2880, split=8, multiple=64) == pytest.approx(384 / 360)
