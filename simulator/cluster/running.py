"""The sequences that run on a replica whose draft tokens may change: where each stands, and what its next steps bring.

What a round accepts of K draft tokens is drawn before a request runs, by the round's own uniform; a step commits one
token, and of those that round's what it proposed. A window holds the next steps under the draft tokens that were
chosen. It stays for as long as they do; who comes in the meantime is added to it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.paths import PathPlanner

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FAR_AHEAD = 64
"""Most steps of a window."""

_STEPS = np.arange(FAR_AHEAD + 1)
_NONE = np.zeros(0, np.int64)

FIELDS = 17
(
    REQUEST, ROW, LEFT, BLOCKS, NEED, COUNT, JOINED, DRAFTED, MISSED, CHOSEN, SEEN, FIRST_BLOCKS, FIRST_LEFT,
    AT, ROUNDS, SLOTS, COMMITTED,
) = range(FIELDS)  # fmt: skip
"""Columns of the table, as of the window's start: request; its row of survival; tokens to put out; blocks held, and
blocks that the next step needs beyond them; draft tokens that it has now; step of the window in which it came; draft
tokens proposed so far; committed tokens that its draft has not read; candidate of a policy, and whether it was seen by
one; blocks held and tokens to put out when it began to run here; where its next round stands among all rounds, and
verify steps taken; KV slots that its next step begins with, and tokens committed so far."""
_STEPPED, _GREW = slice(AT, ROUNDS + 1), slice(SLOTS, COMMITTED + 1)


class Stopped(NamedTuple):
    """What is kept of a sequence that no longer runs."""

    columns: list[int]
    ema: float

    @property
    def put_out(self) -> int:
        """Tokens that it put out since it began to run."""
        return self.columns[FIRST_LEFT] - self.columns[LEFT]

    @property
    def grown(self) -> int:
        """KV blocks that it took since then."""
        return self.columns[BLOCKS] - self.columns[FIRST_BLOCKS]


class Running:
    """A table of the sequences, one column each, in no order, and the window."""

    def __init__(self, planner: PathPlanner) -> None:
        """planner: knows survival and KV blocks."""
        self._planner = planner
        self._reserved = planner.reserved
        blocks = planner.blocks(np.arange(planner.block_counts.size * planner.block_tokens + planner.draft_tokens + 2))
        self.prompt_blocks: list[int] = blocks.tolist()
        """By tokens of a prompt, KV blocks."""
        self._blocks_at = blocks[planner.draft_tokens + 1 :]
        """By KV slots filled, blocks of a sequence that decodes: those, the last token and K draft tokens."""
        self.survival = np.concatenate(planner.survival)
        """[rows, positions]"""
        self._table = np.zeros((FIELDS, 16), np.int64)
        self._committed = np.zeros((16, FAR_AHEAD), np.int64)
        self._blocks = np.zeros((16, FAR_AHEAD), np.int64)
        self._ema = np.zeros(16)
        self._accepted = np.zeros(2**14, np.int64)
        self._end = 0
        self._place: dict[int, int] = {}
        self.taken, self.width = 0, 0
        """Steps of the window that have been taken, and in all."""
        self.size = 0
        """Sequences that run."""
        self.planned = 0
        """How many of them are in the window."""
        self._behind = self._joined = False
        self.emitted = _NONE
        """[width] tokens that all put out."""
        self.new_blocks = np.zeros(1, np.int64)
        """[width, at least 1] blocks that all need for a step beyond those of the step before."""

    def column(self, field: int) -> Ints:
        """A column of all sequences; writing to it changes them."""
        return self._table[field, : self.size]

    @property
    def missed_tokens(self) -> int:
        """Committed tokens that drafts have not read, all together; as of the window's start."""
        return int(self.column(MISSED).sum()) if self._behind else 0

    @property
    def ema(self) -> Floats:
        """Running mean of accepted draft tokens of each; writing to it changes them."""
        return self._ema[: self.size]

    def add(self, came: Stopped, accepted: NDArray[np.int8]) -> bool:
        """Let a sequence run, whose rounds would accept so many of K; whether it has any step to take."""
        at = self.size
        if at == self._ema.size:
            self._grow()
        columns = came.columns.copy()
        rounds, left, blocks = columns[ROUNDS], columns[LEFT], columns[BLOCKS]
        need = 0 if self._reserved or not left else int(self._blocks_at[columns[SLOTS]]) - blocks
        columns[AT] = self._keep(accepted[rounds : rounds + left])
        columns[JOINED], columns[NEED], columns[FIRST_BLOCKS], columns[FIRST_LEFT] = self.taken, need, blocks, left
        self._table[:, at], self._ema[at] = columns, came.ema
        self._joined = self._joined or self.taken > 0
        self._place[columns[REQUEST]] = at
        self.size = at + 1
        self.new_blocks[self.taken] += need
        return left > 0

    def remove(self, request: int) -> Stopped:
        """Take a sequence out that has taken its last step, or once the window is settled; what it was."""
        at, last = self._place.pop(request), self.size - 1
        columns: list[int] = self._table[:, at].tolist()
        if steps := self.taken - columns[JOINED]:
            committed = int(self._committed[at, self.taken - 1])
            columns[ROUNDS] += steps
            columns[LEFT] = max(columns[LEFT] - committed, 0)
            columns[BLOCKS] = int(self._blocks[at, self.taken - 1])
            columns[DRAFTED] += columns[COUNT] * steps
            columns[COMMITTED] += committed
        found = Stopped(columns, float(self._ema[at]))
        if at < self.planned:
            self.planned -= 1
            self._move(self.planned, at)
            at = self.planned
        self._move(last, at)
        self.size = last
        return found

    def _move(self, at: int, to: int) -> None:
        """Put a sequence in another's place."""
        if at != to:
            self._table[:, to], self._ema[to] = self._table[:, at], self._ema[at]
            if at < self.planned or self.width:
                self._committed[to], self._blocks[to] = self._committed[at], self._blocks[at]
            self._place[int(self._table[REQUEST, to])] = to

    def plan(self, draft_tokens: Ints, width: int) -> list[tuple[int, int]]:
        """Begin a window of so many steps, with these draft tokens; step in which sequences end in it, and which."""
        table = self._table[:, : self.size]
        table[COUNT] = draft_tokens
        self.width, self.planned = width, self.size
        if width == 1:
            return self._plan_one(table)
        found = self._accepted.take(table[AT][:, None] + _STEPS[:width])
        committed = np.add.accumulate(np.minimum(found, draft_tokens[:, None]), axis=1)
        committed += _STEPS[1 : width + 1]
        self._committed[: self.size, :width] = committed
        left = table[LEFT]
        ends = (committed[:, -1] >= left).nonzero()[0].tolist()
        going = committed < left[:, None] if ends else None
        put_out = np.add.reduce(np.minimum(committed, left[:, None]) if ends else committed)
        self.emitted = put_out.copy()
        np.subtract(put_out[1:], put_out[:-1], out=self.emitted[1:])
        self._hold(table, committed, going)
        return [(int(committed[i].searchsorted(left[i])) + 1, int(table[REQUEST, i])) for i in ends]

    def _hold(self, table: Ints, committed: Ints, going: NDArray[np.bool_] | None) -> None:
        """Blocks of the sequences in each step: it holds what was committed, the last token and K draft tokens."""
        need, self.new_blocks = self.new_blocks[0], np.zeros(self.width, np.int64)
        self.new_blocks[0] = need
        blocks = self._blocks[: self.size, : self.width]
        if self._reserved:
            blocks[:] = table[BLOCKS][:, None]
            return
        blocks[:, 0] = table[BLOCKS] + table[NEED]
        blocks[:, 1:] = self._blocks_at.take(table[SLOTS][:, None] + committed[:, :-1], mode="clip")
        more = blocks[:, 1:] - blocks[:, :-1]
        if going is not None:
            more *= going[:, :-1]
        self.new_blocks[1:] = np.add.reduce(more)

    def _plan_one(self, table: Ints) -> list[tuple[int, int]]:
        """The same for one step."""
        committed, left = np.minimum(self._accepted.take(table[AT]), table[COUNT]) + 1, table[LEFT]
        self._committed[: self.size, 0], self._blocks[: self.size, 0] = committed, table[BLOCKS] + table[NEED]
        self.emitted, self.new_blocks = np.add.reduce(np.minimum(committed, left), keepdims=True), self.new_blocks[:1]
        return [(1, request) for request in table[REQUEST][committed >= left].tolist()]

    def extend(self, draft_tokens: Ints) -> list[tuple[int, int]]:
        """Add to the window who came since it began; the same of them."""
        ends, came = [], draft_tokens[self.planned :].tolist()
        for at, k in enumerate(came, start=self.planned):
            ends += self._extend_by(at, k)
        self.planned = self.size
        return ends

    def _extend_by(self, at: int, draft_tokens: int) -> list[tuple[int, int]]:
        self._table[COUNT, at] = draft_tokens
        columns = self._table[:, at].tolist()
        first, left, now = columns[AT], columns[LEFT], slice(self.taken, self.width)
        commits = np.minimum(self._accepted[first : first + self.width - self.taken], draft_tokens) + 1
        committed = np.add.accumulate(commits)
        self._committed[at, now] = committed
        end = int(committed.searchsorted(left))
        if end < commits.size:
            commits[end] -= int(committed[end]) - left
        self.emitted[now][: end + 1] += commits[: end + 1]
        blocks = self._blocks[at, now]
        blocks[:] = columns[BLOCKS] + columns[NEED]
        if not self._reserved:
            blocks[1:] = self._blocks_at.take(columns[SLOTS] + committed[:-1], mode="clip")
        self.new_blocks[now][1 : end + 1] += blocks[1 : end + 1] - blocks[:-1][:end]
        return [(self.taken + end + 1, columns[REQUEST])] if end < commits.size else []

    def accept(self, draft_tokens: NDArray[np.int8]) -> None:
        """Let the round to come of each sequence accept so many; no window may have begun."""
        self._accepted[self.column(AT)] = draft_tokens

    def recent(self) -> tuple[Ints, Ints]:
        """[sequences, steps taken] draft tokens accepted in the window so far, 0 before one came; steps of each."""
        committed = self._committed[: self.size, : self.taken]
        steps = self.taken - self.column(JOINED)
        took = np.arange(self.taken) >= self.column(JOINED)[:, None]
        return np.where(took, np.diff(np.where(took, committed, 0), axis=1, prepend=0) - 1, 0), steps

    def settle(self) -> None:
        """End the window: the table as of now."""
        table, at = self._table[:, : self.size], self.taken
        if at:
            steps: Ints | int = at
            committed, blocks = self._committed[: self.size, at - 1], self._blocks[: self.size, at - 1]
            if self._joined:
                steps = at - table[JOINED]
                took = steps > 0
                committed, blocks = committed * took, np.where(took, blocks, table[BLOCKS])
                table[JOINED] = 0
            self._settle_missed(committed)
            for fields, more in ((_STEPPED, steps), (_GREW, committed), (DRAFTED, table[COUNT] * steps)):
                np.add(table[fields], more, out=table[fields])
            np.maximum(table[LEFT] - committed, 0, out=table[LEFT])
            if not self._reserved:
                table[BLOCKS] = blocks
                needed = self._blocks_at.take(table[SLOTS], mode="clip") - blocks
                np.multiply(needed, table[LEFT] > 0, out=table[NEED])
        self.taken, self.width, self.planned, self._joined = 0, 0, 0, False
        self.emitted, self.new_blocks = _NONE, np.add.reduce(table[NEED : NEED + 1], axis=1)

    def _settle_missed(self, committed: Ints) -> None:
        """Tokens that the drafts have not read; of a sequence that took no step, as many as before."""
        table = self._table[:, : self.size]
        if self._behind or not np.logical_and.reduce(table[COUNT]):
            read = (committed > 0) & (table[COUNT] > 0)
            table[MISSED] = np.where(read, 0, table[MISSED] + committed)
            self._behind = bool(table[MISSED].any())

    def _keep(self, accepted: NDArray[np.int8]) -> int:
        """Where what the rounds of a sequence accept is kept; beyond its end a window may look, and counts nothing."""
        if self._end + accepted.size + FAR_AHEAD > self._accepted.size:
            self._compact(accepted.size)
        at, self._end = self._end, self._end + accepted.size
        self._accepted[at : self._end] = accepted
        return at

    def _compact(self, more: int) -> None:
        """Drop the rounds of those that have gone, with room for as many more."""
        parts, table = [], self._table[:, : self.size]
        end = 0
        for i, (at, left) in enumerate(table[[AT, LEFT]].T.tolist()):
            parts.append(self._accepted[at : at + left])
            table[AT, i] = end
            end += left
        size = self._accepted.size
        while size < 2 * (end + more + FAR_AHEAD):
            size *= 2
        self._accepted = np.zeros(size, np.int64)
        self._accepted[:end] = np.concatenate(parts) if parts else 0
        self._end = end

    def _grow(self) -> None:
        """Room for twice as many."""
        self._table = np.concatenate((self._table, np.zeros_like(self._table)), axis=1)
        for name in ("_committed", "_blocks", "_ema"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate((old, np.zeros_like(old))))


def fresh(request: int, row: int, output_tokens: int, prompt_tokens: int, blocks: int) -> Stopped:
    """A request whose prompt has been computed, before its first verify step."""
    columns = [0] * FIELDS
    columns[REQUEST], columns[ROW], columns[LEFT] = request, row, output_tokens - 1
    columns[SLOTS], columns[BLOCKS] = prompt_tokens, blocks
    return Stopped(columns, 0.0)


def computed_again(stopped: Stopped, prompt_tokens: int, blocks: int) -> Stopped:
    """A request whose KV was given up: computing its prompt again puts out one token, and its rounds go on."""
    columns = stopped.columns.copy()
    columns[LEFT] -= 1
    columns[SLOTS], columns[BLOCKS], columns[MISSED] = prompt_tokens, blocks, 0
    return Stopped(columns, stopped.ema)
