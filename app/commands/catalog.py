"""`specfleet catalog`: what is known, and where it comes from."""

from typing import Annotated, Any

import typer

from app.options import Debug, Json, Quiet

Kind = Annotated[str | None, typer.Argument(metavar="KIND", help="gpus, models, prices, ...; or a name of any kind.")]
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="One entry: everything that is known of it.")]


def catalog(
    kind: Kind = None, name: Name = None, as_json: Json = False, quiet: Quiet = False, debug: Debug = False
) -> None:
    """List what is known, each number with its source.

    GPUs, models, prices, engines, links, weight formats, acceptance curves, length tables.

    \b
    Examples:
      specfleet catalog
      specfleet catalog prices
      specfleet catalog gpus h200-sxm
    """
    from app.console import out_console, print_json
    from app.tables.catalog import entry_text, kinds_table, rows_blocks
    from simulator.catalog.describe import describe
    from simulator.catalog.load import NOUNS, names, origin, raw

    found: Any
    blocks: list[Any]
    if kind is None:
        found = {folder: names(folder) for folder in NOUNS}
        blocks = [kinds_table(found, NOUNS)]
    else:
        kind, name = _meant(kind, name)
        if name is None:
            rows = describe(kind)
            found, blocks = {"kind": kind, "rows": rows}, list(rows_blocks(kind, rows))
        else:
            entry, where = raw(kind, name), origin(kind, name)
            found = {"kind": kind, "name": name, "from": where, "entry": entry}
            blocks = [entry_text(entry), *([] if where == "package" else [f"from {where}"])]
    if as_json:
        print_json(found)
        return
    console = out_console()
    for number, block in enumerate(blocks):
        if number:
            console.print()
        console.print(block)


def _meant(kind: str, name: str | None) -> tuple[str, str | None]:
    """Folder and entry that the arguments mean: a folder in the singular, or the name of an entry alone."""
    from simulator.catalog.load import NOUNS, names
    from simulator.errors import CatalogError

    if kind not in NOUNS and f"{kind}s" in NOUNS:
        kind = f"{kind}s"
    if kind in NOUNS or name is not None:
        return kind, name
    holding: Any = next((folder for folder in NOUNS if kind in names(folder)), None)
    if holding is None:
        raise CatalogError(f"neither a kind nor an entry of the catalog is called {kind!r}; {_near(kind)}")
    return holding, kind


def _near(name: str) -> str:
    """The entries that look most like a name, else the kinds."""
    from difflib import get_close_matches

    from simulator.catalog.load import NOUNS, names

    entries = {entry: folder for folder in reversed(NOUNS) for entry in names(folder)}
    close = get_close_matches(name.lower(), [*NOUNS, *entries], n=3, cutoff=0.55)
    told = ", ".join(f"{entry} ({entries[entry]})" if entry in entries else entry for entry in close)
    return f"nearest: {told}" if told else f"known: {', '.join(NOUNS)}"
