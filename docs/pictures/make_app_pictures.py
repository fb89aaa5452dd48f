"""Pictures of the dashboard as it is: Compare, Speculation in the dark, Load on a phone, Plan. `make app-pictures`."""

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.serving import browser, go, served, settled, window

HERE = Path(__file__).parent
COLOURS = 192
MOST_BYTES = 150_000

CHART = ".js-plotly-plot"

PICTURES = (
    ("app-compare.png", "", {"width": 1280, "height": 1000}, ".sf-cards"),
    ("app-speculation.png", "speculation", {"width": 1280, "height": 1000, "dark": True}, CHART),
    ("app-phone.png", "load", {"width": 390, "height": 844}, CHART),
    ("app-plan.png", "plan", {"width": 1280, "height": 1500}, '[aria-label="The plan"]'),
)
"""File, page, window, and what the page shows once it has answered."""

DRAWN_MS = 2_500
"""Figures are drawn after the page has answered."""


def picture(chromium: Any, url: str, looks: dict[str, Any], shows: str) -> bytes:
    """A page as a PNG of few colours, once it shows what it is about."""
    page = window(chromium, **looks)
    go(page, url)
    page.wait_for_selector(shows)
    closed = page.get_by_role("button", name="Got it")
    if closed.count():
        closed.click()
    page.wait_for_timeout(DRAWN_MS)
    shot = settled(page).screenshot()
    page.context.close()
    small = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> None:
    """Take all pictures anew."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, _), browser() as chromium:
        go(window(chromium), address)
        for name, page, looks, shows in PICTURES:
            data = picture(chromium, f"{address}/{page}", looks, shows)
            if len(data) > MOST_BYTES:
                raise SystemExit(f"{name}: {len(data):,} bytes; at most {MOST_BYTES:,}")
            (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main()
