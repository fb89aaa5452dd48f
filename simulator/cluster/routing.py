"""Routers: which replica gets a request. Each is a function in a dict; none knows an output length."""

from collections.abc import Callable, Sequence
from typing import Protocol


class ReplicaView(Protocol):
    """What a router sees of a replica."""

    outstanding_tokens: int
    """Prompt tokens of the requests that were sent there and have not ended."""


Router = Callable[[Sequence[ReplicaView], int, int], int]
"""(replicas, number of requests routed before, prompt tokens) -> index of the replica."""


def round_robin(replicas: Sequence[ReplicaView], routed: int, prompt_tokens: int) -> int:
    """Each replica in turn."""
    return routed % len(replicas)


def least_outstanding_tokens(replicas: Sequence[ReplicaView], routed: int, prompt_tokens: int) -> int:
    """The replica with the fewest prompt tokens in flight; of equals, the first."""
    best, fewest = 0, replicas[0].outstanding_tokens
    for index in range(1, len(replicas)):
        tokens = replicas[index].outstanding_tokens
        if tokens < fewest:
            best, fewest = index, tokens
    return best


ROUTERS: dict[str, Router] = {"round_robin": round_robin, "least_outstanding_tokens": least_outstanding_tokens}
"""Kind of router -> its function."""
