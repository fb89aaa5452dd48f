"""Where scenario files are: the user's, and those that are built in and found by name."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from scenarios.problems import way_out
from simulator.errors import ScenarioError

SUFFIXES = (".yaml", ".yml")
STARTER_FILE = "starter.yaml.tmpl"
FOLDERS = ("article",)
"""Folders of built-in scenarios beside those that stand alone."""
_PLAN_KEY = re.compile(r"^[\"']?plan[\"']?\s*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a scenario file and where it was found."""

    file: str
    """Name for messages."""
    path: Path | None
    """None: text without a file."""
    text: str


def _built_in(folder: str = "") -> dict[str, Traversable]:
    """Name → file of the built-in scenarios of a folder."""
    entries = sorted(resources.files("scenarios").joinpath(folder).iterdir(), key=lambda entry: entry.name)
    before = f"{folder}/" if folder else ""
    return {before + entry.name.removesuffix(".yaml"): entry for entry in entries if entry.name.endswith(".yaml")}


def builtin_names(folder: str = "") -> list[str]:
    """Names of the built-in scenarios, by default of those that are in no folder; plan files are left out."""
    return [name for name, entry in _built_in(folder).items() if not asks_plan(entry.read_text(encoding="utf-8"))]


def builtin_plans() -> list[str]:
    """Names of the built-in plan files."""
    return [name for name, entry in _built_in().items() if asks_plan(entry.read_text(encoding="utf-8"))]


def asks_plan(text: str) -> bool:
    r"""Whether a file is one for `specfleet plan`, by its keys alone.

    >>> asks_plan("name: a\nplan:\n  vary: {}\n"), asks_plan("name: plan\n")
    (True, False)
    """
    return _PLAN_KEY.search(text) is not None


def read_starter() -> str:
    """The commented starter file."""
    return resources.files("scenarios").joinpath(STARTER_FILE).read_text(encoding="utf-8")


def find_scenarios(path: str | Path) -> list[str]:
    """What to run for an argument: the scenarios of a folder in order of name, else the argument itself.

    A built-in folder is found from anywhere, by its name or its path in a clone.
    """
    folder = Path(path)
    if not _is(folder, Path.is_dir):
        name = _without_root(str(path).rstrip("/\\"))
        return builtin_names(name) if name in FOLDERS else [str(path)]
    files = sorted(entry for entry in folder.iterdir() if entry.suffix in SUFFIXES and not entry.name.startswith("."))
    found = [str(entry) for entry in files if not _asks_plan(entry)]
    if not found:
        plans = "; its plan files are for `specfleet plan`" if files else ""
        raise ScenarioError(f"{path}: no scenario file (*.yaml) in this folder{plans}")
    return found


def _asks_plan(path: Path) -> bool:
    try:
        return asks_plan(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False


def read_source(path: str | Path, text: str | None = None) -> Source:
    """The file at a path or the built-in scenario of a name; with a text, the text in place of the file."""
    name = str(path)
    if text is not None:
        return Source(name or "text", Path(path) if name else None, text)
    if _is(Path(path), Path.is_dir):
        raise ScenarioError(f"{name}: a folder; name one of its files")
    if _is(Path(path), Path.exists):
        return Source(name, Path(path), _decoded(name, lambda: Path(path).read_bytes()))
    own = _builtin_name(name)
    folder = own.rpartition("/")[0]
    entry = _built_in(folder).get(own) if folder in ("", *FOLDERS) else None
    if entry is None:
        raise ScenarioError(f"{name}: no such file and no such built-in scenario; {_suggestions(name)}")
    file = f"scenarios/{own}.yaml"
    with resources.as_file(entry) as real:
        return Source(file, real, _decoded(file, entry.read_bytes))


def _builtin_name(name: str) -> str:
    """A built-in's name as it may be written: bare, with a suffix, or as a path in a clone.

    >>> _builtin_name("./scenarios/article/under_7b.yaml"), _builtin_name("elsewhere/saturated.yaml")
    ('article/under_7b', 'elsewhere/saturated')
    """
    return _without_root(name).removesuffix(".yaml")


def _without_root(name: str) -> str:
    return name.replace("\\", "/").removeprefix("./").removeprefix("scenarios/")


def _suggestions(name: str) -> str:
    stem = Path(name).name.removesuffix(".yaml")
    near = list(_near_files(Path(name)))
    return way_out(stem, [*_built_in(), *near])


def _near_files(path: Path) -> Iterator[str]:
    """Scenario files that stand where the missing one was looked for."""
    if _is(path.parent, Path.is_dir):
        yield from sorted(entry.name for entry in list(path.parent.glob("*.yaml"))[:200])


def _is(path: Path, test: Callable[[Path], bool]) -> bool:
    """A test of a path that cannot be one (too long, a null byte) is false."""
    try:
        return test(path)
    except (OSError, ValueError):
        return False


def _decoded(name: str, read: Callable[[], bytes]) -> str:
    try:
        data = read()
    except OSError as error:
        raise ScenarioError(f"{name}: cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{name}: not UTF-8 text at byte {error.start}: save the file as UTF-8") from None
