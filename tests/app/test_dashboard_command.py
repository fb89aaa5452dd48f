"""`specfleet dashboard`: what it serves with, and what it says when it cannot."""

import importlib.util

import pytest
from typer.testing import CliRunner

from app.commands import dashboard
from app.main import build_app


def test_safety_is_stated_and_not_left_to_defaults():
    command = dashboard.server_command(9000, "0.0.0.0", open_browser=False)

    assert command[1:4] == ["-m", "streamlit", "run"]
    for setting in (
        "server.port=9000", "server.address=0.0.0.0", "server.headless=true", "server.enableXsrfProtection=true",
        "server.enableCORS=true", "server.showEmailPrompt=false", "server.enableAgentApi=false", "server.maxUploadSize=1",
        "browser.gatherUsageStats=false", "client.showErrorDetails=none",
    ):  # fmt: skip
        assert f"--{setting}" in command


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "plotly" else find(name))

    result = CliRunner().invoke(build_app(), ["dashboard"])

    assert result.exit_code == 2
    assert result.stderr == "error: plotly not installed: pip install 'specfleet[app]'\n"


def test_the_server_takes_the_place_of_the_command(monkeypatch):
    called = []
    pytest.importorskip("streamlit", reason="needs streamlit")
    monkeypatch.setattr(dashboard.os, "execv", lambda path, arguments: called.append((path, arguments)))

    CliRunner().invoke(build_app(), ["dashboard", "--port", "8600", "--no-browser"])

    ((path, arguments),) = called
    assert path == arguments[0]
    assert "--server.port=8600" in arguments
