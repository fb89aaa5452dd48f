"""What pages show of the current scenario: the simulation where there is a fresh one, else the estimate."""

from app.dashboard import state
from app.dashboard.estimates import Answer, estimated


def answer() -> Answer:
    """The best that is known of the current scenario."""
    return estimated(state.current())
