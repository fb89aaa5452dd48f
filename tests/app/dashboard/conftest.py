"""The dashboard without a browser."""

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "app" / "dashboard" / "entry" / "script.py"
TIMEOUT_S = 60


class Dashboard:
    """What a browser does: open a page, move a control, read."""

    def __init__(self, testing: Any) -> None:
        from streamlit import config

        config.set_option("global.disableWidgetStateDuplicationWarning", True)
        self.at = testing.AppTest.from_file(str(SCRIPT), default_timeout=TIMEOUT_S)

    def open(self, page: str = "", link: str | None = None) -> "Dashboard":
        """Open a page by its place in the address."""
        if link is not None:
            self.at.query_params["s"] = link
        if page and not self.at._registered_pages:
            self.at.run()
        if page:
            pages = self.at._registered_pages
            self.at._page_hash = next(key for key, of in pages.items() if of["url_pathname"] == page)
        self.at.run()
        return self

    @property
    def html(self) -> str:
        """All HTML of the page, and all texts."""
        return "\n".join(element.proto.body for element in self.at.get("html"))

    @property
    def said(self) -> str:
        """What the page says could not be done; empty when all went well."""
        texts = [element.value for element in self.at.error]
        return "\n".join(
            [*texts, *(element.value for element in self.at.code if "?s=" not in element.value)] if texts else []
        )

    def control(self, key: str) -> Any:
        """A control by its key."""
        return next(element for element in self.at._tree if getattr(element, "key", None) == key)

    def move(self, key: str, value: Any) -> "Dashboard":
        """Set a control; the page answers."""
        self.control(key).set_value(value).run()
        return self

    def press(self, key: str) -> "Dashboard":
        """Press a button; the page answers."""
        self.control(key).click().run()
        return self

    def scenario(self) -> Any:
        """The scenario that this browser looks at."""
        return self.at.session_state["specfleet_loaded"].points[0].scenario


@pytest.fixture
def dashboard() -> Dashboard:
    """A browser that has not opened anything yet."""
    return Dashboard(pytest.importorskip("streamlit.testing.v1", reason="needs streamlit"))
