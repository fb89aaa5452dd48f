"""A scenario file, strictly loaded: every problem of the file in one error, each with its place and the way out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scenarios.asserts import parse_assert
from scenarios.catalog_names import unknown_names
from scenarios.config_paths import with_absolute_configs
from scenarios.files import Source, read_source
from scenarios.possible import impossible
from scenarios.problems import ENOUGH, Problem, dotted, fail, shown
from scenarios.problems import Path as TreePath
from scenarios.resolve import resolve_extends
from scenarios.sets import apply_sets
from scenarios.shape import FILE_KEYS
from scenarios.sweep import points, read_axes
from scenarios.wording import problems_of
from scenarios.yaml_nodes import Node, child, parse_yaml, place_of, plain, problem_at
from simulator.errors import ScenarioError
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload

_TRACE = ("workload", "arrivals", "file")


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the sweep."""

    label: dict[str, Any]
    """Dotted path → value; empty without a sweep."""
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read, with sets applied, before anything in it is checked."""

    source: Source
    root: Node
    seen: Node
    """The same with `extends` written out."""
    set_paths: list[TreePath]
    """Places that a --set has given a value."""
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A checked scenario file."""

    name: str
    """The scenario's own name."""
    path: Path | None
    """Where the file is; None for a text without a file."""
    base: dict[str, Any]
    """The file with sets applied and `extends` written out, without sweep and assert."""
    document: dict[str, Any]
    """The file with sets applied and all else kept: loads to the same points."""
    points: tuple[Point, ...]
    """In order of the grid, the last path of the sweep running fastest."""
    asserts: tuple[str, ...]


def load_scenario(path_or_name: str | Path, sets: Sequence[str] = (), text: str | None = None) -> LoadedScenario:
    """Load a scenario by path or by the name of a built-in one; ScenarioError lists all that is wrong with it.

    sets: `path=YAML`, applied left to right before anything is checked. text: the file's text, if it is not to be read
    from path_or_name, which then only names it and says where relative paths start.
    """
    document = open_document(path_or_name, sets, text)
    source, root, seen, problems = document.source, document.root, document.seen, document.problems
    if (asked := child(root, "plan")) is not None and asked.value is not None:
        message = f"this file asks for a plan: `specfleet plan {source.file}` answers it, with files to run"
        fail([*problems, Problem(asked.file, asked.line, "plan", message)])
    axes, wrong_axes = read_axes(child(root, "sweep"), seen, document.set_paths)
    problems += wrong_axes
    asserts = list(_asserts(child(root, "assert"), root, problems))
    loaded: list[Point] = []
    checked: dict[str, Deployment] = {}
    for label, file in points(root, seen, [] if wrong_axes else axes):
        scenario = _check_point(file, source, checked, problems)
        if scenario is not None:
            loaded.append(Point(label, scenario))
        elif len(problems) > ENOUGH:
            break
    if problems:
        fail(problems)
    base = plain(point_only(seen))
    return LoadedScenario(loaded[0].scenario.name, source.path, base, plain(root), tuple(loaded), tuple(asserts))


def open_document(path_or_name: str | Path, sets: Sequence[str], text: str | None) -> Document:
    """Read a file and apply the sets; ScenarioError where it is no mapping at all."""
    source = read_source(path_or_name, text)
    root, problems = parse_yaml(source.text, source.file)
    if not isinstance(root.value, dict):
        message = "the file is empty" if root.value is None else f"{shown(plain(root))}: a mapping of keys is needed"
        fail([*problems, Problem(source.file, 0, "", f"{message}; `specfleet init` writes a starter")])
    root, set_paths, wrong_sets = apply_sets(root, sets)
    root = with_absolute_configs(root, source)
    seen, wrong_extends = resolve_extends(root)
    return Document(source, root, seen, set_paths, [*problems, *wrong_sets, *wrong_extends])


def point_only(root: Node) -> Node:
    """The file without what spans its points."""
    assert isinstance(root.value, dict)
    return Node({k: v for k, v in root.value.items() if k not in FILE_KEYS}, root.file, root.line)


def _check_point(
    file: Node, source: Source, checked: dict[str, Deployment], problems: list[Problem]
) -> Scenario | None:
    """One point as a scenario; None when something is wrong with it, which is then noted.

    checked: deployments of other points by what they say; points share them, which keeps a large sweep small.
    """
    seen, wrong_extends = resolve_extends(point_only(file))
    broken = [problem.where.removesuffix("extends") for problem in wrong_extends]
    data = plain(seen)
    found = [*unknown_names(seen), *resolve_trace(data, seen, source)]
    says = {name: repr(inner) for name, inner in _named(data.get("deployments"))}
    try:
        scenario = Scenario.model_validate(_with_checked(data, says, checked))
    except ValidationError as error:
        found += _own_problems(list(problems_of(error, seen)), _bases(file), broken)
        problems += found
        return None
    checked.update((says[name], deployment) for name, deployment in scenario.deployments.items())
    found += wrong_trace(scenario.workload, seen) if not found else ()
    found += impossible(scenario, seen) if not found else ()
    problems += found
    return None if found else scenario


def wrong_trace(workload: Workload, seen: Node) -> Iterator[Problem]:
    """What is wrong inside the trace, before anything is simulated with it."""
    arrivals = workload.arrivals
    if arrivals.kind != "trace":
        return
    from simulator.cluster.traffic import trace_of

    try:
        trace_of(workload, arrivals)
    except ScenarioError as error:
        yield problem_at(seen, _TRACE, str(error))


def _named(deployments: Any) -> Iterable[tuple[Any, Any]]:
    return deployments.items() if isinstance(deployments, dict) else ()


def _with_checked(data: dict[str, Any], says: dict[Any, str], checked: dict[str, Deployment]) -> dict[str, Any]:
    """A point's data in which deployments that are checked already stand as they are."""
    if not says:
        return data
    return data | {"deployments": {name: checked.get(says[name], inner) for name, inner in _named(data["deployments"])}}


def _bases(file: Node) -> dict[str, str]:
    """Place of each deployment that extends another one → the other's place."""
    deployments = child(file, "deployments")
    named = deployments.value if deployments is not None and isinstance(deployments.value, dict) else {}
    extends = {name: base for name, node in named.items() if (base := child(node, "extends")) is not None}
    return {f"deployments.{name}.": f"deployments.{base.value}." for name, base in extends.items()}


def _own_problems(problems: list[Problem], bases: dict[str, str], broken: Sequence[str]) -> Iterator[Problem]:
    """Problems without those that a deployment has only because the one that it extends does.

    What it lacks, or breaks as a whole, has no line of the other's; an inherited value has.
    """
    told = {f"{problem.where}.": problem.message for problem in problems}
    for problem in problems:
        where, missing = f"{problem.where}.", problem.message.startswith("missing")
        home = max((place for place in bases if where.startswith(place)), key=len, default="")
        base = told.get(bases[home] + where.removeprefix(home), "") if home else ""
        lacks = missing and (home in broken or base.startswith("missing"))
        if not lacks and (where != home or base != problem.message):
            yield problem


def resolve_trace(data: dict[str, Any], seen: Node, source: Source) -> Iterator[Problem]:
    """Make the trace's path absolute: relative to the scenario file, or for one that was set to the working folder."""
    node = place_of(seen, _TRACE)
    arrivals = child(child(seen, "workload"), "arrivals")
    if node is not child(arrivals, "file") or not isinstance(node.value, str):
        return
    folder = source.path.parent if source.path is not None and node.file == source.file else Path()
    path = (folder / node.value).absolute()
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError):
        is_file = is_folder = False
    if is_file:
        data["workload"]["arrivals"]["file"] = str(path)
        return
    message = "a folder; name the trace in it" if is_folder else f"no such trace; looked for {path}"
    yield Problem(node.file, node.line, dotted(_TRACE), f"{shown(node.value)}: {message}")


def _asserts(node: Node | None, root: Node, problems: list[Problem]) -> Iterator[str]:
    """The assert lines, each checked."""
    if node is None or node.value is None:
        return
    if not isinstance(node.value, list):
        problems.append(Problem(node.file, node.line, "assert", "a list of comparisons is needed"))
        return
    deployments = child(root, "deployments")
    names = [str(name) for name in deployments.value] if deployments and isinstance(deployments.value, dict) else []
    for index, item in enumerate(node.value):
        try:
            if not isinstance(item.value, str):
                raise ScenarioError(f"{shown(plain(item))}: a text is needed, such as 'h200.tpot_s.p95 <= 0.04'")
            parse_assert(item.value, names)
            yield item.value
        except ScenarioError as error:
            problems.append(Problem(item.file, item.line, f"assert.{index}", str(error)))
