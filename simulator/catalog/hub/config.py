"""A Hugging Face config.json as a model of the catalog; what is not understood is refused by name, never guessed."""

import hashlib
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.catalog.hub.families import ELSEWHERE, FAMILIES, REFUSED, Family
from simulator.catalog.hub.keys import Keys, read_json
from simulator.catalog.hub.layers import (
    FULL,
    LINEAR,
    attention_head_dim,
    extra_params,
    gated_attention_params,
    gated_delta_params,
    indexer_params,
    latent_attention,
    layer_kinds,
    recurrent_bytes,
    routed_experts,
    sliding,
)
from simulator.errors import ScenarioError
from simulator.spec.model import Model

DRAFT_HEADS = re.compile(r"eagle|medusa|mlpspeculator|dspark", re.IGNORECASE)
SERVED = ("ForCausalLM", "ForConditionalGeneration")
SHARED = ("tie_word_embeddings", "quantization_config", "dtype", "torch_dtype")
"""Keys that a file with a text_config may have above it."""
PREDICTION_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")


def read_config(path: Path, name: str | None = None) -> Model:
    """The architecture that a config.json describes; ScenarioError says what is missing, wrong or not modelled.

    name: the model's name; by default that of the file, or of its folder where the file is called config.json.
    """
    document = read_json(path)
    keys = text_keys(document, str(path))
    family = FAMILIES[_known_type(keys)]
    keys.defaults = family.defaults
    _refuse_unmodelled(keys, family)
    described = {
        "name": name or _named_after(path),
        "hf_id": str(document.get("_name_or_path") or "not stated in the file")[:200],
        "notes": _notes(document, keys),
        "source": "config",
        "sources": {"config": {"kind": "config", "ref": _reference(path)}},
    }
    try:
        return Model.model_validate(_dimensions(keys, family) | described)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ScenarioError(f"{path}: {place}: {first['input']!r}: {first['msg']}") from None


def text_keys(document: dict[str, Any], where: str) -> Keys:
    """The keys of the language model: the document's own, or those of its text_config over them."""
    _refuse_heads(document, where)
    whole = Keys(document, where)
    text = whole.below("text_config")
    if text is None:
        return whole
    shared = {key: document[key] for key in SHARED if key in document}
    return Keys(shared | {"model_type": f"{whole.text('model_type')}_text"} | dict(text.entries), text.where)


def _refuse_heads(document: dict[str, Any], where: str) -> None:
    """Checkpoints of draft heads, encoders and classifiers have the same keys as models that are served."""
    keys = Keys(document, where)
    for architecture in keys.texts("architectures"):
        if DRAFT_HEADS.search(architecture):
            raise keys.wrong("architectures", "a draft head; write it as head: {method: …} in speculation.drafts")
        if not architecture.endswith(SERVED):
            raise keys.wrong("architectures", f"a model that writes text is needed (…{', …'.join(SERVED)})")


def _known_type(keys: Keys) -> str:
    kind = keys.text("model_type")
    if kind in FAMILIES:
        return kind
    known = f"known: {', '.join(sorted(FAMILIES))}"
    why = ELSEWHERE.get(kind, "models of this type are not known here")
    raise keys.wrong("model_type", f"{why}; {known}; or write the model by hand into a catalog of your own")


def _refuse_unmodelled(keys: Keys, family: Family) -> None:
    for name, why in REFUSED.items():
        if keys.get(name):
            raise keys.wrong(name, why)
    if family.attention != "gqa" and keys.flag("attention_bias"):
        raise keys.wrong("attention_bias", "models of this type are not known with it")


def _dimensions(keys: Keys, family: Family) -> dict[str, Any]:
    """Everything of a Model but its names and sources."""
    num_layers, hidden_size = keys.positive("num_hidden_layers"), keys.positive("hidden_size")
    moe = routed_experts(keys, family, num_layers) if family.experts else None
    dense_layers = num_layers if moe is None else moe.first_dense_layers
    return {
        "num_layers": num_layers,
        "hidden_size": hidden_size,
        "intermediate_size": keys.positive("intermediate_size") if dense_layers else 0,
        "num_attention_heads": keys.positive("num_attention_heads"),
        "vocab_size": keys.positive("vocab_size"),
        "tie_word_embeddings": keys.flag("tie_word_embeddings"),
        "max_position": keys.positive("max_position_embeddings"),
        "moe": moe,
        "norm_params": (family.norms * num_layers + 1) * hidden_size,
        **ATTENTION[family.attention](keys, family, num_layers),
    }


def _grouped(keys: Keys, family: Family, num_layers: int) -> dict[str, Any]:
    heads = _heads(keys)
    return {
        "attention": "gqa",
        "num_kv_heads": heads[1],
        "head_dim": heads[2],
        "sliding": sliding(keys, layer_kinds(keys, family, num_layers)),
        "attention_extra_params": num_layers * extra_params(keys, family, heads),
    }


def _latent(keys: Keys, family: Family, num_layers: int) -> dict[str, Any]:
    mla = latent_attention(keys)
    layer_kinds(keys, family, num_layers)
    return {
        "attention": "mla",
        "mla": mla,
        "num_kv_heads": keys.optional("num_key_value_heads") or keys.positive("num_attention_heads"),
        "head_dim": mla.qk_nope_head_dim + mla.qk_rope_head_dim,
        "attention_extra_params": num_layers * (mla.q_lora_rank + mla.kv_lora_rank),
        "other_params": num_layers * indexer_params(keys, mla) if family.indexer else 0,
    }


def _gated_delta(keys: Keys, family: Family, num_layers: int) -> dict[str, Any]:
    if keys.get("attn_output_gate") is False:
        raise keys.wrong("attn_output_gate", "models of this type are not known without it")
    heads, kinds = _heads(keys), layer_kinds(keys, family, num_layers)
    full, linear = kinds.count(FULL), kinds.count(LINEAR)
    return {
        "attention": "hybrid",
        "num_kv_heads": heads[1],
        "head_dim": heads[2],
        "num_full_attention_layers": full,
        "attention_params": full * gated_attention_params(keys, heads) + linear * gated_delta_params(keys),
        "recurrent_state_bytes": linear * recurrent_bytes(keys),
    }


ATTENTION = {"gqa": _grouped, "mla": _latent, "gated_delta": _gated_delta}
"""Kind of attention → the fields that follow from it."""


def _heads(keys: Keys) -> tuple[int, int, int]:
    """Query heads, KV heads, size of a head."""
    num_heads = keys.positive("num_attention_heads")
    num_kv_heads = keys.optional("num_key_value_heads") or num_heads
    if num_heads % num_kv_heads:
        raise keys.wrong("num_key_value_heads", f"does not divide the {num_heads} attention heads")
    return num_heads, num_kv_heads, attention_head_dim(keys)


def _notes(document: dict[str, Any], keys: Keys) -> str:
    """What the file holds beyond the language model that is served."""
    notes = []
    if layers := keys.optional(*PREDICTION_LAYERS):
        notes.append(
            f"{layers} layer(s) of multi-token prediction are not counted: they draft as head: {{method: mtp}}"
        )
    if "text_config" in document:
        notes.append("the language model alone: encoders of pictures or sound are not counted")
    return "; ".join(notes)


def _named_after(path: Path) -> str:
    """A name from the file's, or its folder's where the file is called config.json.

    >>> _named_after(Path("/models/Llama 3/config.json")), _named_after(Path("mine/llama.json"))
    ('Llama-3', 'llama')
    """
    stem = path.absolute().parent.name if path.stem == "config" else path.stem
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).lstrip("._-")[:80] or "config"


def _reference(path: Path) -> str:
    """The file by its name and its content; not by its place, which differs from machine to machine."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return f"{path.name}, sha256 {digest}; counts that dimensions do not give follow transformers' layer definitions"
