"""A GGUF file of the llama family: its tensors, dequantised, under Hugging Face names, and its tokenizer.

llama.cpp stores query and key rows in the order of its own rotary embedding, which turns neighbouring dimensions;
here dimension i turns with i + head_dim / 2, so the rows are put back.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.architecture import Architecture
from engine.errors import ModelFileError
from engine.weights import Weights, assemble

LAYER_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
"""Hugging Face name inside a layer -> GGUF name inside a block."""

TOP_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def open_gguf(path: Path) -> Any:
    """A reader of the file."""
    import gguf

    if not path.exists():
        raise ModelFileError(f"{path}: the file is missing")
    try:
        return gguf.GGUFReader(path)
    except (ValueError, IndexError, OSError) as error:
        raise ModelFileError(f"{path}: truncated or not a GGUF file ({error}); copy the file again") from None


def field(reader: Any, key: str, default: Any = None) -> Any:
    """A metadata value of the file, or the default."""
    entry = reader.get_field(key)
    return default if entry is None else entry.contents()


def read_architecture(reader: Any, origin: str) -> Architecture:
    """Dimensions, from the metadata."""
    family = field(reader, "general.architecture")
    if family != "llama":
        raise ModelFileError(f"{origin}: general.architecture {family!r} is not run here; known: llama")

    def number(key: str) -> Any:
        value = field(reader, f"llama.{key}")
        if value is None:
            raise ModelFileError(f"{origin}: metadata llama.{key} is missing")
        return value

    names = {tensor.name for tensor in reader.tensors}
    heads, hidden = number("attention.head_count"), number("embedding_length")
    return Architecture(
        num_layers=number("block_count"),
        hidden_size=hidden,
        intermediate_size=number("feed_forward_length"),
        num_heads=heads,
        num_kv_heads=field(reader, "llama.attention.head_count_kv", heads),
        head_dim=field(reader, "llama.attention.key_length", hidden // heads),
        vocab_size=field(reader, "llama.vocab_size") or len(reader.get_field("tokenizer.ggml.tokens").data),
        norm_eps=number("attention.layer_norm_rms_epsilon"),
        rope_theta=field(reader, "llama.rope.freq_base", 10000.0),
        max_position=number("context_length"),
        tie_word_embeddings="output.weight" not in names,
    )


def load_gguf(path: Path, dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu") -> Weights:
    """Load a decoder, dequantised."""
    reader = open_gguf(path)
    architecture = read_architecture(reader, str(path))
    return assemble(architecture, _lookup(reader, architecture, path, dtype, device), str(path))


def _lookup(
    reader: Any, a: Architecture, path: Path, dtype: torch.dtype, device: str | torch.device
) -> Callable[[str], Tensor]:
    import gguf

    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def lookup(name: str) -> Tensor:
        stored = tensors[gguf_name(name)]
        try:
            values = torch.from_numpy(gguf.dequantize(stored.data, stored.tensor_type).copy())
        except (ValueError, RuntimeError) as error:
            raise ModelFileError(f"{path}: tensor {stored.name!r} cannot be read ({error})") from None
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            values = unpermuted(values, a.num_heads if "q_proj" in name else a.num_kv_heads)
        return values.to(device=device, dtype=dtype)

    return lookup


def gguf_name(name: str) -> str:
    """GGUF name of a Hugging Face tensor.

    >>> gguf_name("model.layers.3.self_attn.q_proj.weight"), gguf_name("model.norm.weight")
    ('blk.3.attn_q.weight', 'output_norm.weight')
    """
    stem, _, suffix = name.rpartition(".")
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{suffix}"
    _, _, layer, inner = stem.split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[inner]}.{suffix}"


def unpermuted(rows: Tensor, num_heads: int) -> Tensor:
    """Rows of a query or key matrix in half-split order: within a head, the even ones first, then the odd ones.

    >>> unpermuted(torch.arange(4.0).reshape(4, 1), 1).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    outputs, inputs = rows.shape
    pairs = rows.reshape(num_heads, outputs // num_heads // 2, 2, inputs)
    return pairs.transpose(1, 2).reshape(outputs, inputs)
