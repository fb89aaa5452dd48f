"""A Hugging Face folder: config.json, safetensors in one file or in shards, tokenizer.json."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.architecture import from_hf
from engine.errors import ModelFileError
from engine.weights import Weights, assemble

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}
"""Element types by the names that files and the command line use."""


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json."""
    path = folder / "config.json"
    if not path.exists():
        raise ModelFileError(f"{folder}: no config.json there; a Hugging Face model folder holds one")
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFileError(f"{path}: not valid JSON ({error}); copy the file again") from None
    return config


def load_hf_folder(folder: Path, dtype: torch.dtype | None = None, device: str | torch.device = "cpu") -> Weights:
    """Load a decoder; dtype None: as its configuration says, else as stored."""
    config = read_config(folder)
    architecture = from_hf(config, str(folder / "config.json"))
    named = config.get("dtype") or config.get("torch_dtype")
    wanted = dtype or DTYPES.get(str(named))
    find = _finder(folder)

    def lookup(name: str) -> Tensor:
        tensor = find(mixtral_name(name) if config["model_type"] == "mixtral" else name)
        return tensor.to(device=device, dtype=wanted or tensor.dtype)

    return assemble(architecture, lookup, str(folder))


def mixtral_name(name: str) -> str:
    """Mixtral's name of a tensor.

    >>> mixtral_name("model.layers.3.mlp.experts.7.up_proj.weight")
    'model.layers.3.block_sparse_moe.experts.7.w3.weight'
    """
    for ours, theirs in (("mlp.", "block_sparse_moe."), ("gate_proj", "w1"), ("down_proj", "w2"), ("up_proj", "w3")):
        name = name.replace(ours, theirs)
    return name


def _finder(folder: Path) -> Callable[[str], Tensor]:
    """Tensors by name, over all shards."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        shards: dict[str, str] = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        files = {name: folder / file for name, file in shards.items()}
    else:
        single = folder / "model.safetensors"
        with _opened(single) as opened:
            files = dict.fromkeys(opened.keys(), single)
    handles = {path: _opened(path) for path in sorted(set(files.values()))}

    def find(name: str) -> Tensor:
        path = files[name]
        try:
            tensor: Tensor = handles[path].get_tensor(name)
        except SafetensorError as error:
            raise ModelFileError(f"{path}: tensor {name!r} cannot be read ({error}); copy the file again") from None
        return tensor

    return find


def _opened(path: Path) -> Any:
    if not path.exists():
        raise ModelFileError(
            f"{path}: the file is missing; a folder holds model.safetensors, or all shards of its index"
        )
    try:
        return safe_open(path, framework="pt")
    except SafetensorError as error:
        raise ModelFileError(f"{path}: truncated or not safetensors ({error}); copy the file again") from None
