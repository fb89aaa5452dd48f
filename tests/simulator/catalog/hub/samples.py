"""Files of the hub to read and to break: the shapes that their publishers give them, the catalog's numbers in them."""

import json
from pathlib import Path
from typing import Any

CONFIGS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[3] / "data" / "hub" / "configs.json").read_text(encoding="utf-8")
)
"""Name in the catalog → config.json of that model."""
LLAMA, MOE, LATENT = CONFIGS["llama-3.1-8b"], CONFIGS["qwen3-30b-a3b"], CONFIGS["deepseek-v3"]
HYBRID, SLIDING, NESTED = CONFIGS["qwen3-next-80b-a3b"], CONFIGS["gpt-oss-20b"], CONFIGS["gemma-3-12b"]


def written(folder: Path, config: Any, name: str = "config.json") -> Path:
    """A config as a file; a text or bytes as they are."""
    path = folder / name
    if isinstance(config, bytes):
        path.write_bytes(config)
    else:
        path.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    return path


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A config that lacks keys."""
    return {key: value for key, value in config.items() if key not in keys}
