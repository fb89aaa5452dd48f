"""Files written whole or not at all: an interrupt leaves the old one. It knows nothing of what is written."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> Path:
    """Write beside the old file, then put the new one in its place; folders are made. The path.

    Raises OSError where it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path
