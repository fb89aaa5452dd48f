"""The matrices of a model: together they are its parameters."""

import pytest

from simulator.catalog.load import load_model, load_quantisation
from simulator.physics.footprint import parameters
from simulator.physics.matrices import dense_matrices, head_weights

MODELS = ("llama-3.3-70b", "deepseek-v3", "gpt-oss-120b", "qwen3-next-80b-a3b", "deepseek-v3.2")


def total(model, tensor_parallel=1, part=None):
    matrices = dense_matrices(model, tensor_parallel, None, ())
    return sum(m.layers * m.weights for m in matrices if part in (None, m.part))


@pytest.mark.parametrize("name", MODELS)
def test_the_matrices_hold_the_parameters_of_the_model(name):
    model = load_model(name)
    p = parameters(model)

    assert total(model) == pytest.approx(p.attention + p.dense_mlp + p.shared_experts + p.router + p.other, rel=1e-3)


def test_tensor_parallelism_splits_the_layers():
    model = load_model("llama-3.3-70b")

    assert total(model, 4) == pytest.approx(total(model) / 4)


def test_key_and_value_heads_are_replicated_beyond_their_number():
    model = load_model("llama-3.3-70b")
    two_heads = 2 * model.hidden_size * model.head_dim * model.num_layers

    assert total(model, 16, "attention") == pytest.approx(total(model, 8, "attention") / 2 + two_heads / 2)


def test_the_latent_projections_of_mla_are_on_every_gpu():
    model = load_model("deepseek-v3")
    latent = model.hidden_size * (1536 + 512 + 64) * model.num_layers

    assert total(model, 8, "attention") == pytest.approx((total(model, 1, "attention") - latent) / 8 + latent)


def test_an_experts_only_format_leaves_everything_here_in_bf16():
    matrices = dense_matrices(load_model("gpt-oss-120b"), 1, load_quantisation("mxfp4"), ())

    assert not any(m.quantised for m in matrices)


def test_what_a_checkpoint_leaves_unquantised_stays_in_bf16():
    fp8 = load_quantisation("fp8")
    matrices = dense_matrices(load_model("llama-3.1-405b"), 8, fp8, ("attention", "first_and_last_mlp"))

    assert {(m.part, m.layers) for m in matrices if not m.quantised} == {("attention", 126), ("mlp", 2)}
    assert {(m.part, m.layers) for m in matrices if m.quantised} == {("mlp", 124)}


def test_the_head_is_the_vocabulary_split_over_the_gpus():
    assert head_weights(load_model("llama-3.3-70b"), 2) == 128256 * 8192 / 2
