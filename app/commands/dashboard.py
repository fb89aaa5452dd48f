"""`specfleet dashboard`: the web app, on this machine or for a network."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.exits import BAD_INPUT
from app.options import Debug, Json

PORT = 8501

EVERYWHERE = ("0.0.0.0", "::")
"""Addresses that are those of all networks, and so none to open."""

THIS_MACHINE = ("localhost", "127.0.0.1")
"""Names that only this machine has: a page that is served to it alone answers to no other, however a name resolves."""

UPLOAD_MB = 4
"""Largest upload from a browser: a trace of some ten thousand requests [MB]."""

RUNS, TRACES = "SPECFLEET_RUNS", "SPECFLEET_TRACES"
"""Tell the server its runs folder, and the folder of the traces that browsers may replay."""

Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port to listen at.")]
Address = Annotated[
    str, typer.Option("--address", metavar="HOST", help="Address to listen at; 0.0.0.0 serves the whole network.")
]
Runs = Annotated[
    Path,
    typer.Option("--runs", metavar="DIR", help="Folder of run folders that the page Runs shows to all who open it."),
]
TraceFolder = Annotated[
    Path,
    typer.Option("--traces", metavar="DIR", help="Folder of traces that all who open the dashboard may replay."),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]


def dashboard(
    port: Port = PORT,
    address: Address = "localhost",
    no_browser: NoBrowser = False,
    runs: Runs = Path("runs"),
    traces: TraceFolder = Path("traces"),
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Open the web app: what-if by sliders, simulated on request.

    Works offline and with nothing uploaded. Nobody logs in: serve a network only where all may use the machine.

    \b
    Examples:
      specfleet dashboard
      specfleet dashboard --address 0.0.0.0 --port 8080 --no-browser
      specfleet dashboard --runs results --traces ~/traces
    """
    from importlib.util import find_spec

    missing = [name for name in ("streamlit", "plotly") if find_spec(name) is None]
    if missing:
        typer.echo(f"error: {' and '.join(missing)} not installed: pip install 'specfleet[app]'", err=True)
        raise typer.Exit(BAD_INPUT)
    page = f"http://{'localhost' if address in EVERYWHERE else address}:{port}"
    if not no_browser:
        subprocess.Popen([sys.executable, "-m", "app.open_browser", page])
    if as_json:
        typer.echo(json.dumps({"address": page, "pid": os.getpid()}))
        sys.stdout.flush()
    arguments = server_command(port, address, silent=as_json, debug=debug)
    os.execve(arguments[0], arguments, os.environ | {RUNS: str(runs.absolute()), TRACES: str(traces.absolute())})


def server_command(port: int, address: str, *, silent: bool = False, debug: bool = False) -> list[str]:
    """The command that serves the dashboard, with every setting that safety asks for stated.

    silent: say nothing on stdout. debug: show tracebacks on the page.

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
        "client.showErrorDetails": "full" if debug else "none",
        "logger.hideWelcomeMessage": silent,
        "client.toolbarMode": "viewer",
    }
    options = [f"--{name}={str(value).lower()}" for name, value in settings.items()]
    if address in THIS_MACHINE:
        options += [f"--server.allowedHosts={name}" for name in THIS_MACHINE]
    return [sys.executable, "-m", "streamlit", "run", str(script), *options]
