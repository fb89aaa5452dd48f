"""A scenario that came from a browser: parsed, refused where it would touch the server, checked, edited.

Knows nothing of pages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import yaml

from app.dashboard.traces import Traces, name_of, without_folders
from scenarios.load import LoadedScenario, load_scenario, open_document
from scenarios.problems import Problem, fail, shown
from scenarios.store import resolved_document, to_yaml
from scenarios.yaml_nodes import Node, child, parse_yaml
from simulator.catalog.load import is_config
from simulator.errors import ScenarioError

FILE = "scenario.yaml"
"""How messages call a text that has no file."""

MAX_POINTS = 64
"""Points of a sweep that a browser may ask for."""

MAX_DEPLOYMENTS = 16
"""Deployments that a browser may ask for: each is estimated anew at every move."""

_ON_A_COMMAND_LINE = re.compile(r"^--set [^:]+: ", re.MULTILINE)
"""How a message names a value that was set and not read from a file."""

NO_TRACES: Traces = MappingProxyType({})
TRACE_FILE = "workload.arrivals.file"
"""The one place where a browser may name a trace."""

_NO_TRACES = (
    "traces are files of the server: name one at workload.arrivals.file, as the page Load offers it, replay this "
    "scenario with `specfleet run`, or fit a workload by `specfleet import trace FILE --fit`"
)
_UNKNOWN_TRACE = (
    "traces are files of the server, and it has none of this name: upload it on the page Load, then open this again, "
    "or replay this scenario with `specfleet run`"
)
_NO_CONFIGS = (
    "a config.json is a file of the server: bring it into the catalog by `specfleet import model FILE --name NAME`, "
    "and name it here"
)


def checked(text: str, file: str = FILE, traces: Traces = NO_TRACES) -> LoadedScenario:
    """A scenario from a text that a browser sent; ScenarioError for all that is wrong with it.

    No file is looked for: the path of a config.json, and a trace of another name than those that are known, are refused
    before anything is loaded.
    """
    refuse_files(text, file, traces)
    loaded = _loaded(text, file, (), traces)
    for place, number, most in (
        ("sweep", len(loaded.points), MAX_POINTS),
        ("deployments", len(loaded.points[0].scenario.deployments), MAX_DEPLOYMENTS),
    ):
        if number > most:
            fail([Problem(file, 0, place, f"{number:,}; a browser gets at most {most}: use the command line")])
    return loaded


def _loaded(text: str, file: str, sets: Sequence[str], traces: Traces) -> LoadedScenario:
    """The scenario with the file of its trace, where it names one that is known."""
    try:
        return load_scenario(file, [*sets, *trace_sets(text, file, sets, traces)], text=text)
    except ScenarioError as error:
        raise ScenarioError(_ON_A_COMMAND_LINE.sub("", without_folders(str(error), traces))) from None


def trace_sets(text: str, file: str, sets: Sequence[str], traces: Traces) -> list[str]:
    """What puts the file of a known trace where a text has its name."""
    if not traces or "trace" not in "".join((text, *sets)):
        return []
    node = child(_arrivals(open_document(file, sets, text).root), "file")
    path = None if node is None else traces.get(name_of(str(node.value)))
    return [] if path is None else [f"{TRACE_FILE}={_flow(str(path))}"]


def _arrivals(root: Node) -> Node | None:
    """The arrivals of a scenario that replays a trace; None of any other."""
    found = child(child(root, "workload"), "arrivals")
    kind = child(found, "kind")
    return found if kind is not None and kind.value == "trace" else None


def refuse_files(text: str, file: str, traces: Traces = NO_TRACES) -> None:
    """ScenarioError for every place of a text that would open a file, however deep, places yet unknown included.

    A trace is taken by the name of one that is known, whatever folder the text says.
    """
    root = parse_yaml(text, file)[0]
    arrivals = _arrivals(root)
    named = child(arrivals, "file")
    refused = list(_files(root, None if named is None else arrivals))
    if named is not None and name_of(str(named.value)) not in traces:
        refused.append(Problem(named.file, named.line, TRACE_FILE, f"{shown(named.value)}: {_UNKNOWN_TRACE}"))
    if refused:
        fail(refused)


def _files(node: Node, replayed: Node | None, key: str = "") -> Iterator[Problem]:
    if node is replayed:
        return
    if isinstance(node.value, list):
        for item in node.value:
            yield from _files(item, replayed, key)
    elif isinstance(node.value, dict):
        for name, inner in node.value.items():
            if (why := _opens(str(name), inner.value)) is not None:
                yield Problem(inner.file, inner.line, str(name), why)
            else:
                yield from _files(inner, replayed, str(name))
    elif (why := _opens(key, node.value)) is not None:
        yield Problem(node.file, node.line, key, why)


def _opens(key: str, value: Any) -> str | None:
    """Why an entry would open a file of the server; None where it would not."""
    last = key.rpartition(".")[2]
    if last == "file":
        return _NO_TRACES
    return _NO_CONFIGS if last == "model" and isinstance(value, str) and is_config(value) else None


def mapping_of(loaded: LoadedScenario) -> dict[str, Any]:
    """What a scenario says, every deployment written out: the state that file, link and controls share."""
    return with_named_trace(resolved_document(loaded))


def with_named_trace(mapping: dict[str, Any]) -> dict[str, Any]:
    """A scenario's mapping in which a trace is named by its file name alone."""
    workload = mapping.get("workload")
    arrivals = workload.get("arrivals") if isinstance(workload, dict) else None
    if not isinstance(workload, dict) or not isinstance(arrivals, dict) or arrivals.get("kind") != "trace":
        return mapping
    return mapping | {"workload": workload | {"arrivals": arrivals | {"file": name_of(str(arrivals["file"]))}}}


def with_trace_file(mapping: dict[str, Any], traces: Traces) -> dict[str, Any]:
    """A scenario's mapping in which a known trace is named by where it lies: equal texts, equal requests."""
    named = with_named_trace(mapping)
    path = traces.get(str(((named.get("workload") or {}).get("arrivals") or {}).get("file")))
    if path is None:
        return mapping
    workload = named["workload"]
    return named | {"workload": workload | {"arrivals": workload["arrivals"] | {"file": str(path)}}}


def from_mapping(mapping: Mapping[str, Any], traces: Traces = NO_TRACES) -> LoadedScenario:
    """The scenario that a mapping says, checked like a file."""
    return checked(to_yaml(mapping), traces=traces)


def edited(loaded: LoadedScenario, changes: Mapping[str, Any], traces: Traces = NO_TRACES) -> LoadedScenario:
    """The scenario with values put at dotted paths, all of them or none; ScenarioError says what is wrong."""
    sets = [f"{path}={_flow(value)}" for path, value in changes.items()]
    return from_mapping(mapping_of(_loaded(to_yaml(mapping_of(loaded)), FILE, sets, traces)), traces)


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10**9).removesuffix("...\n").strip()
