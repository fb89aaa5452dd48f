"""Files that the user asked for by name: written whole, and over one that is there only on demand.

A page is what a command computes for minutes: its place is checked before, and it takes the place of an older one.
"""

from pathlib import Path


def write_new(path: Path, text: str, *, force: bool) -> Path:
    """Write a file; the path. Raises ScenarioError where one is there, unless forced, and where none can be written."""
    from calibration.whole_file import write_whole
    from simulator.errors import ScenarioError

    if path.exists() and not force:
        raise ScenarioError(f"{path}: is there already; name another file, or overwrite it with --force")
    try:
        return write_whole(path, text)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written: {error.strerror}; name another file") from None


def check_place(option: str, file: Path, example: str) -> None:
    """Refuse a place where no page can be written, before anything is computed; example: a name that would do."""
    from simulator.errors import ScenarioError

    if file.is_dir():
        raise ScenarioError(f"{option} {file}: a folder; name a file such as {example}")
    if not file.parent.is_dir():
        raise ScenarioError(f"{option} {file}: no folder {file.parent}")


def write_page(file: Path, text: str, *, quiet: bool) -> None:
    """Write a page over an older one, and say so."""
    from app.console import note

    note(f"written: {write_new(file, text, force=True)}", quiet=quiet)
