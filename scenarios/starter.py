"""The commented starter file that `specfleet init` writes."""

from scenarios.files import read_starter


def starter_text() -> str:
    """A scenario file that explains each key and runs as it is."""
    return read_starter()
