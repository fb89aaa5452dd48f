"""Steps over data-parallel ranks, host time of sequences, and batches that a graph pads."""

import pytest

from simulator.catalog.load import load_profile
from simulator.physics.step_model import step_model_with
from tests.simulator.physics.test_step_model import V3, decode, deployment, prefill, step_model


def test_a_prompt_is_computed_by_one_data_parallel_rank():
    model = step_model(V3 | {"tensor_parallel": 1, "data_parallel": 8, "expert_parallel": 8}, policy="trtllm")
    one, eight = (model.cost(prefill(8192, prompts, 8192 * 500.0)) for prompts in (1, 8))

    assert one.linear_s > 6 * eight.linear_s
    assert one.prefill_attention_s > 4 * eight.prefill_attention_s
    assert one.experts_s == eight.experts_s


def test_ranks_with_equally_many_prompts_share_them_evenly():
    model = step_model(V3 | {"tensor_parallel": 1, "data_parallel": 8, "expert_parallel": 8}, policy="trtllm")

    assert model.seconds(prefill(8192, 8)) == pytest.approx(model.seconds(prefill(8192, 16)), rel=1e-3)
    assert model.seconds(prefill(8192, 9)) > 1.2 * model.seconds(prefill(8192, 8))


def test_a_sequences_host_time_adds_to_its_step():
    profile = load_profile("h200-sxm", "trtllm")
    constants = profile.constants.model_copy(update={"sequence_host_us": 0.0})
    model = step_model(policy="trtllm")
    without = step_model_with(profile.model_copy(update={"constants": constants}), deployment(policy="trtllm"))
    added_s = model.seconds(decode(100)) - without.seconds(decode(100))

    assert added_s == pytest.approx(100e-6 * profile.constants.sequence_host_us)
    assert added_s > 0


def test_a_padded_step_runs_the_rows_of_its_graph():
    model = step_model(policy="trtllm")

    assert model.decode_affine(200, padded_to=384)[0] > model.decode_affine(200)[0]
    assert model.decode_affine(200, padded_to=200) == model.decode_affine(200)
