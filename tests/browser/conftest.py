"""Without a browser these tests are skipped; where SPECFLEET_BROWSER is `required`, as in CI, they fail instead."""

import os

import pytest

from tests.browser.serving import browser, chromium_path, go, served, window


def unable(why):
    """Skip the tests, or fail where a browser is required."""
    if os.environ.get("SPECFLEET_BROWSER") == "required":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory):
    """The working folder of the server."""
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="session")
def address(server_folder):
    """Where a dashboard of this session is served."""
    pytest.importorskip("streamlit", reason="needs streamlit")
    with served(server_folder) as (found, _):
        yield found


@pytest.fixture(scope="session")
def chromium():
    """A browser for all tests."""
    if chromium_path() is None:
        unable("needs Chromium: apt-get install chromium")
    with browser() as found:
        yield found


@pytest.fixture
def open_page(chromium, address):
    """Open a page in a browser window of its own: `open_page("load", s=payload, width=390, dark=True)`."""
    pages = []

    def open_at(page="", *, s=None, asked=None, **looks):
        found = window(chromium, **looks)
        pages.append(found)
        if asked is not None:
            found.on("request", lambda request: asked.append(request.url))
        return go(found, f"{address}/{page}" + (f"?s={s}" if s else ""))

    yield open_at
    for page in pages:
        page.context.close()
