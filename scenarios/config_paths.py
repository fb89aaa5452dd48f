"""Models that a scenario names by the path of a config.json: the path made absolute, so that it loads from anywhere."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from scenarios.files import Source
from scenarios.yaml_nodes import Node
from simulator.catalog.load import is_config, load_model


def with_absolute_configs(root: Node, source: Source) -> Node:
    """The file with every path of a config.json absolute: they start at the file, or, in a --set, where it is run."""
    return _walked(root, "", source)


def _walked(node: Node, key: str, source: Source) -> Node:
    """The node; key: that of the nearest mapping, whose last part says whether a text names a model."""
    if isinstance(node.value, dict):
        return replace(node, value={inner: _walked(item, str(inner), source) for inner, item in node.value.items()})
    if isinstance(node.value, list):
        return replace(node, value=[_walked(item, key, source) for item in node.value])
    return replace(node, value=_absolute(node, str(node.value), source)) if _names_config(key, node.value) else node


def _names_config(key: str, value: Any) -> bool:
    """Whether a value stands where a model is named, and is a path."""
    return key.rpartition(".")[2] == "model" and isinstance(value, str) and is_config(value)


def _absolute(node: Node, path: str, source: Source) -> str:
    folder = source.path.parent if source.path is not None and node.file == source.file else Path()
    return str((folder / path).absolute())


def by_content(document: Any, key: str = "") -> Any:
    """A resolved scenario in which the content of a config.json stands for its path."""
    if isinstance(document, dict):
        return {inner: by_content(value, inner) for inner, value in document.items()}
    return load_model(document).model_dump_json() if _names_config(key, document) else document
