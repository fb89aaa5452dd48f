"""Where a drafter runs that has a process of its own, and what it hands over."""

from dataclasses import dataclass

from engine.errors import DraftError

PAYLOADS = ("ids", "probs")
"""ids: the draft's likeliest tokens, which sampled requests take as certain; probs: sampled requests get drawn tokens,
and what they were drawn from."""


@dataclass(frozen=True, slots=True)
class Away:
    """Where the process runs, and what it hands over."""

    payload: str = "probs"
    core: int | None = None
    """CPU core that it is bound to; None: wherever it may run."""
    device: str | None = None
    """Of the draft; None: that of its weights."""
    threads: int = 1
    start_s: float = 300.0
    """Longest time until it is ready [s]."""
    answer_s: float = 60.0
    """Longest time until it answers [s]."""

    def __post_init__(self) -> None:
        if self.payload not in PAYLOADS:
            raise DraftError(f"asynchronous: payload {self.payload!r}; known: {', '.join(PAYLOADS)}")
