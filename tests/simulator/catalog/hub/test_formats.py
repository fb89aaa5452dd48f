"""The weight format that a checkpoint's quantization_config means, in the words of a scenario."""

import pytest

from simulator.catalog.hub.formats import read_format
from simulator.errors import ScenarioError
from simulator.spec.deployment import Target
from tests.simulator.catalog.hub.samples import CONFIGS, LLAMA, NESTED, written

FP8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
INT8 = {"num_bits": 8, "type": "int", "strategy": "channel"}
INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
FP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}


def tensors(weights, inputs=None, **more):
    """A quantization_config of compressed-tensors."""
    group = {"weights": weights, "input_activations": inputs, "targets": ["Linear"]}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"], **more}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8"),
        ({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "awq_int4"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, "awq_int4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}, "awq_int4"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        (tensors(FP8, {"num_bits": 8, "type": "float", "dynamic": True}), "fp8"),
        (tensors(FP8 | {"strategy": "block", "block_structure": [128, 128]}), "fp8_block"),
        (tensors(INT8, {"num_bits": 8, "type": "int", "dynamic": True}), "int8"),
        (tensors(INT4), "awq_int4"),
        (tensors(FP4, {"num_bits": 4, "type": "float"}), "nvfp4"),
        (tensors(FP4 | {"group_size": 32}), "mxfp4"),
    ],
)
def test_a_format_is_named_as_a_scenario_names_it(config, expected, tmp_path):
    found = read_format(written(tmp_path, LLAMA | {"quantization_config": config}))

    assert found == (expected, None, (), ())
    assert Target(model="llama-3.1-8b", weights=found.weights).weights == expected


@pytest.mark.parametrize(
    ("dtype", "expected"), [("bfloat16", "bf16"), ("float16", "bf16"), ("torch.bfloat16", "bf16"), ("float32", "fp32")]
)
def test_an_unquantised_checkpoint_has_its_dtype(dtype, expected, tmp_path):
    older = read_format(written(tmp_path, LLAMA | {"torch_dtype": dtype}))
    newer = read_format(written(tmp_path, LLAMA | {"torch_dtype": None, "dtype": dtype}))

    assert older.weights == newer.weights == expected


def test_a_nested_config_has_its_format_above(tmp_path):
    plain, quantised = NESTED, NESTED | {"quantization_config": {"quant_method": "fp8"}}

    assert read_format(written(tmp_path, plain)).weights == "bf16"
    assert read_format(written(tmp_path, quantised)).weights == "fp8"


def test_the_catalogs_models_have_the_formats_that_they_are_released_in(tmp_path):
    found = {
        name: read_format(written(tmp_path, CONFIGS[name])).weights
        for name in ("deepseek-v3", "gpt-oss-20b", "qwen3-8b")
    }

    assert found == {"deepseek-v3": "fp8_block", "gpt-oss-20b": "mxfp4", "qwen3-8b": "bf16"}


def test_what_model_optimizer_writes_beside_the_config_is_read(tmp_path):
    algorithm = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}
    written(tmp_path, {"producer": {"name": "modelopt"}, "quantization": algorithm}, "hf_quant_config.json")

    assert read_format(written(tmp_path, LLAMA)) == ("nvfp4", "fp8", (), ())


def test_a_cache_that_was_prepared_for_fp8_is_told(tmp_path):
    config = tensors(FP8, kv_cache_scheme={"num_bits": 8, "type": "float", "strategy": "tensor"})

    assert read_format(written(tmp_path, LLAMA | {"quantization_config": config})).kv == "fp8"


def test_parts_that_stay_unquantised_are_named_or_told(tmp_path):
    kept = ["lm_head", "re:.*self_attn.*", "model.layers.0.mlp.gate", "model.layers.31.mlp.down_proj"]

    found = read_format(written(tmp_path, LLAMA | {"quantization_config": tensors(FP8, ignore=kept)}))

    assert found.unquantised == ("attention",)
    assert found.notes == ("parts that stay unquantised, which is not modelled (1): model.layers.31.mlp.down_proj",)


def test_the_first_fp8_checkpoint_of_the_405b_keeps_attention_and_two_mlps(tmp_path):
    attention = [f"model.layers.{layer}.self_attn.{name}_proj" for layer in range(32) for name in "qkvo"]
    mlp = [f"model.layers.{layer}.mlp.{name}_proj" for layer in (0, 31) for name in ("gate", "up", "down")]
    config = {"quant_method": "fbgemm_fp8", "modules_to_not_convert": [*attention, *mlp]}

    found = read_format(written(tmp_path, LLAMA | {"quantization_config": config}))

    assert found.unquantised == ("attention", "first_and_last_mlp")


def test_the_attention_of_some_layers_is_not_that_of_all(tmp_path):
    config = tensors(FP8, ignore=["model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.o_proj"])

    found = read_format(written(tmp_path, LLAMA | {"quantization_config": config}))

    assert found.unquantised == ()
    assert "not modelled (2): model.layers.0.self_attn.q_proj" in found.notes[0]


def test_other_groups_than_the_catalog_counts_are_told(tmp_path):
    config = {"quant_method": "gptq", "bits": 4, "group_size": 32}

    assert "groups of 32" in read_format(written(tmp_path, LLAMA | {"quantization_config": config})).notes[0]


MALFORMED = {
    "a-list": ([], "quantization_config: []: a mapping is needed"),
    "no-method": ({}, 'quant_method: null: not a format that is known here; known: fp8'),
    "unknown-method": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, '"bitsandbytes": not a format'),
    "method-of-a-number": ({"quant_method": 8}, "quant_method: 8: a text is needed"),
    "three-bits": ({"quant_method": "gptq", "bits": 3}, "bits: 3: 4 bits are known only"),
    "eight-bits": ({"quant_method": "gptq", "bits": 8}, "bits: 8: 4 bits are known only"),
    "no-bits": ({"quant_method": "awq"}, "no bits"),
    "bits-in-words": ({"quant_method": "awq", "bits": "4"}, 'bits: "4": a whole number'),
    "other-blocks": ({"quant_method": "fp8", "weight_block_size": [64, 64]}, "weight_block_size: [64, 64]: blocks of"),
    "mixed-precision": ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, '"MIXED_PRECISION": not a'),
    "no-algorithm": ({"quant_method": "modelopt"}, "quant_algo: null: not a format"),
    "other-cache": ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "NVFP4"}, "FP8 is known"),
    "no-groups": ({"quant_method": "compressed-tensors"}, "no config_groups"),
    "empty-groups": ({"quant_method": "compressed-tensors", "config_groups": {}}, "no config_groups"),
    "group-of-a-text": ({"quant_method": "compressed-tensors", "config_groups": {"a": "FP8"}}, '"FP8": a mapping'),
    "no-weights": ({"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": None}}}, "no weights"),
    "two-formats": (
        {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": FP8}, "b": {"weights": INT4}}},
        "groups of several formats are not modelled",
    ),
    "weights-of-eight-bits-alone": (tensors(INT8), "num_bits: 8: type int, groups of None: no format"),
    "four-by-eight": (tensors(INT4, {"num_bits": 8, "type": "float"}), "num_bits: 4: type int, groups of 128"),
    "other-group-of-four": (tensors(FP4 | {"group_size": 64}), "num_bits: 4: type float, groups of 64"),
    "cache-of-four": (tensors(FP8, kv_cache_scheme={"num_bits": 4, "type": "float"}), "num_bits: 4: 8 bits of type"),
    "ignored-number": (tensors(FP8, ignore=[7]), "ignore: [7]: a list of texts is needed"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_format_that_nothing_stands_for_is_refused_by_name(name, tmp_path):
    config, part = MALFORMED[name]
    path = written(tmp_path, LLAMA | {"quantization_config": config})

    with pytest.raises(ScenarioError) as error:
        read_format(path)

    assert str(error.value).startswith(str(path))
    assert part in str(error.value)


def test_an_unknown_dtype_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match='torch_dtype: "int8": not a format that is known here'):
        read_format(written(tmp_path, LLAMA | {"torch_dtype": "int8"}))


def test_a_broken_file_beside_the_config_is_refused(tmp_path):
    written(tmp_path, {"producer": {}}, "hf_quant_config.json")

    with pytest.raises(ScenarioError, match=r"hf_quant_config\.json: no quantization"):
        read_format(written(tmp_path, LLAMA))
