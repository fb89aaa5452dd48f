"""Entries that an import writes into the user's own catalog: whole, under a name that is free, and found at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from simulator.spec.model import Model
    from simulator.spec.policy import PriceList

EntryName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Write it into your own catalog under this name.")
]
Folder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Catalog folder (default: SPECFLEET_CATALOG, else specfleet-catalog)."),
]


def checked_name(name: str | None, out: Path | None) -> str | None:
    """A name that an entry and its file can have; None where nothing is to be written, and so no folder is named."""
    from pydantic import TypeAdapter, ValidationError

    from simulator.spec.base import Name

    if name is None:
        if out is not None:
            raise typer.BadParameter("holds the entry that is written: add --name NAME", param_hint="--out")
        return None
    try:
        return str(TypeAdapter(Name).validate_python(name))
    except ValidationError:
        rule = "a name has letters, digits, dots, dashes and underscores, at most 80"
        raise typer.BadParameter(f"{name!r}: {rule}", param_hint="--name") from None


def write_entry(kind: str, entry: "Model | PriceList", out: Path | None, *, force: bool) -> Path:
    """Write an entry of a kind; the file. What the package has, or another file holds, is not written over."""
    from app.new_file import write_new
    from simulator.catalog.load import NOUNS, forget, names, origin
    from simulator.catalog.own import entry_text, folder_for_entries
    from simulator.errors import CatalogError

    if entry.name in names(kind) and origin(kind, entry.name) == "package":
        raise CatalogError(f"the package has a {NOUNS[kind]} {entry.name!r} of its own; give another --name")
    written = write_new(folder_for_entries(out) / kind / f"{entry.name}.yaml", entry_text(entry), force=force)
    forget()
    return written


def hint_unread(out: Path | None) -> str:
    """What to do where the entry's folder is not the one that is read."""
    from simulator.catalog.own import VARIABLE, own_folder

    read = out is None or (own_folder() is not None and own_folder() == out.absolute())
    return "" if read else f"It is read where {VARIABLE}={out} is set."
