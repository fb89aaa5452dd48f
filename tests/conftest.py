"""Options of the tests."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden`: take what comes out now as what is to come out."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compares a text with a golden file; with `--update-golden` the file becomes the text."""

    def compare(file: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            file.write_text(text, encoding="utf-8")
        found = file.read_text(encoding="utf-8") if file.exists() else "(no such file)"

        assert text == found, f"{file.name}: if the change is meant, `make golden` writes it anew"

    return compare
