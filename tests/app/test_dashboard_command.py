"""`specfleet dashboard`: what it serves with, and what it says when it cannot."""

import importlib.util
import json
import os
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from app import open_browser
from app.commands import dashboard
from app.main import build_app


def test_safety_is_stated_and_not_left_to_defaults():
    command = dashboard.server_command(9000, "0.0.0.0")

    assert command[1:4] == ["-m", "streamlit", "run"]
    for setting in (
        "server.port=9000", "server.address=0.0.0.0", "server.headless=true", "server.enableXsrfProtection=true",
        "server.enableCORS=true", "server.enableAgentApi=false", "server.maxUploadSize=4",
        "browser.gatherUsageStats=false", "client.showErrorDetails=none",
    ):  # fmt: skip
        assert f"--{setting}" in command


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "plotly" else find(name))

    result = CliRunner().invoke(build_app(), ["dashboard"])

    assert result.exit_code == 2
    assert result.stderr == "error: plotly not installed: pip install 'specfleet[app]'\n"


def test_a_page_for_this_machine_answers_to_its_names_only():
    own, all_networks = (dashboard.server_command(9000, address) for address in ("localhost", "0.0.0.0"))

    assert [part for part in own if "allowedHosts" in part] == [
        "--server.allowedHosts=localhost", "--server.allowedHosts=127.0.0.1",
    ]  # fmt: skip
    assert not any("allowedHosts" in part for part in all_networks)


@pytest.mark.parametrize(
    ("options", "opened"),
    [([], ["http://localhost:8600"]), (["--address", "0.0.0.0"], ["http://localhost:8600"]), (["--no-browser"], [])],
)
def test_the_server_takes_the_place_of_the_command_and_a_browser_follows(monkeypatch, options, opened):
    pytest.importorskip("streamlit", reason="needs streamlit")
    ran, started = [], []
    monkeypatch.setattr(dashboard.os, "execve", lambda path, arguments, environment: ran.append(arguments))
    monkeypatch.setattr(dashboard.subprocess, "Popen", started.append)

    CliRunner().invoke(build_app(), ["dashboard", "--port", "8600", *options])

    assert [command[-1] for command in started] == opened
    assert "--server.port=8600" in ran[0]


def test_a_script_is_told_where_the_page_is(monkeypatch):
    pytest.importorskip("streamlit", reason="needs streamlit")
    monkeypatch.setattr(dashboard.os, "execve", lambda path, arguments, environment: None)

    result = CliRunner().invoke(build_app(), ["dashboard", "--json", "--no-browser", "--port", "8600"])

    assert json.loads(result.stdout) == {"address": "http://localhost:8600", "pid": os.getpid()}


def test_the_server_is_told_its_runs_folder_from_anywhere(monkeypatch, tmp_path):
    pytest.importorskip("streamlit", reason="needs streamlit")
    monkeypatch.chdir(tmp_path)
    told = []
    monkeypatch.setattr(dashboard.os, "execve", lambda path, arguments, environment: told.append(environment))

    for options in ([], ["--runs", "results"]):
        CliRunner().invoke(build_app(), ["dashboard", "--no-browser", *options])

    assert [environment["SPECFLEET_RUNS"] for environment in told] == [
        str(tmp_path / "runs"),
        str(tmp_path / "results"),
    ]


def test_a_browser_is_opened_once_the_server_answers(monkeypatch):
    calls = []
    monkeypatch.setattr(open_browser.webbrowser, "open", lambda address: bool(calls.append(address)) or True)
    monkeypatch.setattr(open_browser.urllib.request, "urlopen", lambda *a, **k: answers.pop(0)())
    answers = [refuse, lambda: nullcontext()]

    assert open_browser.open_when_up("http://localhost:1")
    assert calls == ["http://localhost:1"]


def refuse():
    raise ConnectionRefusedError


def test_no_browser_is_opened_where_no_server_answers():
    assert not open_browser.open_when_up("http://localhost:1", wait_s=0.0)
