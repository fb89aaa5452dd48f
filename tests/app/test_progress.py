import io

from app import progress
from app.console import json_text, out_console


class Terminal(io.StringIO):
    """A stderr that a person looks at."""

    def isatty(self):
        return True


def terminal(monkeypatch):
    """Stderr as a terminal, from now on: pytest sets its own between a test's phases."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def count(bar):
    """Take a bar from nothing done to all done."""
    with bar:
        bar.describe("chat")
        for done in range(4):
            bar.update(done, 3)


def test_what_takes_long_shows_how_much_is_done(monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 0.0)

    count(progress.ProgressBar())

    assert "chat" in stream.getvalue()
    assert "3/3" in stream.getvalue()


def test_what_is_quick_shows_nothing(monkeypatch):
    stream = terminal(monkeypatch)
    count(progress.ProgressBar())

    assert stream.getvalue() == ""


def test_quiet_shows_nothing(monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 0.0)

    count(progress.ProgressBar(quiet=True))

    assert stream.getvalue() == ""


def test_off_a_terminal_nothing_is_shown(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 0.0)

    count(progress.ProgressBar())

    assert stream.getvalue() == ""


def test_the_bar_gives_way_to_what_is_printed(monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 0.0)

    with progress.ProgressBar() as bar:
        bar.update(1, 3)
        with bar.away():
            stream.truncate(0)
            stream.write("a table")
        bar.update(2, 3)

    assert stream.getvalue().lstrip("\0").startswith("a table")
    assert "2/3" in stream.getvalue()


def test_a_pipe_gets_the_width_of_a_table(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.delenv("COLUMNS", raising=False)

    assert out_console().width == 120


def test_json_has_no_number_that_readers_refuse():
    assert json_text({"a": [float("inf"), float("nan")]}).split() == ["{", '"a":', "[", "null,", "null", "]", "}"]
