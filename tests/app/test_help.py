import subprocess
import sys

import pytest

from app.main import COMMANDS
from tests.app import toys

NAMES = [command.__name__ for command in COMMANDS]
HEAVY = (
    "pandas",
    "pyarrow",
    "streamlit",
    "plotly",
    "torch",
    "numpy",
    "simulator",
    "scenarios",
    "rich.table",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_has_an_example(name):
    result = toys.call(name, "--help")

    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"specfleet {name}" in result.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_json_and_debug(name):
    result = toys.call(name, "--help")

    assert "--json" in result.stdout
    assert "--debug" in result.stdout


def test_the_help_lists_all_commands_and_the_exit_codes():
    result = toys.call("--help")

    assert all(f"  {name} " in result.stdout for name in NAMES)
    assert "3 nothing fits or holds the load" in result.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["memory", "--help"]])
def test_help_imports_nothing_that_takes_long(arguments):
    code = (
        "import sys\n"
        "from app.main import build_app\n"
        f"try:\n    build_app()({arguments!r}, prog_name='specfleet')\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stderr.strip() == "[]"


def test_python_m_app_is_the_command():
    found = subprocess.run([sys.executable, "-m", "app", "--help"], capture_output=True, text=True, check=True)

    assert found.stdout.startswith("Usage: specfleet")


def test_a_terminal_without_the_signs_is_no_crash():
    command = [sys.executable, "-m", "app", "memory", "--gpu", "h100-sxm", "--model", "llama-3.1-8b"]
    ascii_only = {"PYTHONIOENCODING": "ascii", "PATH": ""}

    found = subprocess.run(command, capture_output=True, text=True, env=ascii_only, check=False)

    assert (found.returncode, found.stderr) == (0, "")


def test_the_version_is_told():
    result = toys.call("--version")

    assert result.exit_code == 0
    assert result.stdout.strip()


def test_an_unknown_command_is_bad_input():
    assert toys.call("rnu").exit_code == 2
