"""Heads as models of their own: their parameters are those of published checkpoints."""

import pytest

from simulator.catalog.load import load_model
from simulator.physics.footprint import parameters
from simulator.physics.heads import after_the_first_pass, head_model
from simulator.physics.kv import kv_law
from simulator.spec.draft import Head


def own_parameters(target, **head):
    """Without the target's embedding and, where it is shared, its output head."""
    counted = parameters(head_model(load_model(target), Head(**head)))
    return counted.total - counted.embedding


def test_an_eagle3_head_of_an_8b_has_the_parameters_of_its_checkpoint():
    """yuhuili/EAGLE3-LLaMA3.1-Instruct-8B: 850 MB of 16-bit weights, its 32,000 entry output head included."""
    assert own_parameters("llama-3.1-8b", method="eagle3", vocab_size=32000) == pytest.approx(425e6, rel=0.005)


def test_an_eagle_head_of_an_8b_has_the_parameters_of_its_checkpoint():
    """yuhuili/EAGLE-LLaMA3-Instruct-8B: 0.25 B parameters; embedding and output head are the target's."""
    assert own_parameters("llama-3.1-8b", method="eagle") == pytest.approx(0.25e9, rel=0.02)


def test_the_mtp_module_of_deepseek_v3_has_its_published_parameters():
    """DeepSeek-V3's README: 11.5 B parameters of the module, embedding and output head left out."""
    assert own_parameters("deepseek-v3", method="mtp", dense=False) == pytest.approx(11.5e9, rel=0.01)


@pytest.mark.parametrize("change", [{"layers": 2}, {"intermediate_size": 20000}, {"vocab_size": 128000}])
def test_a_larger_head_has_more_parameters(change):
    few = {"method": "eagle3", "vocab_size": 32000}

    assert own_parameters("llama-3.1-8b", **few | change) > own_parameters("llama-3.1-8b", **few)


def test_a_dense_head_of_a_model_without_dense_layers_is_as_wide_as_the_experts_that_a_token_uses():
    model = head_model(load_model("qwen3-30b-a3b"), Head(method="eagle3"))

    assert (model.moe, model.intermediate_size) == (None, 8 * 768)


def test_passes_after_the_first_of_eagle3_leave_the_projection_of_three_states_out():
    target = load_model("llama-3.1-8b")
    first = {m: head_model(target, Head(method=m)) for m in ("eagle", "eagle3")}
    later = {m: after_the_first_pass(first[m], target, Head(method=m)) for m in first}

    assert first["eagle3"].other_params - later["eagle3"].other_params == 3 * 4096**2
    assert later["eagle"] == first["eagle"]


@pytest.mark.parametrize(
    ("target", "per_layer"), [("llama-3.1-8b", 4096), ("deepseek-v3", 1152), ("gpt-oss-120b", 2048)]
)
def test_a_heads_layer_keeps_the_whole_context_in_the_targets_kind_of_kv(target, per_layer):
    law = kv_law(head_model(load_model(target), Head(method="eagle", layers=2)), "bf16")

    assert (law.bytes_per_token, law.sliding_bytes_per_token) == (2 * per_layer, 0)


def test_a_head_on_a_compressed_cache_keeps_a_layers_share_of_it():
    target = load_model("deepseek-v4-pro")
    one, all_layers = (head_model(target, Head(method="mtp", layers=n)) for n in (1, target.num_layers))

    assert kv_law(all_layers, "fp8") == kv_law(target, "fp8")
    assert kv_law(one, "fp8").bytes_per_token == pytest.approx(kv_law(target, "fp8").bytes_per_token / 61, rel=0.01)
