"""The queue of a replica, and the orders in which it may be served. None knows an output length."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple


class PromptView(NamedTuple):
    """What a scheduler sees of a waiting request."""

    prompt_tokens: int
    priority: int
    """Lower is served first."""


Scheduler = Callable[[PromptView], tuple[int, ...]]
"""A request's rank: lower is served first; of equals, the one that came first."""


def fcfs(prompt: PromptView) -> tuple[int, ...]:
    """First come, first served."""
    return ()


def shortest_prompt(prompt: PromptView) -> tuple[int, ...]:
    """The shortest prompt first."""
    return (prompt.prompt_tokens,)


def priority(prompt: PromptView) -> tuple[int, ...]:
    """The lowest priority number first."""
    return (prompt.priority,)


SCHEDULERS: dict[str, Scheduler] = {"fcfs": fcfs, "shortest_prompt": shortest_prompt, "priority": priority}
"""Kind of scheduler -> its rank."""


class WaitingQueue:
    """Waiting requests by rank; those that were preempted come before all others, the last one first."""

    def __init__(self, scheduler: str) -> None:
        self._rank = SCHEDULERS[scheduler]
        self.heap: list[tuple[int, tuple[int, ...], int, int]] = []
        """(0 for preempted requests, rank, order, request)"""
        self._came = 0
        self._preempted = 0
        self.prompt_tokens = 0
        """Prompt tokens that wait."""

    def add(self, request: int, prompt: PromptView) -> bool:
        """Queue a request; whether it is now the next."""
        self._came += 1
        self.prompt_tokens += prompt.prompt_tokens
        heappush(self.heap, (1, self._rank(prompt), self._came, request))
        return self.heap[0][3] == request

    def put_back(self, request: int, prompt_tokens: int) -> None:
        """Queue a preempted request before all others."""
        self._preempted -= 1
        self.prompt_tokens += prompt_tokens
        heappush(self.heap, (0, (), self._preempted, request))

    def next(self) -> int:
        """The request that is served next."""
        return self.heap[0][3]

    def pop(self, prompt_tokens: int) -> int:
        """Take the next request, whose prompt has so many tokens."""
        self.prompt_tokens -= prompt_tokens
        return heappop(self.heap)[3]
