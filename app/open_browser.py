"""`python -m app.open_browser ADDRESS`: open a page in the user's browser as soon as its server answers."""

import sys
import time
import urllib.request
import webbrowser

WAIT_S = 60.0
PAUSE_S = 0.2


def open_when_up(address: str, wait_s: float = WAIT_S) -> bool:
    """Wait until a server answers and open its page; False where none did in time."""
    deadline_s = time.monotonic() + wait_s
    while time.monotonic() < deadline_s:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                return webbrowser.open(address)
        except OSError:
            time.sleep(PAUSE_S)
    return False


if __name__ == "__main__":
    open_when_up(sys.argv[1])
