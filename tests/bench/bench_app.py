"""How fast the dashboard answers, in Debian's Chromium: first paint, a moved control, a simulation, eight browsers.

Prints a line for each; the very last line is one JSON object. Wall time: run it on a quiet machine.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from app.dashboard.document import edited, mapping_of
from app.dashboard.share import encode
from scenarios.load import load_scenario
from tests.browser.serving import browser, enter, go, served, settled, type_in, window

PAINTS, MOVES, BROWSERS, MOVES_EACH, INTERACTIONS = 5, 50, 8, 5, 200

CONTROLS = (("Requests per second", 10.0, 0.31), ("$/h of b200-sxm", 3.0, 0.05), ("TTFT p95 ≤ s", 0.6, 0.02))
"""Fields that are moved in turn: label, first value, step."""

RATE = CONTROLS[0][0]

Found = dict[str, float]


def timed(do: Callable[[], Any]) -> float:
    """Seconds that something takes."""
    start_s = time.perf_counter()
    do()
    return time.perf_counter() - start_s


def first_paints(chromium: Any, address: str) -> Found:
    """From the address to the filled cards, in windows that know nothing of the page yet."""
    taken = []
    for _ in range(PAINTS + 1):
        page = window(chromium)
        taken.append(timed(lambda page=page: (page.goto(address), page.wait_for_selector(".sf-cards"))))  # type: ignore[misc]
        page.context.close()
    return {"first_paint_s": statistics.median(taken[1:])}


class Frames:
    """When a page last asked its server, and when the server last answered."""

    def __init__(self, page: Any) -> None:
        self.asked_s = self.answered_s = 0.0
        page.on("websocket", self._follow)

    def _follow(self, socket: Any) -> None:
        socket.on("framesent", lambda _: self._asked())
        socket.on("framereceived", lambda _: self._answered())

    def _asked(self) -> None:
        self.asked_s = time.perf_counter()

    def _answered(self) -> None:
        self.answered_s = time.perf_counter()


def control_moves(chromium: Any, address: str) -> Found:
    """From the browser's message to the server's last answer, and to the numbers on the screen."""
    page = window(chromium)
    frames = Frames(page)
    go(page, address)
    server, screen = [], []
    for count in range(MOVES):
        label, start, step = CONTROLS[count % len(CONTROLS)]
        screen.append(timed(lambda: type_in(page, label, f"{start + step * count:.2f}")))  # noqa: B023
        page.wait_for_timeout(100)
        server.append(frames.answered_s - frames.asked_s)
    page.context.close()
    return {"control_to_estimate_server_s": statistics.median(server), "control_to_screen_s": statistics.median(screen)}


def simulated(chromium: Any, address: str) -> Found:
    """From the button to simulated figures: 5,000 requests, 4 deployments, 3 seeds; processes already started."""
    taken = []
    for requests in (200, 5000):
        changes = {"workload.horizon": {"requests": requests, "warmup_requests": requests // 10}, "replications": 3}
        payload = encode(mapping_of(edited(load_scenario("h200_vs_b200_chat"), changes)))
        page = window(chromium)
        page.set_default_timeout(600_000)
        go(page, f"{address}/?s={payload}")
        taken.append(timed(lambda page=page: _simulate(page)))  # type: ignore[misc]
        page.context.close()
    return {"simulated_compare_s": taken[-1]}


def _simulate(page: Any) -> None:
    page.get_by_role("button", name="Simulate").click()
    page.wait_for_selector(".sf-simulated, .sf-ended")
    if page.locator(".sf-ended").count():
        raise SystemExit(f"the simulation failed: {page.locator('.sf-ended').inner_text()}")


def at_once(chromium: Any, address: str) -> Found:
    """Eight windows that move a control at the same moment: the server's answer to each, the last screen, failures."""
    pages = [window(chromium) for _ in range(BROWSERS)]
    frames = [Frames(page) for page in pages]
    server, screens, errors = [], [], 0
    for page in pages:
        go(page, address)
    for count in range(MOVES_EACH):
        before, start_s = [page.url for page in pages], time.perf_counter()
        for place, page in enumerate(pages):
            enter(page, RATE, f"{11 + count + 0.1 * place:.2f}")
        for page, url in zip(pages, before, strict=True):
            page.wait_for_function("before => location.href !== before", arg=url)
            settled(page)
        screens.append(time.perf_counter() - start_s)
        pages[0].wait_for_timeout(200)
        server += [frame.answered_s - frame.asked_s for frame in frames]
        errors += sum(page.locator("[data-testid=stException], [data-testid=stAlert]").count() for page in pages)
    for page in pages:
        page.context.close()
    return {
        "eight_browsers_server_s": statistics.median(server),
        "eight_browsers_last_screen_s": statistics.median(screens),
        "eight_browsers_errors": errors,
    }


def memory(pid: int, chromium: Any, address: str) -> Found:
    """Resident memory of the server after many moves on all pages; its workers apart."""
    page = go(window(chromium), address)
    for count in range(INTERACTIONS):
        if count % 20 == 0:
            page.get_by_test_id("stSidebarNav").get_by_role("link").nth(count // 20 % 6).click()
            page.wait_for_timeout(300)
            settled(page)
        type_in(page, RATE, f"{9 + 0.07 * count:.2f}")
    page.context.close()
    return {f"server_rss_bytes_after_{INTERACTIONS}": resident_bytes(pid)}


def resident_bytes(pid: int) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def main() -> None:
    """Measure everything."""
    found: Found = {}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, pid), browser() as chromium:
        for measure in (first_paints, control_moves, simulated, at_once, partial(memory, pid)):
            now = measure(chromium, address)
            sys.stdout.write("".join(f"{name:36} {value:16,.3f}\n" for name, value in now.items()))
            sys.stdout.flush()
            found |= now
    sys.stdout.write(json.dumps({name: round(value, 4) for name, value in found.items()}) + "\n")


if __name__ == "__main__":
    main()
