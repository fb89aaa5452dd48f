"""The queue before the batch, and the orders in which it may be served. None knows an output length.

Same names and same ranks as the planner's.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from engine.sequence import SequenceState

Rank = Callable[[SequenceState], tuple[int, ...]]
"""A waiting sequence's rank: lower is served first; of equals, the one that came first."""


def fcfs(sequence: SequenceState) -> tuple[int, ...]:
    """First come, first served."""
    return ()


def shortest_prompt(sequence: SequenceState) -> tuple[int, ...]:
    """The shortest prompt first."""
    return (len(sequence.request.prompt),)


def priority(sequence: SequenceState) -> tuple[int, ...]:
    """The lowest priority number first."""
    return (sequence.request.priority,)


SCHEDULERS: dict[str, Rank] = {"fcfs": fcfs, "shortest_prompt": shortest_prompt, "priority": priority}
"""Kind of scheduler -> its rank."""


class WaitingQueue:
    """Waiting sequences by rank; those that were preempted come before all others, the last one first."""

    def __init__(self, kind: str) -> None:
        self._rank = SCHEDULERS[kind]
        self._heap: list[tuple[int, tuple[int, ...], int, SequenceState]] = []
        """(0 for preempted sequences, rank, order, sequence)"""
        self._came = 0
        self._preempted = 0

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[SequenceState]:
        return (entry[3] for entry in sorted(self._heap, key=lambda entry: entry[:3]))

    def add(self, sequence: SequenceState) -> None:
        """Queue a sequence."""
        self._came += 1
        heappush(self._heap, (1, self._rank(sequence), self._came, sequence))

    def put_back(self, sequence: SequenceState) -> None:
        """Queue a preempted sequence before all others."""
        self._preempted -= 1
        heappush(self._heap, (0, (), self._preempted, sequence))

    def next(self) -> SequenceState:
        """The sequence that is served next."""
        return self._heap[0][3]

    def pop(self) -> SequenceState:
        """Take the sequence that is served next."""
        return heappop(self._heap)[3]
