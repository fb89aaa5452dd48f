"""A head in a safetensors file: its tensors, and the dimensions of its layer beside them."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from engine.architecture import Architecture, RopeScaling
from engine.errors import ModelFileError
from engine.heads import HeadWeights, head_from, head_tensors

KEY = "specfleet_head"
"""Where the file's metadata hold the dimensions."""


def save_head(path: Path, head: HeadWeights, about: dict[str, Any]) -> None:
    """Write a head; what stood there is replaced when the whole file is there.

    about: what else is told of it: its target, its training.
    """
    described = json.dumps({"architecture": asdict(head.architecture), **about})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    tensors = {name: tensor.detach().contiguous().clone() for name, tensor in head_tensors(head).items()}
    save_file(tensors, part, metadata={KEY: described})
    part.replace(path)


def load_head(path: Path) -> HeadWeights:
    """Read a head, or say why the file cannot be one."""
    if not path.is_file():
        raise ModelFileError(f"{path}: no such file; train a head: python -m engine.training.head --out {path}")
    try:
        with safe_open(path, framework="pt") as opened:
            described = (opened.metadata() or {}).get(KEY)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        if described is None:
            raise ModelFileError(f"{path}: not a head of this engine: its metadata lack {KEY!r}")
        return head_from(_architecture(json.loads(described)["architecture"]), tensors)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: truncated or not a head ({error}); train it again") from None


def _architecture(named: dict[str, Any]) -> Architecture:
    scaling = named.get("rope_scaling")
    known = {f.name for f in fields(Architecture)} & set(named)
    values = {name: named[name] for name in known} | {"rope_scaling": RopeScaling(**scaling) if scaling else None}
    return Architecture(**values)
