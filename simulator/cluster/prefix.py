"""A replica's prefix cache: KV of prompts and outputs that is kept, shared while in use, and evicted oldest first.

A prompt is a row of segments, each with an id that stands for the segment and everything before it (the blocks of a
trace, a system prompt, the turns of a session). A segment that no running request uses is idle: its blocks are there
for whoever needs room.
"""

from collections import OrderedDict
from collections.abc import Sequence


class PrefixCache:
    """Segments by id: how many requests use each, and the KV blocks it holds."""

    def __init__(self) -> None:
        self._users: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()
        self.idle_blocks = 0
        """Blocks that no running request uses."""

    def match(self, ids: Sequence[int]) -> int:
        """Segments at the start of a prompt that are there."""
        known = self._users
        found = 0
        for segment in ids:
            if segment not in known:
                break
            found += 1
        return found

    def idle_among(self, ids: Sequence[int]) -> int:
        """Blocks of these segments that are idle: using them takes them away from eviction."""
        return sum(self._blocks[segment] for segment in ids if segment in self._idle)

    def use(self, ids: Sequence[int]) -> int:
        """Use segments that are there; how many blocks stop being idle."""
        users, idle, blocks = self._users, self._idle, self._blocks
        woken = 0
        for segment in ids:
            if segment in idle:
                del idle[segment]
                woken += blocks[segment]
            users[segment] += 1
        self.idle_blocks -= woken
        return woken

    def add(self, segment: int, blocks: int) -> bool:
        """Take over the blocks of a segment from the request that computed it, which goes on using it.

        False when the segment is there already: the request keeps blocks of its own.
        """
        if segment in self._users:
            return False
        self._users[segment] = 1
        self._blocks[segment] = blocks
        return True

    def leave(self, ids: Sequence[int]) -> int:
        """Stop using segments, the last one first, so that it is evicted first; how many blocks become idle."""
        users, blocks = self._users, self._blocks
        freed = 0
        for segment in reversed(ids):
            users[segment] -= 1
            if not users[segment]:
                self._idle[segment] = None
                freed += blocks[segment]
        self.idle_blocks += freed
        return freed

    def evict(self, needed_blocks: int) -> None:
        """Drop idle segments, the longest unused first, until so many blocks are free."""
        freed = 0
        while freed < needed_blocks:
            segment, _ = self._idle.popitem(last=False)
            freed += self._blocks.pop(segment)
            del self._users[segment]
        self.idle_blocks -= freed


class BlockPool:
    """KV blocks of a replica: used by running requests, idle in the prefix cache, or free."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0
        self.cache = PrefixCache()

    def room(self) -> int:
        """Blocks that can be had, those of idle segments included."""
        return self.total - self.used

    def hold(self, blocks: int) -> None:
        """Take blocks that can be had; idle segments give way."""
        lacking = self.used + self.cache.idle_blocks + blocks - self.total
        if lacking > 0:
            self.cache.evict(lacking)
        self.used += blocks

    def free(self, blocks: int) -> None:
        """Give blocks back."""
        self.used -= blocks
