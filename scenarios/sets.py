"""Places of a scenario by dotted path, and `--set path=YAML`, which replaces the value at one.

A set edits the file as the user would: before `extends` is applied, so what inherits a value inherits the new one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from scenarios.other_names import OURS
from scenarios.problems import Path, Problem, nearest, shortened
from scenarios.resolve import resolve_extends
from scenarios.shape import bare, child_type, choose, entry_types
from scenarios.yaml_nodes import Node, child, parse_yaml, plain
from simulator.spec.scenario import Scenario

_VARIED = ("sweep", "plan.vary")
"""What holds paths of places, which are not the places themselves."""


def apply_sets(root: Node, sets: Sequence[str]) -> tuple[Node, list[Path], list[Problem]]:
    """The file with all sets applied, left to right; the paths that were set; what is wrong with the sets."""
    paths: list[Path] = []
    problems: list[Problem] = []
    for text in sets:
        name, equals, value_text = text.partition("=")
        place = f"--set {shortened(name.strip(), 120)}"
        if not equals or not name.strip():
            problems.append(Problem(f"--set {shortened(text)}", 0, "", "write --set path=YAML"))
            continue
        value, wrong = parse_yaml(value_text, place, numbered=False)
        seen = resolve_extends(root)[0]
        path = find_place(seen, name.strip())
        problems += wrong
        if wrong:
            continue
        if path is None:
            problems.append(Problem(place, 0, "", no_such_place(seen, name.strip())))
            continue
        root = put(root, seen, path, value)
        paths.append(path)
    return root, paths, problems


def find_place(seen: Node, name: str, annotation: Any = Scenario) -> Path | None:
    """The keys behind a dotted path, in a file whose `extends` are resolved; None when there is no such place.

    A place exists when the file has it or when the specs know it. Names may hold dots themselves.
    annotation: the spec of what stands in `seen`.
    """
    return _find(seen, tuple(name.split(".")), annotation)


def _find(node: Node | None, parts: tuple[str, ...], annotation: Any) -> Path | None:
    if not parts:
        return ()
    if node is not None:
        for key, taken in _entries_named(node, parts):
            rest = _find(child(node, key), parts[taken:], child_type(_chosen(annotation, node), key))
            if rest is not None:
                return (key, *rest)
    if node is not None and not isinstance(node.value, dict | None):
        return None
    inner = entry_types(_chosen(annotation, node)).get(parts[0])
    if inner is None or child(node, parts[0]) is not None:
        return None
    rest = _find(None, parts[1:], inner)
    return None if rest is None else (parts[0], *rest)


def _chosen(annotation: Any, node: Node | None) -> Any:
    """The branch of a union that the data means; the whole union where there is no data."""
    if node is None or node.value is None:
        return bare(annotation)
    return choose(annotation, plain(node)) or bare(annotation)


def _entries_named(node: Node, parts: tuple[str, ...]) -> Iterator[tuple[str | int, int]]:
    """Keys that the next parts spell, longest first, with the number of parts each takes."""
    if isinstance(node.value, list):
        if parts[0].isascii() and parts[0].isdigit() and len(parts[0]) < 7 and int(parts[0]) < len(node.value):
            yield int(parts[0]), 1
    elif isinstance(node.value, dict):
        by_text = {str(key): key for key in node.value}
        for taken in range(min(len(parts), 8), 0, -1):
            text = ".".join(parts[:taken])
            if text in by_text:
                yield by_text[text], taken


def no_such_place(seen: Node, name: str) -> str:
    """The message for a path that does not exist."""
    others = tuple(f"{holder}." for holder in _VARIED if not name.startswith(holder))
    known = [place for place in all_places(seen) if not place.startswith(others)]
    close = nearest_place(known, name)
    return "no such place in the scenario" + (f"; nearest: {close}" if close else "")


def nearest_place(known: Sequence[str], name: str) -> str | None:
    """The place whose end or whole looks most like a path."""
    ends = [place for place in known if place.endswith(f".{name}")]
    if ends or (close := nearest(name, known)) is None:
        last = name.rpartition(".")[2]
        by_last = {place.rpartition(".")[2]: place for place in reversed(known)}
        return ends[0] if ends else by_last.get(nearest(OURS.get(last, last), by_last) or "")
    return close


def all_places(seen: Node, annotation: Any = Scenario) -> list[str]:
    """Every dotted path that can be set below what stands in `seen`."""
    return list(_places(seen, annotation, ""))


def _places(node: Node, annotation: Any, prefix: str) -> Iterator[str]:
    chosen = _chosen(annotation, node)
    items: dict[str | int, Node] = {}
    if isinstance(node.value, dict):
        items = node.value
        yield from (f"{prefix}{name}" for name in entry_types(chosen) if name not in items)
    elif isinstance(node.value, list):
        items = dict(enumerate(node.value))
    for key, inner in items.items():
        yield f"{prefix}{key}"
        yield from _places(inner, child_type(chosen, key), f"{prefix}{key}.")


def put(raw: Node | None, seen: Node | None, path: Path, value: Node) -> Node:
    """The file with a value at a path; mappings on the way that are inherited or left out are made.

    raw: the node in the file as it stands. seen: the same place with `extends` resolved.
    """
    if not path:
        return replace(value, whole=True)
    head, rest = path[0], path[1:]
    if seen is not None and isinstance(seen.value, list) and isinstance(head, int):
        own = raw if raw is not None and isinstance(raw.value, list) else seen
        assert isinstance(own.value, list)
        items = list(own.value)
        items[head] = put(items[head], child(seen, head), rest, value)
        return replace(own, value=items)
    entries = dict(raw.value) if raw is not None and isinstance(raw.value, dict) else {}
    entries[head] = put(entries.get(head), child(seen, head), rest, value)
    return replace(raw, value=entries) if raw is not None else Node(entries, value.file, value.line)
