"""The weight format of a checkpoint by its quantization_config, in the words of a scenario."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.catalog.hub.config import text_keys
from simulator.catalog.hub.keys import Keys, read_json
from simulator.errors import ScenarioError
from simulator.spec.deployment import UnquantisedPart
from simulator.spec.draft import KvDtype, WeightDtype

PLAIN: dict[str, WeightDtype] = {"bfloat16": "bf16", "float16": "bf16", "float32": "fp32"}
"""dtype of an unquantised checkpoint → weight format; float16 has the bytes of bf16."""
MODELOPT: dict[str, WeightDtype] = {"FP8": "fp8", "NVFP4": "nvfp4", "FP8_PB_WO": "fp8_block"}
"""quant_algo of TensorRT Model Optimizer → weight format."""
BESIDE = "hf_quant_config.json"
"""Where Model Optimizer says what it did, if config.json does not."""
KEPT_ANYWAY = re.compile(
    r"lm_head|embed|norm|gate$|gate\.|router|vis|mm_|projector|audio|mtp|nextn|shared_head|eh_proj"
)
"""Parts that every format of the catalog leaves in bf16, or that are not part of the language model."""
ATTENTION = re.compile(r"(attn|attention)[.*$]*$|[qkvo]_proj|qkv_proj")
"""The attention of a layer, or its large matrices."""
MLP = re.compile(r"mlp|gate_proj|up_proj|down_proj")
LAYER = re.compile(r"layers\.(\d+)\.")


class WeightFormat(NamedTuple):
    """What a scenario's target says of a checkpoint's format."""

    weights: WeightDtype
    kv: KvDtype | None = None
    """KV dtype that the checkpoint was prepared for; None: it says nothing of it."""
    unquantised: tuple[UnquantisedPart, ...] = ()
    notes: tuple[str, ...] = ()


def read_format(path: Path) -> WeightFormat:
    """The weight format of a config.json; ScenarioError names what no format of the catalog stands for."""
    document = read_json(path)
    keys = text_keys(document, str(path))
    config = keys.below("quantization_config") or _beside(path)
    if config is None:
        return _plain(keys)
    method = config.text("quant_method").lower()
    if method not in METHODS:
        raise config.wrong("quant_method", f"not a format that is known here; known: {', '.join(METHODS)}")
    found = METHODS[method](config)
    unquantised, notes = ((), ()) if found.weights == "mxfp4" else _kept(config, keys.positive("num_hidden_layers"))
    return found._replace(unquantised=unquantised, notes=(*found.notes, *notes))


def _beside(path: Path) -> Keys | None:
    """What Model Optimizer wrote beside a config.json that says nothing of it."""
    beside = path.parent / BESIDE
    if not beside.is_file():
        return None
    found = Keys(read_json(beside), str(beside)).below("quantization")
    if found is None:
        raise ScenarioError(f"{beside}: no quantization: a mapping is needed")
    return Keys({"quant_method": "modelopt", **found.entries}, found.where)


def _plain(keys: Keys) -> WeightFormat:
    stated = keys.text("dtype") or keys.text("torch_dtype")
    dtype = stated.removeprefix("torch.")
    if not dtype:
        return WeightFormat("bf16", notes=("no dtype is stated: bf16 is what engines take then",))
    if dtype not in PLAIN:
        name = "dtype" if keys.text("dtype") else "torch_dtype"
        raise keys.wrong(name, f"not a format that is known here; known: {', '.join(PLAIN)}")
    note = ("float32 weights: engines serve them in bf16 unless told otherwise",) if dtype == "float32" else ()
    return WeightFormat(PLAIN[dtype], notes=note)


def _fp8(config: Keys) -> WeightFormat:
    block = config.get("weight_block_size")
    if block is None:
        return WeightFormat("fp8")
    if block != [128, 128]:
        raise config.wrong("weight_block_size", "blocks of [128, 128] are known only")
    return WeightFormat("fp8_block")


def _int4(config: Keys) -> WeightFormat:
    """AWQ and GPTQ: 4 bits in groups."""
    if config.count("bits", "w_bit") != 4:
        raise config.wrong("w_bit" if config.get("bits") is None else "bits", "4 bits are known only")
    return WeightFormat("awq_int4", notes=_group_note(config.get("group_size"), config.get("q_group_size")))


def _group_note(*stated: Any) -> tuple[str, ...]:
    size = next((value for value in stated if value is not None), 128)
    if size == 128:
        return ()
    return (f"groups of {size}: awq_int4 counts the scales of groups of 128, so the weights' bytes differ a little",)


def _mxfp4(config: Keys) -> WeightFormat:
    return WeightFormat("mxfp4")


def _modelopt(config: Keys) -> WeightFormat:
    algorithm = config.text("quant_algo")
    if algorithm not in MODELOPT:
        raise config.wrong("quant_algo", f"not a format that is known here; known: {', '.join(MODELOPT)}")
    cache = config.text("kv_cache_quant_algo")
    if cache not in ("", "FP8"):
        raise config.wrong("kv_cache_quant_algo", "FP8 is known only")
    return WeightFormat(MODELOPT[algorithm], "fp8" if cache else None)


def _compressed_tensors(config: Keys) -> WeightFormat:
    groups = config.below("config_groups")
    found = set() if groups is None else {_scheme(group) for name in groups.entries if (group := groups.below(name))}
    if not found:
        raise ScenarioError(f"{config.where}: no config_groups: a mapping is needed")
    if len(found) > 1:
        raise config.wrong("config_groups", "groups of several formats are not modelled")
    cache = config.below("kv_cache_scheme")
    if cache is not None and (cache.count("num_bits"), cache.text("type")) != (8, "float"):
        raise cache.wrong("num_bits", "8 bits of type float are known only")
    weights, note = next(iter(found))
    return WeightFormat(weights, None if cache is None else "fp8", notes=note)


def _scheme(group: Keys) -> tuple[WeightDtype, tuple[str, ...]]:
    """The format of one group of compressed-tensors, and what to mind."""
    weights = group.below("weights")
    if weights is None:
        raise ScenarioError(f"{group.where}: no weights: a mapping is needed")
    bits, kind, size = weights.count("num_bits"), weights.text("type"), weights.optional("group_size")
    inputs = group.below("input_activations")
    if (bits, kind) == (8, "float"):
        return ("fp8_block" if weights.text("strategy") == "block" else "fp8"), ()
    if (bits, kind) == (8, "int") and inputs is not None and inputs.count("num_bits") == 8:
        return "int8", ()
    if (bits, kind) == (4, "int") and inputs is None:
        return "awq_int4", _group_note(size)
    if (bits, kind) == (4, "float") and size in (16, 32):
        return ("nvfp4" if size == 16 else "mxfp4"), ()
    raise weights.wrong("num_bits", f"type {kind or 'none'}, groups of {size}: no format of the catalog stands for it")


METHODS = {
    "fp8": _fp8, "fbgemm_fp8": _fp8, "awq": _int4, "gptq": _int4, "mxfp4": _mxfp4, "modelopt": _modelopt,
    "modelopt_fp4": _modelopt, "compressed-tensors": _compressed_tensors,
}  # fmt: skip
"""quant_method → who reads the rest of the mapping."""


def _kept(config: Keys, num_layers: int) -> tuple[tuple[UnquantisedPart, ...], tuple[str, ...]]:
    """Parts that the checkpoint keeps in bf16 beyond what its format leaves there: those a scenario can name; notes."""
    stated = [
        name
        for key in ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules")
        for name in config.texts(key)
        if not KEPT_ANYWAY.search(name)
    ]
    attention = [name for name in stated if ATTENTION.search(name)]
    mlp = [name for name in stated if MLP.search(name) and name not in attention]
    named: dict[UnquantisedPart, list[str]] = {}
    if _layers(attention, num_layers) == set(range(num_layers)):
        named["attention"] = attention
    if _layers(mlp, num_layers) == {0, num_layers - 1}:
        named["first_and_last_mlp"] = mlp
    return tuple(named), _told([name for name in stated if not any(name in part for part in named.values())])


def _layers(names: Sequence[str], num_layers: int) -> set[int]:
    """Layers that the names of parts speak of: all, where a name has no number."""
    found = [LAYER.search(name) for name in names]
    return set(range(num_layers)) if None in found else {int(one[1]) for one in found if one is not None}


def _told(others: Sequence[str]) -> tuple[str, ...]:
    if not others:
        return ()
    more = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
    return (f"parts that stay unquantised, which is not modelled ({len(others)}): {more}",)
