"""A config.json becomes the model that the catalog holds under that name, number by number."""

import pytest

from simulator.catalog.hub.config import read_config
from simulator.catalog.load import load_model
from simulator.physics.footprint import parameters
from simulator.physics.kv import kv_law
from tests.simulator.catalog.hub.samples import CONFIGS, HYBRID, LATENT, LLAMA, MOE, NESTED, SLIDING, without, written

SAID_OTHERWISE = {"name", "hf_id", "published", "notes", "source", "sources"}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_describes_the_model_that_the_catalog_holds(name, tmp_path):
    found, known = read_config(written(tmp_path, CONFIGS[name])), load_model(name)

    assert found.model_dump(exclude=SAID_OTHERWISE) == known.model_dump(exclude=SAID_OTHERWISE)
    assert parameters(found) == parameters(known)
    assert kv_law(found, "fp8", 2) == kv_law(known, "fp8", 2)


def test_layer_types_say_what_a_rule_would(tmp_path):
    kinds = ["sliding_attention", "full_attention"] * 12

    found = read_config(written(tmp_path, SLIDING | {"layer_types": kinds}))

    assert found == read_config(written(tmp_path, SLIDING)).model_copy(update={"sources": found.sources})


def test_a_dense_model_of_linear_attention_has_the_parameters_of_its_name(tmp_path):
    """Qwen3.5-27B."""
    text = {
        "model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64,
        "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256, "linear_num_value_heads": 48,
        "vocab_size": 248320, "max_position_embeddings": 262144,
    }  # fmt: skip

    found = read_config(written(tmp_path, {"model_type": "qwen3_5", "text_config": text}))

    assert parameters(found).total == pytest.approx(27e9, rel=0.01)
    assert found.num_full_attention_layers == 16


def test_layers_of_linear_attention_may_be_listed(tmp_path):
    kinds = ["linear_attention"] * 40 + ["full_attention"] * 8

    found = read_config(written(tmp_path, HYBRID | {"layer_types": kinds}))

    assert found.num_full_attention_layers == 8
    assert found.recurrent_state_bytes == 40 * 32 * 128 * 128 * 4


def test_dense_layers_may_be_listed_if_they_are_the_first(tmp_path):
    listed = without(LATENT, "first_k_dense_replace") | {"mlp_layer_types": ["dense"] * 2 + ["sparse"] * 59}

    assert read_config(written(tmp_path, listed)).moe.first_dense_layers == 2
    assert read_config(written(tmp_path, MOE | {"mlp_only_layers": [0]})).moe.first_dense_layers == 1


def test_windows_begin_at_the_layer_that_is_stated(tmp_path):
    config = CONFIGS["qwen2.5-7b"] | {"use_sliding_window": True, "max_window_layers": 20, "sliding_window": 4096}

    found = read_config(written(tmp_path, config))

    assert (found.sliding.window_tokens, found.sliding.num_layers) == (4096, 8)


def test_biases_are_counted_where_they_are_stated(tmp_path):
    plain, biased = (read_config(written(tmp_path, LLAMA | {"attention_bias": on})) for on in (False, True))

    assert biased.attention_extra_params - plain.attention_extra_params == 32 * (4096 + 2 * 1024 + 4096)


def test_the_older_and_the_newer_name_of_a_key_are_one(tmp_path):
    older = without(SLIDING, "num_experts_per_tok")

    assert read_config(written(tmp_path, older)).moe.top_k == 4


def test_what_a_class_of_transformers_takes_by_default_is_taken(tmp_path):
    text = without(NESTED["text_config"], "num_attention_heads", "num_key_value_heads", "vocab_size")

    found = read_config(written(tmp_path, NESTED | {"text_config": text}))

    assert (found.num_attention_heads, found.num_kv_heads, found.head_dim) == (8, 4, 256)
    assert (found.tie_word_embeddings, found.max_position, found.vocab_size) == (True, 131_072, 262_208)


@pytest.mark.parametrize(
    ("config", "part"), [(LATENT, "1 layer(s) of multi-token prediction"), (NESTED, "the language model alone")]
)
def test_what_is_left_out_is_noted(config, part, tmp_path):
    assert part in read_config(written(tmp_path, config)).notes


def test_a_model_is_named_after_its_file_or_the_folder_of_a_config(tmp_path):
    (tmp_path / "My Llama").mkdir()

    assert read_config(written(tmp_path / "My Llama", LLAMA)).name == "My-Llama"
    assert read_config(written(tmp_path, LLAMA, "mine.json")).name == "mine"
    assert read_config(written(tmp_path, LLAMA), "other").name == "other"


def test_the_source_is_the_content_and_not_the_place(tmp_path):
    (tmp_path / "a").mkdir()
    here, there = read_config(written(tmp_path, LLAMA), "x"), read_config(written(tmp_path / "a", LLAMA), "x")

    assert here == there
    assert "sha256" in here.sources["config"].ref


def test_an_edited_file_is_read_anew(tmp_path):
    path = str(written(tmp_path, LLAMA))
    before = load_model(path).num_layers

    written(tmp_path, LLAMA | {"num_hidden_layers": 4})

    assert (before, load_model(path).num_layers) == (32, 4)
