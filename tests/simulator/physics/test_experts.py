"""Experts: distinct experts set the bytes of verification, tokens its FLOPs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_engine, load_gpu, load_model, load_quantisation
from simulator.physics.experts import PERMUTE_PASSES, distinct_experts, expert_layers, overlapping_experts
from simulator.physics.formats import weight_format

H200 = load_gpu("h200-sxm")
FP8 = weight_format(H200, load_engine("trtllm"), load_quantisation("fp8"))
V3 = load_model("deepseek-v3")


def layers(expert_parallel=1, num_gpus=8):
    return expert_layers(V3, num_gpus, expert_parallel, [(58, FP8), (0, FP8)])


@pytest.mark.parametrize(
    ("num_experts", "top_k", "batch", "ratio"),
    [
        (384, 6, 1, 3.9), (384, 6, 4, 3.7), (384, 6, 16, 2.9), (384, 6, 64, 1.55),
        (256, 8, 1, 3.8), (256, 8, 4, 3.3), (256, 8, 16, 2.2), (256, 8, 64, 1.15),
    ],
)  # fmt: skip
def test_verifying_three_draft_tokens_touches_so_many_times_the_experts(num_experts, top_k, batch, ratio):
    verify, plain = (distinct_experts(num_experts, top_k, tokens) for tokens in (4 * batch, batch))

    assert verify / plain == pytest.approx(ratio, abs=0.06)


@given(st.integers(1, 512), st.integers(1, 512), st.integers(1, 10_000))
def test_a_batch_touches_at_least_one_tokens_experts_and_at_most_all(num_experts, top_k, tokens):
    k = min(top_k, num_experts)

    assert k - 1e-9 <= distinct_experts(num_experts, k, tokens) <= num_experts + 1e-9


@given(st.integers(1, 64), st.integers(1, 16))
def test_independent_tokens_do_not_overlap(sequences, tokens):
    assert overlapping_experts(256, 8, sequences, tokens, 1.0) == pytest.approx(
        distinct_experts(256, 8, sequences * tokens)
    )


@given(st.integers(1, 256), st.integers(1, 16), st.floats(0.5, 1.0))
def test_overlap_saves_experts_but_never_those_of_single_tokens(sequences, tokens, overlap):
    touched = overlapping_experts(256, 8, sequences, tokens, overlap)

    assert distinct_experts(256, 8, sequences) - 1e-9 <= touched <= distinct_experts(256, 8, sequences * tokens) + 1e-9


def test_verifying_four_tokens_of_one_sequence_reads_as_many_experts_as_cohere_measured():
    ratio = overlapping_experts(256, 8, 1, 4, overlap=0.69) / overlapping_experts(256, 8, 1, 1, overlap=0.69)

    assert ratio == pytest.approx(2.5, abs=0.2)


@given(st.integers(0, 20_000), st.integers(0, 20_000))
def test_more_tokens_are_never_faster(one, other):
    (group,) = layers()
    few, many = sorted((one, other))

    assert group.seconds(few) <= group.seconds(many) * (1 + 1e-12)


def test_one_token_reads_its_own_experts():
    (group,) = layers()
    down = 8 * 7168 * 2048 / 8
    moved = 8 * 7168 * 2 * PERMUTE_PASSES / 4.8e12

    assert group.seconds(1) == pytest.approx(58 * (FP8.gemm_s(2 * down, 1) + FP8.gemm_s(down, 1) + moved))


def test_many_tokens_are_bound_by_the_flops_of_their_own_experts():
    (group,) = layers()
    flops = 2 * 16384 * 8 * 3 * 7168 * 2048 / 8
    moved = 16384 * 8 * 7168 * 2 * PERMUTE_PASSES / 4.8e12

    assert group.seconds(16384) == pytest.approx(58 * (flops / FP8.curve.flop_per_s + moved))


def test_whole_experts_on_each_gpu_cost_as_much_as_slices_of_all_but_move_fewer_tokens():
    (slices,), (whole,) = layers(1), layers(8)

    assert whole.seconds(64) < slices.seconds(64)
    assert whole.reading_s(64) == pytest.approx(slices.reading_s(64))


def test_a_dense_model_has_no_experts():
    assert expert_layers(load_model("llama-3.3-70b"), 2, 1, [(0, FP8)]) == ()


def test_no_tokens_take_no_time():
    (group,) = layers()

    assert group.seconds(0) == group.reading_s(0) == 0.0
