"""`specfleet dashboard`: the web app, on this machine or for a network."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.exits import BAD_INPUT

PORT = 8501

EVERYWHERE = ("0.0.0.0", "::")
"""Addresses that are those of all networks, and so none to open."""

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
    if not no_browser:
        shown = "localhost" if address in EVERYWHERE else address
        subprocess.Popen([sys.executable, "-m", "app.open_browser", f"http://{shown}:{port}"])
    arguments = server_command(port, address)
    os.execv(arguments[0], arguments)


def server_command(port: int, address: str) -> list[str]:
    """The command that serves the dashboard, with every setting that safety asks for stated.

    Headless: else streamlit asks for an e-mail address and offers browsers to write files beside the script.
    """
    script = Path(__file__).parents[1] / "dashboard" / "entry" / "script.py"
    settings = {
        "server.port": port,
        "server.address": address,
        "server.headless": True,
        "server.enableXsrfProtection": True,
        "server.enableCORS": True,
        "server.enableAgentApi": False,
        "server.maxUploadSize": UPLOAD_MB,
        "server.fileWatcherType": "none",
        "server.runOnSave": False,
        "runner.magicEnabled": False,
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
        "client.toolbarMode": "viewer",
    }
    options = [f"--{name}={str(value).lower()}" for name, value in settings.items()]
    return [sys.executable, "-m", "streamlit", "run", str(script), *options]
