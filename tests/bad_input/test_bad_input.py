"""Each bad input is answered by one message with place, value and way out; exit code 2; nothing is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.store import RunFolder, run_hash
from simulator.catalog import load
from tests.app import toys
from tests.bad_input.command_cases import COMMANDS
from tests.bad_input.entry_cases import ENTRIES
from tests.bad_input.import_cases import IMPORTS
from tests.bad_input.newcomer import NEWCOMER
from tests.bad_input.scenario_cases import SCENARIOS
from tests.bad_input.trace_cases import TRACES
from tests.scenarios.examples import CHAT, load_text

ALL = [*SCENARIOS, *TRACES, *COMMANDS, *IMPORTS, *ENTRIES, *NEWCOMER]
MANY = ["per-cent", "gzip", "jobs-zero", "out-onto-a-file", "entry-nearly"]
"""Of every kind one, for a process of its own."""


@pytest.fixture(scope="module")
def earlier():
    """Name of the run folder that chat.yaml without a mistake has."""
    return RunFolder(Path("runs"), "chat", run_hash(load_text(CHAT))).path


@pytest.fixture
def place(tmp_path, monkeypatch, earlier):
    """Lays out a case's files beside an earlier run, in the working folder."""

    def lay_out(case):
        monkeypatch.chdir(tmp_path)
        load.forget()
        for name, content in {**case.files, str(earlier / "summary.json"): "{}", "runs/notes.txt": "mine"}.items():
            path = tmp_path / name
            (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
            if content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    yield lay_out
    load.forget()


def contents(folder):
    """Every file of a folder, byte for byte."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def messages(stderr):
    """The problems that are told; how to call the command is none."""
    usage = ("Usage: ", "Try '", "")
    return [line for line in stderr.splitlines() if line and not line.startswith(usage[:2])]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_bad_input_is_answered_by_one_message_and_loses_nothing(case, place):
    folder = place(case)
    before = contents(folder)

    result = toys.call(*case.command)

    told = messages(result.stderr)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(told) == 1, result.stderr
    assert told[0].startswith(("error: ", "Error: "))
    assert [part for part in case.parts if part not in told[0]] == [], told[0]
    assert contents(folder) == before


@pytest.mark.parametrize("case", [case for case in ALL if case.id in MANY], ids=lambda case: case.id)
def test_a_shell_sees_the_same(case, place):
    folder = place(case)
    before = contents(folder)

    done = subprocess.run([sys.executable, "-m", "app", *case.command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert all(part in messages(done.stderr)[0] for part in case.parts)
    assert contents(folder) == before


def test_there_are_as_many_bad_inputs_as_were_promised():
    assert len({case.id for case in ALL}) == len(ALL)
    assert len(SCENARIOS) >= 40
    assert len(TRACES) >= 15
    assert len(COMMANDS) >= 10
    assert len(IMPORTS) >= 20
    assert len(ENTRIES) >= 20
    assert len(NEWCOMER) == 10
    assert len([case for case in ALL if case.id in MANY]) == 5
