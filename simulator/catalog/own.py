"""The user's own catalog: entries that `specfleet calibrate` or the user wrote, in the same folders as the package's.

Its folder is what SPECFLEET_CATALOG names, else `specfleet-catalog` in the working folder if there is one.
"""

import json
import os
from pathlib import Path
from typing import Any

import yaml

from simulator.errors import CatalogError
from simulator.spec.base import Spec

VARIABLE = "SPECFLEET_CATALOG"
DEFAULT = "specfleet-catalog"


def own_folder() -> Path | None:
    """The folder of the user's own catalog; None where there is none."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return Path(DEFAULT).absolute() if Path(DEFAULT).is_dir() else None
    if not Path(named).is_dir():
        raise CatalogError(f"{VARIABLE}={named}: no such folder; make it, or unset {VARIABLE}")
    return Path(named).absolute()


def folder_for_entries(named: Path | None) -> Path:
    """Where entries are written: the folder that is named, else the user's own catalog, else the one to be made."""
    return named or own_folder() or Path(DEFAULT)


def entry_text(entry: Spec) -> str:
    """An entry as the text of its file; what it leaves to defaults is not written."""
    plain: Any = json.loads(entry.model_dump_json(exclude_defaults=True))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=118))


def looked_in() -> str:
    """Where an unknown name was looked for beside the package."""
    folder = own_folder()
    own = f"no catalog of your own ({VARIABLE}, ./{DEFAULT})" if folder is None else str(folder)
    return f"looked in the package and {own}"


def own_files(kinds: tuple[str, ...]) -> list[Path]:
    """All files of the user's own catalog that can be read, sorted."""
    folder = own_folder()
    if folder is None:
        return []
    found = (file for kind in kinds for file in (folder / kind).glob("*") if file.suffix in (".yaml", ".json"))
    return sorted(file for file in found if file.is_file())
