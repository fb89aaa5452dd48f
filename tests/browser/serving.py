"""A served dashboard and a browser window on it, for tests, measurements and pictures."""

import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.commands.dashboard import server_command

ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
TIMEOUT_MS = 60_000
START_S = 60.0


def chromium_path() -> str | None:
    """Debian's Chromium; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a dashboard that is started in a folder, which is not the repository."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with (folder / "server.log").open("wb") as log:
        command = server_command(port, "127.0.0.1")
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", server)
            yield f"http://127.0.0.1:{port}", server.pid
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"no server at {url}")


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium_path(), args=list(ARGUMENTS))
        try:
            yield found
        finally:
            found.close()


def window(chromium: Any, *, width: int = 1366, height: int = 900, dark: bool = False) -> Any:
    """A page of a browser window of its own."""
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", accept_downloads=True
    )
    context.set_default_timeout(TIMEOUT_MS)
    return context.new_page()


def go(page: Any, url: str) -> Any:
    """Open an address and wait until the page has answered."""
    page.goto(url, wait_until="domcontentloaded")
    page.wait_for_selector(".sf-head")
    return settled(page)


def settled(page: Any) -> Any:
    """Wait until the page has answered."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    return page


def number(page: Any, label: str) -> Any:
    """A field for a number."""
    return page.get_by_role("spinbutton", name=label)


def enter(page: Any, label: str, value: str) -> None:
    """Type a number."""
    number(page, label).fill(value)
    number(page, label).press("Enter")


def type_in(page: Any, label: str, value: str) -> Any:
    """Type a number and wait until the page has taken it."""
    before = page.url
    enter(page, label, value)
    page.wait_for_function("before => location.href !== before", arg=before)
    return settled(page)


def choose(page: Any, name: str, wanted: str) -> None:
    """Take an option of a list, which a page that is still drawn may close again."""
    from playwright.sync_api import TimeoutError as TooLateError

    option = page.get_by_role("option", name=wanted)
    for _ in range(5):
        page.get_by_role("combobox", name=name).click()
        try:
            option.click(timeout=4_000)
        except TooLateError:
            continue
        return
    option.click(timeout=1_000)
