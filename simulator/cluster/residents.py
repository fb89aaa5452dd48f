"""Who holds the KV blocks of a replica: the blocks that are a request's own, and the segments that it shares."""

from collections.abc import Sequence

from simulator.cluster.limits import Limits
from simulator.cluster.prefix import BlockPool
from simulator.cluster.requests import RequestBook


class Residents:
    """Requests that hold KV blocks: those that run, and those whose prompt is being computed."""

    def __init__(self, book: RequestBook, limits: Limits) -> None:
        self._book = book
        self._limits = limits
        self.pool = BlockPool(limits.kv_blocks)
        self.own: dict[int, int] = {}
        """Request -> blocks of its own that it got when it entered."""
        self._shared: dict[int, list[int]] = {}
        """Request -> segments of the prefix cache that it uses."""

    def caches(self) -> bool:
        """Whether prompts are looked up in the prefix cache."""
        return self._limits.prefix_cache and self._book.shares_prefixes

    def cached(self, request: int, prompt_tokens: int) -> tuple[int, int]:
        """Segments of a prompt that are kept, and their tokens: whole blocks, and never the whole prompt."""
        ids, ends = self._book.segments(request)
        found = self.pool.cache.match(ids)
        block = self._limits.block_tokens
        while found and ends[found - 1] >= prompt_tokens:
            found -= 1
        return found, ends[found - 1] // block * block if found else 0

    def enter(self, request: int, prompt_tokens: int, segments: int, cached_tokens: int) -> bool:
        """Give a request the blocks of its prompt, less those that are kept already; whether there is room."""
        limits, pool = self._limits, self.pool
        length = prompt_tokens
        if limits.reserve_output_tokens is not None:
            length = min(prompt_tokens + limits.reserve_output_tokens + limits.draft_tokens, limits.max_model_len)
        blocks = limits.blocks(length) - cached_tokens // limits.block_tokens
        if segments:
            ids = list(self._book.segments(request)[0][:segments])
            if blocks + pool.cache.idle_among(ids) > pool.room():
                return False
            self._shared[request] = ids
            pool.used += pool.cache.use(ids)
        elif blocks > pool.total - pool.used:
            return False
        pool.hold(blocks)
        self.own[request] = blocks
        return True

    def enter_again(self, request: int, blocks: int) -> bool:
        """Give a request back the blocks that were moved to the host; whether there is room."""
        if blocks > self.pool.room():
            return False
        self.pool.hold(blocks)
        self.own[request] = blocks
        return True

    def share(self, request: int) -> None:
        """A prompt is computed: let others use its segments."""
        if not self.caches():
            return
        ids, ends = self._book.segments(request)
        mine = self._shared.setdefault(request, [])
        self._add(request, mine, ids[len(mine) :], ends[len(mine) :], ends[len(mine) - 1] if mine else 0)

    def _add(self, request: int, mine: list[int], ids: Sequence[int], ends: Sequence[int], start: int) -> None:
        block, cache = self._limits.block_tokens, self.pool.cache
        for segment, end in zip(ids, ends, strict=True):
            blocks = end // block - start // block
            if not cache.add(segment, blocks):
                return
            mine.append(segment)
            self.own[request] -= blocks
            start = end

    def leave(self, request: int, grown_blocks: int) -> int:
        """Take back all blocks of a request, and stop using its segments; how many blocks it had in all."""
        own = self.own.pop(request) + grown_blocks
        shared = self._shared.pop(request, None)
        self.pool.free(own)
        if not shared:
            return own
        freed = self.pool.cache.leave(shared)
        self.pool.free(freed)
        return own + freed

    def end(self, request: int, grown_blocks: int) -> None:
        """A request is done: what it put out is kept behind its prompt, while there is room."""
        if request in self._shared:
            tail = self._book.tail(request)
            ids, ends = self._book.segments(request)
            mine = self._shared[request]
            if tail is not None and len(mine) == len(ids):
                segment, end = tail
                self.own[request] += grown_blocks
                grown_blocks = 0
                start = ends[-1] if ends else 0
                self._add(request, mine, [segment], [end], start)
        self.leave(request, grown_blocks)
