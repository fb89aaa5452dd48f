"""A scenario that came from a browser: parsed, refused where it would touch the server, checked, edited.

Knows nothing of pages.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from scenarios.load import LoadedScenario, load_scenario
from scenarios.problems import Problem, fail
from scenarios.store import resolved_document, to_yaml
from scenarios.yaml_nodes import Node, parse_yaml
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

_NO_TRACES = (
    "traces are files of the server: replay this scenario with `specfleet run`, "
    "or fit a workload by `specfleet import trace FILE --fit`"
)
_NO_CONFIGS = (
    "a config.json is a file of the server: bring it into the catalog by `specfleet import model FILE --name NAME`, "
    "and name it here"
)


def checked(text: str, file: str = FILE) -> LoadedScenario:
    """A scenario from a text that a browser sent; ScenarioError for all that is wrong with it.

    No file is looked for: a trace, and the path of a config.json, are refused before anything is loaded.
    """
    refuse_files(text, file)
    loaded = load_scenario(file, text=text)
    for place, number, most in (
        ("sweep", len(loaded.points), MAX_POINTS),
        ("deployments", len(loaded.points[0].scenario.deployments), MAX_DEPLOYMENTS),
    ):
        if number > most:
            fail([Problem(file, 0, place, f"{number:,}; a browser gets at most {most}: use the command line")])
    return loaded


def refuse_files(text: str, file: str) -> None:
    """ScenarioError for every place of a text that would open a file, however deep, places yet unknown included."""
    refused = list(_files(parse_yaml(text, file)[0]))
    if refused:
        fail(refused)


def _files(node: Node, key: str = "") -> Iterator[Problem]:
    if isinstance(node.value, list):
        for item in node.value:
            yield from _files(item, key)
    elif isinstance(node.value, dict):
        for name, inner in node.value.items():
            if (why := _opens(str(name), inner.value)) is not None:
                yield Problem(inner.file, inner.line, str(name), why)
            else:
                yield from _files(inner, str(name))
    elif (why := _opens(key, node.value)) is not None:
        yield Problem(node.file, node.line, key, why)


def _opens(key: str, value: Any) -> str | None:
    """Why an entry would open a file of the server; None where it would not."""
    last = key.rpartition(".")[2]
    if last == "file" or (key == "kind" and value == "trace"):
        return _NO_TRACES
    return _NO_CONFIGS if last == "model" and isinstance(value, str) and is_config(value) else None


def mapping_of(loaded: LoadedScenario) -> dict[str, Any]:
    """What a scenario says, every deployment written out: the state that file, link and controls share."""
    return resolved_document(loaded)


def from_mapping(mapping: Mapping[str, Any]) -> LoadedScenario:
    """The scenario that a mapping says, checked like a file."""
    return checked(to_yaml(mapping))


def edited(loaded: LoadedScenario, changes: Mapping[str, Any]) -> LoadedScenario:
    """The scenario with values put at dotted paths, all of them or none; ScenarioError says what is wrong."""
    sets = [f"{path}={_flow(value)}" for path, value in changes.items()]
    try:
        changed = load_scenario(FILE, sets, text=to_yaml(mapping_of(loaded)))
    except ScenarioError as error:
        raise ScenarioError(_ON_A_COMMAND_LINE.sub("", str(error))) from None
    return from_mapping(mapping_of(changed))


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10**9).removesuffix("...\n").strip()
