"""What a whole installation has: checked one by one, each with what to do where something is missing."""

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

LEAST_PYTHON = (3, 11)
REQUIRED = {
    "simpy": "4.1",
    "numpy": "1.26",
    "pandas": "2.2",
    "pyarrow": "15",
    "pydantic": "2.10",
    "PyYAML": "6.0",
    "typer": "0.15",
    "rich": "13.7",
}
"""Package → least version, as in pyproject.toml."""
EXTRAS = {
    "app": ("streamlit", "plotly"),
    "engine": ("torch",),
    "cluster": ("distributed",),
    "silicon": ("aiconfigurator-core",),
}
"""Extra → its packages."""


class Check(NamedTuple):
    """One thing looked at."""

    what: str
    ok: bool
    detail: str
    found: bool = True
    """False: not there, and not needed."""


def checkup() -> list[Check]:
    """All checks."""
    return [_python(), *_packages(), *_catalog(), _scenarios(), _shared(), *_extras()]


def _python() -> Check:
    ok = sys.version_info >= LEAST_PYTHON
    least = ".".join(map(str, LEAST_PYTHON))
    return Check("python", ok, platform.python_version() + ("" if ok else f": {least} or later is needed"))


def _packages() -> Iterator[Check]:
    for name, least in REQUIRED.items():
        found = _installed(name)
        if found is None:
            yield Check(name, False, f"missing: pip install '{name}>={least}'")
        else:
            ok = _numbers(found) >= _numbers(least)
            yield Check(name, ok, found if ok else f"{found}: pip install '{name}>={least}'")


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> _numbers("2.10.0rc1")
    (2, 10, 0)
    """
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[a-z+]", text)[0]))


def _catalog() -> Iterator[Check]:
    from simulator.catalog.describe import describe
    from simulator.catalog.load import NOUNS, names
    from simulator.errors import CatalogError

    for kind in NOUNS:
        try:
            describe(kind)
            yield Check(f"catalog: {kind}", True, f"{len(names(kind))} files")
        except CatalogError as error:
            yield Check(f"catalog: {kind}", False, str(error))


def _scenarios() -> Check:
    from scenarios.files import builtin_names
    from scenarios.load import load_scenario
    from simulator.errors import SimulatorError

    try:
        found = [load_scenario(name).name for name in builtin_names()]
    except SimulatorError as error:
        return Check("built-in scenarios", False, str(error))
    return Check("built-in scenarios", bool(found), ", ".join(found) or "none: the installation lacks its data files")


def _shared() -> Check:
    here = Path(__file__).resolve().parents[1]
    places = [place / "shared" for place in (Path.cwd(), here, here.parent)]
    found = next((place for place in places if place.is_dir()), None)
    detail = str(found) if found else "not found, and only needed for development"
    return Check("shared measurements", True, detail, found=found is not None)


def _extras() -> Iterator[Check]:
    for extra, packages in EXTRAS.items():
        versions = {package: _installed(package) for package in packages}
        missing = [package for package, at in versions.items() if at is None]
        if missing:
            how = f"not installed, optional: pip install 'specfleet[{extra}]'"
            yield Check(f"extra: {extra}", True, how, found=False)
        else:
            yield Check(f"extra: {extra}", True, ", ".join(f"{package} {at}" for package, at in versions.items()))
