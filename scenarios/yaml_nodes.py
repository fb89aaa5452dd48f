"""YAML text to a tree in which every value knows its file and line; what a reader could misread is refused.

Built from parser events, so that size and depth are bounded before anything is composed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from scenarios.problems import Path, Problem, dotted, fail, shortened
from scenarios.scalars import Scalar, resolve_scalar

MAX_BYTES = 1_000_000
MAX_DEPTH = 30
MAX_NODES = 100_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_ANCHORS = "anchors and aliases are refused: share what two deployments have in common with `extends`"


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place. Mappings and lists hold nodes."""

    value: "Scalar | dict[str | int, Node] | list[Node]"
    file: str
    line: int
    """Of the key, or of the item; 0: not in a file."""
    whole: bool = False
    """Put in by a --set or a sweep: replaces what is inherited instead of being merged with it."""


def plain(node: Node) -> Any:
    """The values without their places."""
    if isinstance(node.value, dict):
        return {key: plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


def place_of(root: Node, path: Path) -> Node:
    """The node at a path, or the nearest one above it."""
    node = root
    for part in path:
        inner = child(node, part)
        if inner is None:
            return node
        node = inner
    return node


def problem_at(root: Node, path: Path, message: str) -> Problem:
    """A problem at a path, with the line of what stands there or nearest above it."""
    node = place_of(root, path)
    return Problem(node.file, node.line, dotted(path), message)


def child(node: Node | None, key: str | int) -> Node | None:
    """The node under a key or list position; None without one."""
    if node is None:
        return None
    if isinstance(node.value, dict):
        return node.value.get(key)
    if isinstance(node.value, list) and isinstance(key, int) and 0 <= key < len(node.value):
        return node.value[key]
    return None


def parse_yaml(text: str, file: str, numbered: bool = True) -> tuple[Node, list[Problem]]:
    """The tree of one YAML document and what is wrong in it; broken syntax raises ScenarioError.

    file: name for messages. numbered: whether places have line numbers (a --set has none).
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        fail([Problem(file, 0, "", f"larger than {MAX_BYTES // 10**6} MB: point to a trace instead of inlining data")])
    builder = _Builder(file, numbered)
    try:
        return builder.document(iter(yaml.parse(text, Loader=_LOADER))), builder.problems
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.count("\n", 0, len(text) - 1) + 1
        builder.stop(min(mark.line + 1, last) if mark else 0, _syntax(error, text))
    except (yaml.YAMLError, UnicodeError) as error:
        builder.stop(0, f"not YAML: {shortened(str(error), 120)}")


def _syntax(error: yaml.MarkedYAMLError, text: str) -> str:
    problem = shortened(" ".join(part for part in (error.context, error.problem) if part), 160)
    lines = text.splitlines()
    line = lines[error.problem_mark.line] if error.problem_mark and error.problem_mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        problem += "; indent with spaces, not with tabs"
    elif "mapping values" in problem:
        problem += "; indent this line like its neighbours, and put a text that holds a colon in quotes"
    return f"not YAML: {problem}"


@dataclass
class _Builder:
    """Turns events into nodes and keeps what is wrong."""

    file: str
    numbered: bool
    problems: list[Problem] = field(default_factory=list)
    path: list[str | int] = field(default_factory=list)
    num_nodes: int = 0

    def document(self, events: Iterator[Any]) -> Node:
        root = Node(None, self.file, 0)
        num_documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                num_documents += 1
                if num_documents > 1:
                    self.stop(self.line(event), "a second document; one file holds one scenario: remove the `---`")
                root = self.node(next(events), events)
        return root

    def line(self, event: Any) -> int:
        return event.start_mark.line + 1 if self.numbered else 0

    def note(self, line: int, message: str, *below: str | int) -> None:
        self.problems.append(Problem(self.file, line if self.numbered else 0, dotted([*self.path, *below]), message))

    def stop(self, line: int, message: str) -> NoReturn:
        self.note(line, message)
        fail(self.problems)

    def node(self, event: Any, events: Iterator[Any], line: int | None = None) -> Node:
        line = self.line(event) if line is None else line
        self._bounds(event, line)
        if isinstance(event, yaml.AliasEvent):
            self.note(line, f"*{shortened(str(event.anchor))}: {_NO_ANCHORS}")
            return Node(None, self.file, line)
        if event.anchor is not None:
            self.note(line, f"&{shortened(event.anchor)}: {_NO_ANCHORS}")
        if event.tag is not None:
            self.note(line, f"tag {shortened(event.tag)}: tags are refused; write the plain value")
        if isinstance(event, yaml.MappingStartEvent):
            return Node(self._mapping(events), self.file, line)
        if isinstance(event, yaml.SequenceStartEvent):
            return Node(self._sequence(events), self.file, line)
        return Node(self._scalar(event, line), self.file, line)

    def _bounds(self, event: Any, line: int) -> None:
        self.num_nodes += 1
        if self.num_nodes > MAX_NODES:
            self.stop(line, f"more than {MAX_NODES:,} values: point to a trace instead of inlining data")
        if len(self.path) > MAX_DEPTH and isinstance(event, yaml.CollectionStartEvent):
            self.path.clear()
            self.stop(line, f"nested deeper than {MAX_DEPTH} levels; no scenario needs that")

    def _scalar(self, event: Any, line: int) -> Scalar:
        if not event.implicit[0]:
            return str(event.value)
        try:
            return resolve_scalar(event.value)
        except ValueError as error:
            self.note(line, f"{shortened(event.value)}: {error}")
            return None

    def _sequence(self, events: Iterator[Any]) -> list[Node]:
        items: list[Node] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            self.path.append(len(items))
            items.append(self.node(event, events))
            self.path.pop()
        return items

    def _mapping(self, events: Iterator[Any]) -> dict[str | int, Node]:
        entries: dict[str | int, Node] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = self.line(event)
            key = self._key(event, events)
            self.path.append(key if key is not None else "?")
            value = self.node(next(events), events, line)
            self.path.pop()
            if key is not None and key in entries:
                self.note(line, f"duplicate key; it stands in line {entries[key].line} already: remove one", key)
            elif key is not None:
                entries[key] = value
        return entries

    def _key(self, event: Any, events: Iterator[Any]) -> str | int | None:
        if not isinstance(event, yaml.ScalarEvent):
            self.stop(self.line(event), "a key is a name, not a mapping, a list or an alias")
        if event.value == "<<" and event.implicit[0]:
            self.note(self.line(event), "merge keys (<<) are refused: let the deployment say `extends: NAME`")
            return None
        key = self.node(event, events).value
        if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
            return key
        self.note(self.line(event), f"key {shortened(event.value) or 'null'}: a key is a text; put it in quotes")
        return None
