"""What the running sequences of a replica will put out and need, step by step, so that a step costs O(1)."""

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32] | NDArray[np.int64]


class Timeline:
    """Sums of the drawn paths of all running sequences, by step number, and the steps at which sequences finish."""

    def __init__(self, size: int = 4096) -> None:
        self.emitted: Ints = np.zeros(size, np.int32)
        """[step − base] tokens that the running sequences put out at the end of a step."""
        self.new_blocks: Ints = np.zeros(size, np.int32)
        """[step − base] KV blocks that they need before it."""
        self.base = 0
        self.finishes: list[tuple[int, int]] = []
        """Heap of (step number after the last step, request)."""

    def add(self, request: int, step: int, emitted: Ints, new_blocks: Ints) -> None:
        """Let a sequence run from a step on."""
        at = step - self.base
        end = at + emitted.size
        if end > self.emitted.size:
            at, end = self._make_room(step, emitted.size)
        self.emitted[at:end] += emitted
        self.new_blocks[at:end] += new_blocks
        heappush(self.finishes, (step + emitted.size, request))

    def remove(self, request: int, step: int, first_step: int, emitted: Ints, new_blocks: Ints) -> None:
        """Take back, from a step on, a sequence that began at first_step."""
        done = step - first_step
        at = step - self.base
        end = at + emitted.size - done
        self.emitted[at:end] -= emitted[done:]
        self.new_blocks[at:end] -= new_blocks[done:]
        self.finishes.remove((first_step + emitted.size, request))
        self.finishes.sort()

    def pop_finished(self, step: int) -> list[int]:
        """Requests whose last step was the one before this; in order of their numbers."""
        done: list[int] = []
        finishes = self.finishes
        while finishes and finishes[0][0] <= step:
            done.append(heappop(finishes)[1])
        return done

    def steps_within(self, step: int, steps: int, room: int) -> int:
        """Of so many steps from here, those whose new blocks fit into the room; the first one's are held already."""
        at = step - self.base
        later = np.cumsum(self.new_blocks[at + 1 : at + steps])
        return 1 + int(np.searchsorted(later, room, side="right"))

    def _make_room(self, step: int, steps: int) -> tuple[int, int]:
        """Forget what is past, and grow if the future still does not fit."""
        for name in ("emitted", "new_blocks"):
            old = getattr(self, name)
            future = old[step - self.base :]
            size = old.size
            while size < 2 * (steps + 1) or size < 2 * future.size:
                size *= 2
            new = np.zeros(size, np.int32)
            new[: future.size] = future
            setattr(self, name, new)
        self.base = step
        return 0, steps
