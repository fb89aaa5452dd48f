"""`specfleet dashboard`: the web app, on this machine or for a network."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.exits import BAD_INPUT

PORT = 8501

UPLOAD_MB = 1
"""Largest upload and largest message from a browser [MB]."""

Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port to listen at.")]
Address = Annotated[
    str, typer.Option("--address", metavar="HOST", help="Address to listen at; 0.0.0.0 serves the whole network.")
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]


def dashboard(port: Port = PORT, address: Address = "localhost", no_browser: NoBrowser = False) -> None:
    """Open the web app: what-if by sliders, simulated on request.

    Works offline and with nothing uploaded. Nobody logs in: serve a network only where all may use the machine.

    \b
    Examples:
      specfleet dashboard
      specfleet dashboard --address 0.0.0.0 --port 8080 --no-browser
    """
    from importlib.util import find_spec

    missing = [name for name in ("streamlit", "plotly") if find_spec(name) is None]
    if missing:
        typer.echo(f"error: {' and '.join(missing)} not installed: pip install 'specfleet[app]'", err=True)
        raise typer.Exit(BAD_INPUT)
    arguments = server_command(port, address, open_browser=not no_browser)
    os.execv(arguments[0], arguments)


def server_command(port: int, address: str, *, open_browser: bool) -> list[str]:
    """The command that serves the dashboard, with every setting that safety asks for stated."""
    script = Path(__file__).parents[1] / "dashboard" / "entry" / "script.py"
    settings = {
        "server.port": port,
        "server.address": address,
        "server.headless": not open_browser,
        "server.enableXsrfProtection": True,
        "server.enableCORS": True,
        "server.enableAgentApi": False,
        "server.maxUploadSize": UPLOAD_MB,
        "server.fileWatcherType": "none",
        "server.runOnSave": False,
        "runner.magicEnabled": False,
        "server.showEmailPrompt": False,
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
        "client.toolbarMode": "viewer",
    }
    options = [f"--{name}={str(value).lower()}" for name, value in settings.items()]
    return [sys.executable, "-m", "streamlit", "run", str(script), *options]
