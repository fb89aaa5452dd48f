"""A served dashboard and a real browser: Debian's Chromium, driven by Playwright.

Without one of them the tests are skipped; where SPECFLEET_BROWSER is `required`, as in CI, they fail instead.
"""

import os
import shutil
import socket
import subprocess
import time
import urllib.request

import pytest

from app.commands.dashboard import server_command

ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
TIMEOUT_MS = 60_000


def unable(why):
    """Skip the tests, or fail where a browser is required."""
    if os.environ.get("SPECFLEET_BROWSER") == "required":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where a dashboard of this session is served, from a folder that is not the repository."""
    pytest.importorskip("streamlit", reason="needs streamlit")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    log = (tmp_path_factory.mktemp("server") / "log").open("wb")
    command = server_command(port, "127.0.0.1", open_browser=False)
    server = subprocess.Popen(command, cwd=tmp_path_factory.mktemp("elsewhere"), stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)
        log.close()


def wait_for(url, server):
    """Wait until a server answers."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"no server at {url}")


@pytest.fixture(scope="session")
def chromium():
    """A browser for all tests."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        unable("needs Chromium: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unable("needs playwright: pip install playwright")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, address):
    """Open a page in a browser window of its own: `open_page("load", s=payload, width=390, dark=True)`."""
    contexts = []

    def open_at(page="", *, s=None, width=1366, dark=False, asked=None):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        found = context.new_page()
        if asked is not None:
            found.on("request", lambda request: asked.append(request.url))
        found.goto(f"{address}/{page}" + (f"?s={s}" if s else ""), wait_until="domcontentloaded")
        found.wait_for_selector(".sf-head")
        settled(found)
        return found

    yield open_at
    for context in contexts:
        context.close()


def settled(page):
    """Wait until the page has answered."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    return page
