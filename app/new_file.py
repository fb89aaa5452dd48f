"""Files that the user asked for by name: written whole, and over one that is there only on demand."""

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
