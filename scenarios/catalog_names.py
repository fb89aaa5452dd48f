"""Names that a scenario takes from the catalog, checked with the file: GPU, models, engine, prices, tables, presets."""

from collections.abc import Iterator
from typing import Any

from scenarios.problems import Path, Problem, dotted, shown, way_out
from scenarios.yaml_nodes import Node, child
from simulator.catalog import load
from simulator.catalog.own import looked_in
from simulator.errors import CatalogError, ScenarioError

PLACES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("workload", "lengths", "table"), "lengths"),
    (("deployments", "*", "gpu"), "gpus"),
    (("deployments", "*", "price", "catalog"), "prices"),
    (("deployments", "*", "speculation", "placement", "gpu"), "gpus"),
    (("deployments", "*", "speculation", "placement", "price", "catalog"), "prices"),
    (("deployments", "*", "target", "model"), "models"),
    (("deployments", "*", "engine", "policy"), "engines"),
    (("deployments", "*", "speculation", "drafts", "*", "model"), "models"),
    (("deployments", "*", "speculation", "drafts", "*", "acceptance", "*", "preset"), "acceptance"),
)
"""Place in a resolved scenario (`*`: any name) → kind of catalog entry that it names."""

_WORDS = {
    "lengths": "length table",
    "gpus": "GPU",
    "prices": "price list",
    "models": "model",
    "engines": "engine policy",
    "acceptance": "acceptance preset",
}


def known_names(kind: str) -> list[str]:
    """All catalog entries of a kind."""
    return load.names(kind)


def priced_gpus(price_list: str) -> list[str]:
    """GPUs that a price list of the catalog has."""
    return [entry.gpu for entry in load.load_price_list(price_list).prices]


def unknown_names(root: Node) -> Iterator[Problem]:
    """What a resolved scenario names that the catalog does not hold, prices that a list lacks among it."""
    yield from misnamed(root)
    yield from unpriced(root)


def misnamed(root: Node) -> Iterator[Problem]:
    """Names that are none of the catalog."""
    for pattern, kind in PLACES:
        for path, node in _matching(root, pattern, ()):
            if not isinstance(node.value, str):
                continue
            if kind == "models" and load.is_config(node.value):
                yield from _unreadable(path, node, node.value)
            elif node.value not in known_names(kind):
                yield _problem(path, node, _unknown(node.value, kind))


def _unreadable(path: Path, node: Node, file: str) -> Iterator[Problem]:
    try:
        load.load_model(file)
    except ScenarioError as error:
        yield _problem(path, node, str(error))


def unpriced(root: Node) -> Iterator[Problem]:
    """GPUs that the price list of their deployment does not have."""
    for path, node in _matching(root, ("deployments", "*"), ()):
        yield from _unpriced(path, node)
        yield from _unpriced((*path, "speculation", "placement"), child(child(node, "speculation"), "placement"))


def _unknown(name: str, kind: str) -> str:
    if kind == "gpus" and "mig" in name.lower().replace("_", "-").split("-"):
        return f"{shown(name)}: MIG is not modelled: a replica owns whole GPUs"
    or_file = "; or name the path of its config.json" if kind == "models" else ""
    return f"no {_WORDS[kind]} {shown(name)} in the catalog; {way_out(name, known_names(kind))}; {looked_in()}{or_file}"


def _unpriced(path: Path, deployment: Node | None) -> Iterator[Problem]:
    price, gpu = child(child(deployment, "price"), "catalog"), child(deployment, "gpu")
    if price is None or gpu is None or not isinstance(price.value, str) or not isinstance(gpu.value, str):
        return
    if price.value not in known_names("prices") or gpu.value not in known_names("gpus"):
        return
    try:
        gpus = priced_gpus(price.value)
    except CatalogError as error:
        yield _problem((*path, "price", "catalog"), price, str(error))
        return
    if gpu.value not in gpus:
        message = (
            f"price list {shown(price.value)} has no price of GPU {shown(gpu.value)}; it prices: "
            f"{', '.join(sorted(set(gpus)))}; write the price as a number of USD per GPU-hour instead"
        )
        yield _problem((*path, "price", "catalog"), price, message)


def _problem(path: Path, node: Node, message: str) -> Problem:
    return Problem(node.file, node.line, dotted(path), message)


def _matching(node: Node, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Path, Node]]:
    """Nodes at the places that a pattern names."""
    if not pattern:
        yield path, node
        return
    entries: dict[Any, Node] = node.value if isinstance(node.value, dict) else {}
    for key, inner in entries.items():
        if pattern[0] in ("*", key):
            yield from _matching(inner, pattern[1:], (*path, key))
