"""Acceptance paths: how many tokens each verify step of a request commits, drawn before the request runs.

The uniform of a round belongs to (seed, replication, request, round); the accepted count is its inverse distribution:
the number of positions whose survival lies above it. So two deployments, or two values of K, see the same luck.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.streams import request_bits, round_uniforms

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PathChunk:
    """Paths of consecutive requests, end to end in flat arrays."""

    first: list[int]
    """Start of each request's path in the flat arrays."""
    num_steps: list[int]
    """Verify steps of each request."""
    emitted: NDArray[np.int32]
    """Tokens that each step puts out, the last one cut at the output length."""
    new_blocks: NDArray[np.int32]
    """KV blocks that each step needs beyond those of the step before (the prompt's, for the first)."""
    committed_tokens: Ints
    """Tokens committed before the cut, by request."""
    put_out: list[int]
    """Tokens that each path puts out."""
    blocks: list[int]
    """KV blocks that each path needs beyond its prompt's."""
    rows: list[int] = field(default_factory=list)
    """Row of each request among all rows of survival, where its path is not drawn."""
    rounds: list[int] = field(default_factory=list)
    """Start of each request's rounds, as many as it can take, in the following."""
    accepted: NDArray[np.int8] | None = None
    """Draft tokens that each round's uniform accepts, of K."""


@dataclass(frozen=True, slots=True)
class PathPlanner:
    """Draws paths for one deployment."""

    draft_tokens: int
    """Draft tokens that a step verifies per sequence, as many as take KV."""
    survival: tuple[Floats, ...]
    """By class and, within it, range of prompt lengths: [groups, depth] survival of each group of requests."""
    key: np.uint64
    block_tokens: int
    block_counts: Ints
    """Blocks that a sequence takes, by the number of token blocks that it fills; the last entry is for the longest."""
    reserved: bool = False
    """Whether all blocks of a sequence are there before it runs, so that no step needs more."""
    drafted_tokens: tuple[float, ...] = ()
    """By class and range: draft tokens that a step proposes, mean; empty: as many as it verifies."""
    weights: tuple[Floats, ...] = ()
    """By class and range: share of its requests in each group; empty: equally many in each."""
    context_edges: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Prompt lengths at which the next range begins, rising."""
    drawn: bool = True
    """Whether draft tokens are known beforehand; else only what each round would accept of K is drawn."""

    def drafted(self, steps: Ints, classes: Ints, prompts: Ints) -> Ints | Floats:
        """Draft tokens that requests of these classes and prompts propose in so many steps, expected."""
        each = np.array(self.drafted_tokens or [self.draft_tokens] * len(self.survival))
        return np.asarray(steps * each[self._tables(classes, prompts)])

    def plan(self, requests: Ints, prompts: Ints, outputs: Ints, classes: Ints) -> PathChunk:
        """Paths of whole requests: outputs − 1 tokens after the one that the prompt's step puts out."""
        bits = request_bits(self.key, requests)
        needed = outputs - 1
        if self.draft_tokens == 0:
            return self._finish(np.ones(int(needed.sum()), np.int64), needed, needed, prompts)
        table, rows = self._rows(bits, classes, prompts)
        if not self.drawn:
            commits, none = self._draw(bits, table, rows, needed, needed)[0], np.zeros_like(needed)
            starts = (np.cumsum(needed) - needed).tolist()
            empty = self._finish(none[:0], none, none, prompts)
            return replace(empty, rows=rows.tolist(), accepted=(commits - 1).astype(np.int8), rounds=starts)
        return self._finish(*self._draw_all(bits, table, rows, needed), prompts, needed)

    def steps(self, requests: Ints, prompts: Ints, outputs: Ints, classes: Ints) -> tuple[Ints, Ints]:
        """Verify steps of the same whole requests, and the tokens that these commit before the cut."""
        needed = outputs - 1
        if self.draft_tokens == 0:
            return needed, needed
        bits = request_bits(self.key, requests)
        commits, lengths, num_steps = self._draw_all(bits, *self._rows(bits, classes, prompts), needed)
        total = np.concatenate(([0], np.cumsum(commits)))
        starts = np.cumsum(lengths) - lengths
        return num_steps, total[starts + num_steps] - total[starts]

    def replan(
        self, request: int, prompt: int, remaining: int, class_index: int, from_round: int, own_prompt: int
    ) -> PathChunk:
        """Path of the rest of one request, whose first rounds are over, after its KV was given up.

        prompt: what is computed again; own_prompt: what the request came with, which its acceptance goes by. [tokens]
        """
        if self.draft_tokens == 0:
            return self._finish(np.ones(remaining, np.int64), *(np.array([x]) for x in (remaining, remaining, prompt)))
        bits = request_bits(self.key, np.array([request]))
        table, rows = self._rows(bits, np.array([class_index]), np.array([own_prompt]))
        guess = needed = np.array([remaining])
        commits, _, num_steps = self._draw(bits, table, rows, guess, needed, from_round)
        return self._finish(commits, guess, num_steps, np.array([prompt]), needed)

    def rows(self, requests: Ints, classes: Ints, prompts: Ints) -> Ints:
        """Row of each request among all rows of survival."""
        return self._rows(request_bits(self.key, requests), classes, prompts)[1]

    def _rows(self, bits: NDArray[np.uint64], classes: Ints, prompts: Ints) -> tuple[Floats, Ints]:
        """All survival rows, and the row of each request: by class, prompt and, from round 0's uniform, group."""
        groups = np.array([len(t) for t in self.survival])
        starts = np.cumsum(groups) - groups
        own = self._tables(classes, prompts)
        uniforms = round_uniforms(bits, np.zeros(1, np.int64))
        mine = (uniforms * groups[own]).astype(np.int64)
        for table in np.unique(own) if self.weights else ():
            here = own == table
            mine[here] = np.searchsorted(np.cumsum(self.weights[table])[:-1], uniforms[here], side="right")
        return np.concatenate(self.survival), starts[own] + mine

    def _tables(self, classes: Ints, prompts: Ints) -> Ints:
        """Table of each request: its class, and within it the range of its prompt."""
        if not self.context_edges.size:
            return classes
        return classes * (self.context_edges.size + 1) + np.searchsorted(self.context_edges, prompts, side="right")

    def _draw_all(self, bits: NDArray[np.uint64], table: Floats, rows: Ints, needed: Ints) -> tuple[Ints, Ints, Ints]:
        """Commits of enough rounds, how many these are per request, and how many of them it needs."""
        mean = 1.0 + table.sum(axis=1)[rows]
        guess = np.minimum(np.ceil(needed / mean * 1.2 + 8.0).astype(np.int64), needed)
        while True:
            commits, short, num_steps = self._draw(bits, table, rows, guess, needed)
            if not short.any():
                return commits, guess, num_steps
            guess = np.where(short, np.minimum(guess * 2, needed), guess)

    def _draw(
        self, bits: NDArray[np.uint64], table: Floats, rows: Ints, lengths: Ints, needed: Ints,
        from_round: int = 0,
    ) -> tuple[Ints, NDArray[np.bool_], Ints]:  # fmt: skip
        """Commits of `lengths` rounds per request; which requests need more rounds; steps that each needs."""
        ends = np.cumsum(lengths)
        starts = ends - lengths
        nth = np.arange(ends[-1]) - np.repeat(starts, lengths) + (1 + from_round)
        uniforms = round_uniforms(np.repeat(bits, lengths), nth)
        commits = np.ones(uniforms.size, np.int64)
        for position in range(table.shape[1]):
            column = table[:, position]
            limit = column[0] if len(column) == 1 else np.repeat(column[rows], lengths)
            commits += uniforms < limit
        total = np.concatenate(([0], np.cumsum(commits)))
        last = np.searchsorted(total, total[starts] + needed) - 1
        short = (last >= ends) & (needed > 0)
        return commits, short, np.where(needed > 0, last - starts + 1, 0)

    def _finish(
        self, commits: Ints, lengths: Ints, num_steps: Ints, prompts: Ints, needed: Ints | None = None
    ) -> PathChunk:
        """Cut each path at its last step, and find the blocks that each step needs."""
        if needed is None:
            needed = num_steps
        starts = np.cumsum(lengths) - lengths
        nth = np.arange(commits.size) - np.repeat(starts, lengths)
        if not np.array_equal(lengths, num_steps):
            kept = nth < np.repeat(num_steps, lengths)
            commits, nth = commits[kept], nth[kept]
        first = np.cumsum(num_steps) - num_steps
        running = np.concatenate(([0], np.cumsum(commits)))
        before = running[:-1] - np.repeat(running[first], num_steps)
        committed = running[first + num_steps] - running[first]
        emitted = commits.astype(np.int32)
        has_steps = num_steps > 0
        emitted[(first + num_steps - 1)[has_steps]] -= (committed - needed)[has_steps].astype(np.int32)
        new_blocks = self._new_blocks(prompts, num_steps, before, nth)
        taken = np.concatenate(([0], np.cumsum(new_blocks)))
        return PathChunk(
            first=first.tolist(),
            num_steps=num_steps.tolist(),
            emitted=emitted,
            new_blocks=new_blocks,
            committed_tokens=committed,
            put_out=needed.tolist(),
            blocks=(taken[first + num_steps] - taken[first]).tolist(),
        )

    def _new_blocks(self, prompts: Ints, num_steps: Ints, before: Ints, nth: Ints) -> NDArray[np.int32]:
        """Blocks each step adds: it holds the prompt, what was committed before, the last token and K drafts."""
        if self.reserved:
            return np.zeros(before.size, np.int32)
        slots = np.repeat(prompts, num_steps) + before + (self.draft_tokens + 1)
        blocks = self.blocks(slots)
        new = np.diff(blocks, prepend=0)
        starts = nth == 0
        new[starts] = blocks[starts] - self.blocks(prompts)[num_steps > 0]
        return new.astype(np.int32)

    def blocks(self, slots: Ints) -> Ints:
        """KV blocks of sequences that fill so many slots."""
        filled: Ints = (slots + (self.block_tokens - 1)) // self.block_tokens
        return self.block_counts[np.minimum(filled, self.block_counts.size - 1)]
