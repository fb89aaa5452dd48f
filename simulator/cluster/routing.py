"""Routers: which replica gets a request. Each is a function in a dict; none knows an output length."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, Protocol


class ReplicaView(Protocol):
    """What a router sees of a replica."""

    outstanding_tokens: int
    """Prompt tokens of the requests that were sent there and have not ended."""

    def cached_tokens(self, ids: Sequence[int], ends: Sequence[int]) -> int:
        """Tokens at the start of a prompt whose KV the replica keeps."""


class Ask(NamedTuple):
    """What a router sees of a request."""

    nth: int
    """Requests routed before it."""
    prompt_tokens: int
    request: int
    segments: Callable[[int], tuple[Sequence[int], Sequence[int]]]
    """Request -> segments of its prompt, for the prefix cache, and the prompt tokens up to the end of each."""


Router = Callable[[Sequence[ReplicaView], Ask, Random], int]
"""(replicas, request, random numbers of the router) -> index of the replica."""


def round_robin(replicas: Sequence[ReplicaView], ask: Ask, rng: Random) -> int:
    """Each replica in turn."""
    return ask.nth % len(replicas)


def least_outstanding_tokens(replicas: Sequence[ReplicaView], ask: Ask, rng: Random) -> int:
    """The replica with the fewest prompt tokens in flight; of equals, the first."""
    best, fewest = 0, replicas[0].outstanding_tokens
    for index in range(1, len(replicas)):
        tokens = replicas[index].outstanding_tokens
        if tokens < fewest:
            best, fewest = index, tokens
    return best


def power_of_two_choices(replicas: Sequence[ReplicaView], ask: Ask, rng: Random) -> int:
    """The emptier of two replicas picked at random (Mitzenmacher, IEEE TPDS 12, 2001)."""
    count = len(replicas)
    if count == 1:
        return 0
    first = rng.randrange(count)
    second = (first + 1 + rng.randrange(count - 1)) % count
    return second if replicas[second].outstanding_tokens < replicas[first].outstanding_tokens else first


def prefix_aware(replicas: Sequence[ReplicaView], ask: Ask, rng: Random) -> int:
    """The replica with the least to do before the request: prompt tokens in flight and tokens it does not keep."""

    ids, ends = ask.segments(ask.request)

    def work(index: int) -> int:
        replica = replicas[index]
        return replica.outstanding_tokens - replica.cached_tokens(ids, ends)

    return min(range(len(replicas)), key=work)


ROUTERS: dict[str, Router] = {
    "round_robin": round_robin,
    "least_outstanding_tokens": least_outstanding_tokens,
    "power_of_two_choices": power_of_two_choices,
    "prefix_aware": prefix_aware,
}
"""Kind of router -> its function."""
