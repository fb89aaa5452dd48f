"""A config.json that is broken, or describes what is not modelled: one message with the file, the key and the value."""

import pytest

from simulator.catalog.hub.config import read_config
from simulator.errors import ScenarioError
from tests.simulator.catalog.hub.samples import HYBRID, LATENT, LLAMA, MOE, NESTED, SLIDING, without, written

GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}
CASES = {
    "empty": ("", ":1: not JSON"),
    "broken": ('{"model_type": "llama",\n', ":2: not JSON"),
    "binary": (b"\xff\xfe\x00", "not a text in UTF-8"),
    "a-list": ([LLAMA], "a JSON object is needed"),
    "too-deep": ("[" * 100_000, "nested too deeply"),
    "too-long": (" " * 4_000_001, "larger than 4 MB"),
    "no-type": (without(LLAMA, "model_type"), "model_type: null: models of this type are not known here; known:"),
    "unknown-type": (LLAMA | {"model_type": "mamba2"}, 'model_type: "mamba2": models of this type are not known'),
    "type-with-a-reason": (LLAMA | {"model_type": "deepseek_v4"}, "deepseek-v4-flash and -pro are in the catalog"),
    "type-of-a-number": (LLAMA | {"model_type": 7}, "model_type: 7: a text is needed"),
    "an-encoder": (LLAMA | {"architectures": ["BertForMaskedLM"]}, "a model that writes text is needed"),
    "another-head": (GPT2, '["GPT2LMHeadModel"]: a model that writes text'),
    "a-draft-head": (LLAMA | {"architectures": ["LlamaForCausalLMEagle3"]}, "a draft head; write it as head:"),
    "no-layers": (without(LLAMA, "num_hidden_layers"), "no num_hidden_layers: a whole number is needed"),
    "layers-in-words": (LLAMA | {"num_hidden_layers": "32"}, 'num_hidden_layers: "32": a whole number'),
    "half-a-layer": (LLAMA | {"num_hidden_layers": 32.5}, "num_hidden_layers: 32.5: a whole number"),
    "true-layers": (LLAMA | {"num_hidden_layers": True}, "num_hidden_layers: true: a whole number"),
    "no-size": (LLAMA | {"hidden_size": 0}, "hidden_size: 0: a number above 0"),
    "negative": (LLAMA | {"vocab_size": -1}, "vocab_size: -1: a whole number from 0"),
    "kv-heads-do-not-divide": (LLAMA | {"num_key_value_heads": 9}, "9: does not divide the 32 attention heads"),
    "no-head-size": (LLAMA | {"num_attention_heads": 33, "num_key_value_heads": 33}, "does not divide the hidden_size"),
    "tied-in-words": (LLAMA | {"tie_word_embeddings": "no"}, 'tie_word_embeddings: "no": true or false is needed'),
    "biased-mlp": (LLAMA | {"mlp_bias": True}, "mlp_bias: true: biases of the MLP are not modelled"),
    "window-of-a-llama": (LLAMA | {"sliding_window": 4096}, "sliding_window: 4096: models of this type are not known"),
    "gpt-oss-without-biases": (SLIDING | {"attention_bias": False}, "attention_bias: false: models of this type"),
    "latent-windows": (LATENT | {"layer_types": ["sliding_attention"] * 61}, "sliding_attention is not modelled here"),
    "biased-latent": (LATENT | {"attention_bias": True}, "attention_bias: true: models of this type are not known"),
    "chunks": (LLAMA | {"attention_chunk_size": 8192}, "attention in chunks is not modelled"),
    "layers-share-kv": (LLAMA | {"num_kv_shared_layers": 10}, "layers that share KV are not modelled"),
    "bias-of-a-mistral": (LLAMA | {"model_type": "mistral", "attention_bias": True}, "attention_bias: true: models of"),
    "text-config-of-a-list": (NESTED | {"text_config": []}, "text_config: []: a mapping is needed"),
    "nested-key": (NESTED | {"text_config": {"model_type": "gemma3_text"}}, "text_config: no num_hidden_layers"),
    "whole-queries": (LATENT | {"q_lora_rank": None}, "q_lora_rank: null: latent attention with whole query matrices"),
    "half-latent": (without(LATENT, "v_head_dim"), "no v_head_dim"),
    "no-experts": (without(MOE, "num_experts"), "no n_routed_experts or num_experts or num_local_experts"),
    "more-chosen-than-there-are": (MOE | {"num_experts_per_tok": 200}, "there are 128 experts to choose from"),
    "experts-in-turn": (MOE | {"decoder_sparse_step": 2}, "layers with and without experts in turn"),
    "dense-in-the-middle": (
        MOE | {"mlp_only_layers": [3]},
        "mlp_only_layers: [3]: dense layers that are not the first",
    ),
    "all-dense": (LATENT | {"first_k_dense_replace": 61}, "of 61 layers none is left for experts"),
    "unsaid-windows": (MOE | {"use_sliding_window": True, "sliding_window": 9}, "layer_types is needed"),
    "no-window": (without(SLIDING, "sliding_window"), "no sliding_window"),
    "too-few-kinds": (SLIDING | {"layer_types": ["full_attention"]}, "1 layers, where num_hidden_layers is 24"),
    "unknown-kind": (SLIDING | {"layer_types": ["mamba"] * 24}, "mamba is not modelled here"),
    "without-a-gate": (HYBRID | {"attn_output_gate": False}, "attn_output_gate: false: models of this type"),
    "of-mlx": (LLAMA | {"quantization": {"bits": 4}}, 'quantization: {"bits": 4}: MLX\'s checkpoints'),
    "no-state": (without(HYBRID, "linear_num_value_heads"), "no linear_num_value_heads"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_not_understood_is_refused_by_name(name, tmp_path):
    content, part = CASES[name]
    path = written(tmp_path, content)

    with pytest.raises(ScenarioError) as error:
        read_config(path)

    assert str(error.value).startswith(str(path))
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ScenarioError, match=r"config\.json: cannot be read: No such file"):
        read_config(tmp_path / "config.json")
    with pytest.raises(ScenarioError, match=r"cannot be read: Is a directory"):
        read_config(tmp_path)
