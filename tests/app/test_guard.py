import errno

import pytest
import typer
from typer.testing import CliRunner

from app.exits import worst
from app.guard import GuardedCommand
from app.options import Debug
from simulator.errors import CatalogError, ScenarioError


def answer(error, *arguments):
    """What a command answers that raises an error."""
    app = typer.Typer()

    @app.command(cls=GuardedCommand)
    def fails(debug: Debug = False) -> None:
        raise error

    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("error", [ScenarioError("chat.yaml:3: gpuu"), CatalogError("no GPU")])
def test_bad_input_ends_in_its_message_and_two(error):
    result = answer(error)

    assert result.exit_code == 2
    assert result.stderr == f"error: {error}\n"


def test_several_problems_are_counted_and_listed():
    result = answer(ScenarioError("a: wrong\nb: wrong"))

    assert result.stderr.splitlines() == ["error: 2 problems", "  a: wrong", "  b: wrong"]


def test_an_internal_error_is_one_message_with_a_hint():
    result = answer(ZeroDivisionError("by zero"))

    assert result.exit_code == 1
    assert result.stderr.startswith("internal error: ZeroDivisionError: by zero\n")
    assert "report it" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("error", [ValueError("x"), ScenarioError("y")])
def test_debug_shows_the_traceback(error):
    result = answer(error, "--debug")

    assert "Traceback" in result.stderr
    assert result.stdout == ""


def test_an_interrupt_is_a_hundred_and_thirty():
    assert answer(KeyboardInterrupt()).exit_code == 130


def test_exit_codes_of_a_command_pass():
    assert answer(typer.Exit(4)).exit_code == 4


def test_a_reader_that_leaves_early_is_not_told_of_an_error():
    result = answer(BrokenPipeError(errno.EPIPE, "Broken pipe"))

    assert "internal error" not in result.output


def test_the_worst_of_a_folder_is_an_internal_error_then_bad_input_then_an_assert():
    assert [worst(codes) for codes in ([0, 4, 2, 1], [4, 2, 0], [0, 4], [3, 0], [])] == [1, 2, 4, 0, 0]
