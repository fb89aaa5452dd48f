"""From flags to drafters: their shape, their tables, and how several of them are put together."""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from engine.commands.tables import table_named
from engine.drafters import DRAFTERS, Drafter, DraftSetup
from engine.drafters.routed import ROUTERS, Routed
from engine.drafters.union import Union
from engine.errors import DraftError
from engine.loading.tokenizer import TextCodec
from engine.policies import ByBatch, Fixed, Goodput, PerRequest, Policy
from engine.trees import DynamicTree, Shape, tree_of_paths, tree_of_widths
from engine.verification import Typical

UNION = "union"

SHAPED = ("head", "model", "moe_subset", "ngram", "noisy_target")
"""Drafts that propose trees."""

POLICIES: dict[str, Callable[[argparse.Namespace], Policy]] = {
    "fixed": lambda flags: Fixed(),
    "by_batch": lambda flags: ByBatch(_ranges(flags.by_batch)),
    "per_request": lambda flags: PerRequest(_candidates(flags.candidates)),
    "goodput": lambda flags: Goodput(),
}


class Drafting(NamedTuple):
    """What an engine drafts with."""

    new_drafter: Callable[[], Drafter]
    draft_tokens: int
    """Per sequence and step, all nodes of a tree."""
    new_policy: Callable[[], Policy]
    typical: Typical | None


def add_several_flags(command: argparse.ArgumentParser) -> None:
    """Trees, several drafts, tables and policies."""
    command.add_argument("--tree", help="tree of fixed widths, like 3,2,1; for drafts of models and tables")
    command.add_argument("--nodes", help="tree node by node, each as its path of children, like 0,1,0.0,0.1")
    command.add_argument("--dynamic-tree", help="best nodes by confidence: depth,top_k,nodes, like 4,4,12")
    command.add_argument(
        "--with-replacement", action="store_true", help="draw the children of a node with replacement (sampling)"
    )
    command.add_argument("--of", action="append", default=[], metavar="DRAFT", help="draft of a union; several times")
    command.add_argument(
        "--ngram",
        action="append",
        default=[],
        metavar="TABLE",
        help="for --draft ngram: a domain, a text, or a table\nthat `ngrams` wrote (.json); several times",
    )
    command.add_argument("--router", choices=sorted(ROUTERS), help="which of several drafts serves a sequence")
    command.add_argument("--policy", choices=sorted(POLICIES), default="fixed", help="of K (default fixed)")
    command.add_argument("--by-batch", help="for --policy by_batch: [[from, to, K], …], like [[1, 4, 5], [5, 16, 2]]")
    command.add_argument("--candidates", help="for --policy per_request: draft tokens to move among, like 0,1,3")
    command.add_argument(
        "--lossy-typical",
        metavar="EPSILON,DELTA",
        help="LOSSY: keep what is likely enough, like 0.09,0.3 (Medusa);\nthe output does not follow the target's law",
    )


def drafting(flags: argparse.Namespace, setup: DraftSetup, codec: TextCodec | None, vocab_size: int) -> Drafting:
    """What the flags ask for.

    setup: all but the shape and the tables.
    """
    if flags.by_batch is not None and flags.policy != "by_batch":
        raise DraftError(f"--by-batch {flags.by_batch}: --policy {flags.policy} takes no ranges; say --policy by_batch")
    if flags.candidates is not None and flags.policy != "per_request":
        raise DraftError(f"--candidates {flags.candidates}: --policy {flags.policy} has none; say --policy per_request")
    shape = shape_of(flags)
    setup = replace(setup, shape=shape, replacement=flags.with_replacement)
    parts = _parts(flags, setup, codec, vocab_size)
    count = shape.nodes if shape is not None else flags.draft_tokens * (len(parts) if flags.draft == UNION else 1)
    return Drafting(
        lambda: _combined(flags, {name: DRAFTERS[method](its) for name, (method, its) in parts.items()}),
        count if flags.draft != "none" else 0,
        lambda: POLICIES[flags.policy](flags),
        _typical(flags),
    )


def shape_of(flags: argparse.Namespace) -> Shape | None:
    """The tree that flags name; None: chains."""
    given = {name: getattr(flags, name) for name in SHAPES if getattr(flags, name) is not None}
    if not given:
        return None
    if len(given) > 1:
        raise DraftError(f"--{', --'.join(given).replace('_', '-')}: one shape at a time")
    if flags.draft not in SHAPED:
        raise DraftError(f"--draft {flags.draft} proposes chains; a tree takes: {', '.join(SHAPED)}")
    if flags.policy in ("goodput", "per_request"):
        raise DraftError(f"--policy {flags.policy} ranks the positions of chains; with a tree use: fixed, by_batch")
    ((name, text),) = given.items()
    try:
        return SHAPES[name](text)
    except ValueError:
        raise DraftError(f"--{name.replace('_', '-')} {text}: {EXAMPLES[name]}") from None


def _numbers(text: str, separator: str = ",") -> list[int]:
    return [int(part) for part in text.split(separator)]


def _dynamic(text: str) -> DynamicTree:
    depth, top_k, nodes = _numbers(text)
    return DynamicTree(depth, top_k, nodes)


SHAPES: dict[str, Callable[[str], Shape]] = {
    "tree": lambda text: tree_of_widths(_numbers(text)),
    "nodes": lambda text: tree_of_paths([tuple(_numbers(path, ".")) for path in text.split(",")]),
    "dynamic_tree": _dynamic,
}
EXAMPLES = {
    "tree": "children of the root, of each node below it, and so on, like 3,2,1",
    "nodes": "paths of children from the root on, like 0,1,0.0,0.1",
    "dynamic_tree": "depth, top_k and nodes, like 4,4,12",
}


def _parts(
    flags: argparse.Namespace, setup: DraftSetup, codec: TextCodec | None, vocab_size: int
) -> dict[str, tuple[str, DraftSetup]]:
    """By name: method and setup of each draft; one for each table."""
    methods = flags.of if flags.draft == UNION else [] if flags.draft == "none" else [flags.draft]
    _check_parts(flags, methods)
    parts: dict[str, tuple[str, DraftSetup]] = {}
    for method in methods:
        tables = flags.ngram if method == "ngram" else []
        for table in tables:
            its = replace(setup, table=table_named(table, codec, vocab_size))
            parts[f"ngram {Path(table).stem}"] = (method, its)
        if not tables:
            parts[method] = (method, setup)
    if len(parts) > 1 and flags.draft != UNION and flags.router is None:
        raise DraftError(f"{len(parts)} tables: say which serves a sequence (--router), or take all (--draft union)")
    if flags.router is not None and len(parts) < 2:
        raise DraftError(f"--router {flags.router}: there is one draft; several are: --draft ngram --ngram A --ngram B")
    return parts


def _check_parts(flags: argparse.Namespace, methods: list[str]) -> None:
    if flags.draft == UNION and not methods:
        raise DraftError("--draft union: name its drafts, like --of lookup --of ngram --ngram code")
    if flags.of and flags.draft != UNION:
        raise DraftError(f"--of {flags.of[0]}: only --draft union is of several drafts")
    for method in methods:
        if method not in DRAFTERS:
            raise DraftError(f"--of {method}: known: {', '.join(DRAFTERS)}")
    if flags.ngram and "ngram" not in methods:
        raise DraftError(f"--ngram {flags.ngram[0]}: no draft takes a table; say --draft ngram, or --of ngram")


def _combined(flags: argparse.Namespace, drafters: Mapping[str, Drafter]) -> Drafter:
    if flags.router is not None:
        return Routed(drafters, flags.router)
    if flags.draft == UNION:
        return Union(list(drafters.values()))
    (drafter,) = drafters.values()
    return drafter


def _ranges(text: str | None) -> list[tuple[int, int, int]]:
    try:
        listed = json.loads(text or "")
        return [(int(first), int(last), int(count)) for first, last, count in listed]
    except (TypeError, ValueError):
        raise DraftError(f"--by-batch {text}: [[from, to, K], …] is needed, like [[1, 4, 5], [5, 16, 2]]") from None


def _candidates(text: str | None) -> list[int]:
    try:
        return [int(count) for count in (text or "").split(",")]
    except ValueError:
        raise DraftError(f"--candidates {text}: draft tokens are needed, rising, like 0,1,3") from None


def _typical(flags: argparse.Namespace) -> Typical | None:
    if flags.lossy_typical is None:
        return None
    try:
        epsilon, delta = (float(part) for part in flags.lossy_typical.split(","))
    except ValueError:
        raise DraftError(f"--lossy-typical {flags.lossy_typical}: epsilon and delta, like 0.09,0.3") from None
    if getattr(flags, "temperature", 0.0) <= 0.0:
        raise DraftError("--lossy-typical has no effect on greedy output; give a --temperature above 0")
    return Typical(epsilon, delta)
