"""The book of all requests of a run: what each is, its drawn path, and when things happened to it."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import RequestColumns
from simulator.cluster.traffic import RequestChunk

NAN = float("nan")

Ints = NDArray[np.int64]


class RequestBook:
    """Columns over request numbers, grown chunk by chunk as requests arrive.

    Prompt, output and path are known to the book; schedulers and routers are only ever handed prompt lengths.
    """

    def __init__(
        self,
        chunks: Iterator[RequestChunk],
        planner: PathPlanner,
        max_model_len: int,
        longest_prompt: int,
        limit: int | None,
        max_output_tokens: int | None = None,
    ) -> None:
        self._chunks, self._planner, self._limit = chunks, planner, limit
        self._max_model_len, self._longest_prompt, self._max_output = max_model_len, longest_prompt, max_output_tokens
        self.size = 0
        self.arrival_s, self.scheduled_s, self.first_token_s, self.finish_s = (array("d") for _ in range(4))
        self.replica = array("i")
        self.preemptions = array("i")
        self.cached_tokens = array("q")
        self.prompt_tokens = array("i")
        self.output_tokens = array("i")
        self.num_steps = array("i")
        self.class_index = array("i")
        self.emitted: dict[int, NDArray[np.int32]] = {}
        self.new_blocks: dict[int, NDArray[np.int32]] = {}
        self.path_tokens = array("i")
        """Tokens that the path of each request puts out."""
        self.path_blocks = array("i")
        """KV blocks that it needs beyond its prompt's."""
        self.committed_tokens = array("q")
        self.drafted_tokens: array[int] | None = None if planner.drawn else array("q")
        """Draft tokens proposed for each request, where that is not known beforehand."""
        self.survival_row = array("i")
        """Row of survival of each request, where paths are not drawn beforehand; and then also:"""
        self.accepted: dict[int, NDArray[np.int8]] = {}
        """What each round of a request would accept of K draft tokens."""
        self.rejected, self.truncated = set[int](), set[int]()
        self._past_steps: dict[int, int] = {}
        self._past_committed: dict[int, int] = {}
        self.priority = array("i")
        self._think_s = array("d")
        self._segments: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def grow(self) -> bool:
        """Add a chunk; False when there are no more requests."""
        chunk = next(self._chunks, None)
        room = None if self._limit is None else self._limit - self.size
        if chunk is None or room == 0:
            return False
        keep = slice(0, room)
        prompts, wanted, classes = chunk.prompt_tokens[keep], chunk.output_tokens[keep], chunk.class_index[keep]
        rejected = prompts > self._longest_prompt
        longest = self._max_model_len - prompts
        longest = longest if self._max_output is None else np.minimum(longest, self._max_output)
        outputs = np.where(rejected, 1, np.minimum(wanted, longest))
        count, first = prompts.size, self.size
        self.rejected.update((first + np.flatnonzero(rejected)).tolist())
        self.truncated.update((first + np.flatnonzero(~rejected & (outputs < wanted))).tolist())
        self._plan(prompts, outputs, classes)
        self.arrival_s.extend(chunk.arrival_s[keep].tolist())
        self.prompt_tokens.extend(prompts.tolist())
        self.output_tokens.extend(outputs.tolist())
        self.class_index.extend(classes.tolist())
        self.priority.extend([0] * count if chunk.priority is None else chunk.priority[keep].tolist())
        self._think_s.extend([NAN] * count if chunk.think_s is None else chunk.think_s[keep].tolist())
        if chunk.block_ids is not None:
            self._segments += _segments(chunk, count)
        self._leave_blank(count)
        self.size += count
        return True

    def _plan(self, prompts: Ints, outputs: Ints, classes: Ints) -> None:
        """Draw the paths of the requests that come next."""
        first, count = self.size, prompts.size
        paths = self._planner.plan(np.arange(first, first + count), prompts, outputs, classes)
        ends = [start + steps for start, steps in zip(paths.first, paths.num_steps, strict=True)]
        for request, start, end in zip(range(first, first + count), paths.first, ends, strict=True):
            self.emitted[request] = paths.emitted[start:end]
            self.new_blocks[request] = paths.new_blocks[start:end]
        self.num_steps.extend(paths.num_steps)
        self.path_tokens.extend(paths.put_out)
        self.path_blocks.extend(paths.blocks)
        self.committed_tokens.extend(paths.committed_tokens.tolist())
        self.survival_row.extend(paths.rows)
        if self.drafted_tokens is None or paths.accepted is None:
            return
        self.drafted_tokens.extend([0] * count)
        for request, start, needed in zip(
            range(first, first + count), paths.rounds, (outputs - 1).tolist(), strict=True
        ):
            self.accepted[request] = paths.accepted[start : start + needed]

    def _leave_blank(self, count: int) -> None:
        """Room for what will happen to the requests that come next."""
        blank = [NAN] * count
        for column in (self.scheduled_s, self.first_token_s, self.finish_s):
            column.extend(blank)
        self.replica.extend([-1] * count)
        self.preemptions.extend([0] * count)
        self.cached_tokens.extend([0] * count)

    @property
    def shares_prefixes(self) -> bool:
        """Whether prompts name their segments, so that a prefix cache can be of use."""
        return bool(self._segments)

    def think_s(self, request: int) -> float | None:
        """Seconds from the end of the request before to this one, if it is the next turn of a session."""
        if request >= self.size and not self.grow():
            return None
        think = self._think_s[request]
        return think if think == think else None

    def segments(self, request: int) -> tuple[list[int], list[int]]:
        """Segments of a prompt, and prompt tokens up to the end of each; none where prompts have nothing in common."""
        if not self._segments:
            return [], []
        ids, ends = self._segments[request]
        return ids.tolist(), ends.tolist()

    def tail(self, request: int) -> tuple[int, int]:
        """Segment of the rest of a prompt and its output, and the tokens up to its end (the last one has no KV).

        Its id is the request's number, which the next turn of its session names.
        """
        return request, self.prompt_tokens[request] + self.output_tokens[request] - 1

    def note_start(self, chunks: Iterable[tuple[int, ...]], time_s: float) -> None:
        """A step begins that computes these chunks, each of which names its request first."""
        scheduled = self.scheduled_s
        for request, *_ in chunks:
            if scheduled[request] != scheduled[request]:
                scheduled[request] = time_s

    def forget_path(self, request: int) -> None:
        """Drop the path of a finished request, so that memory does not grow with the run."""
        del self.emitted[request], self.new_blocks[request]

    def end_path(self, request: int, steps: int, drafted_tokens: int, committed_tokens: int) -> None:
        """A request is done whose path nobody knew beforehand."""
        assert self.drafted_tokens is not None
        self.num_steps[request], self.committed_tokens[request] = steps, committed_tokens
        self.drafted_tokens[request] = drafted_tokens
        del self.accepted[request]
        self.forget_path(request)

    def restart_path(self, request: int, prompt: int, done_steps: int) -> int:
        """Plan the rest of a request whose KV is given up after some steps; returns the prompt to compute again.

        The new prompt holds all that was put out so far. Computing it puts out one more token, as the first prompt
        did, and the path goes on behind that token, with the uniforms of the rounds that follow.
        """
        emitted = self.emitted[request]
        done_tokens = int(emitted[:done_steps].sum())
        rest = int(emitted[done_steps:].sum()) - 1
        rounds = self._past_steps.get(request, 0) + done_steps
        again = prompt + done_tokens + 1
        class_index, own_prompt = self.class_index[request], self.prompt_tokens[request]
        path = self._planner.replan(request, again, rest, class_index, rounds, own_prompt)
        self._past_steps[request] = rounds
        self._past_committed[request] = self._past_committed.get(request, 0) + done_tokens
        self.emitted[request], self.new_blocks[request] = path.emitted, path.new_blocks
        self.num_steps[request] = path.num_steps[0]
        self.path_tokens[request], self.path_blocks[request] = rest, path.blocks[0]
        self.committed_tokens[request] = self._past_committed[request] + int(path.committed_tokens[0])
        self.preemptions[request] += 1
        return again

    def suspend_path(self, request: int, done_steps: int) -> None:
        """Cut the steps that a request has taken off its path; it goes on behind them when its KV is back."""
        self._past_steps[request] = self._past_steps.get(request, 0) + done_steps
        self.emitted[request] = self.emitted[request][done_steps:]
        self.new_blocks[request] = self.new_blocks[request][done_steps:]
        self.num_steps[request] -= done_steps
        self.path_tokens[request] = int(self.emitted[request].sum())
        self.path_blocks[request] = int(self.new_blocks[request].sum())
        self.preemptions[request] += 1

    def columns(self, came: NDArray[np.int64], planner: PathPlanner) -> RequestColumns:
        """The requests that have come, in the order of their arrival, as columns."""
        steps = np.array(self.num_steps)
        for request, past in self._past_steps.items():
            steps[request] += past
        flags = np.zeros((2, self.size), np.bool_)
        flags[0, list(self.rejected)] = True
        flags[1, list(self.truncated)] = True
        in_order = came.size == 0 or bool((came == np.arange(came.size)).all())
        index: Any = slice(0, came.size) if in_order else came

        def column(values: Any) -> Any:
            return np.asarray(values)[index]

        steps, committed, classes = column(steps), column(self.committed_tokens), column(self.class_index)
        prompts = column(self.prompt_tokens)
        known = self.drafted_tokens
        drafted = planner.drafted(steps, classes, prompts) if known is None else column(known)
        return RequestColumns(
            arrival_s=column(self.arrival_s),
            scheduled_s=column(self.scheduled_s),
            first_token_s=column(self.first_token_s),
            finish_s=column(self.finish_s),
            prompt_tokens=prompts,
            output_tokens=column(self.output_tokens),
            class_index=classes,
            replica=column(self.replica),
            steps=steps,
            drafted_tokens=drafted,
            committed_tokens=committed,
            accepted_tokens=committed - steps,
            preemptions=column(self.preemptions),
            cached_tokens=column(self.cached_tokens),
            rejected=column(flags[0]),
            truncated=column(flags[1]),
        )


def _segments(chunk: RequestChunk, count: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Ids and ends of the segments of a chunk's prompts."""
    assert chunk.block_ids is not None
    if chunk.block_ends is not None:
        return list(zip(chunk.block_ids[:count], chunk.block_ends[:count], strict=True))
    size = chunk.block_tokens
    return [
        (_BLOCKS_OF_TRACE + ids, np.minimum(np.arange(1, ids.size + 1) * size, prompt))
        for ids, prompt in zip(chunk.block_ids[:count], chunk.prompt_tokens[:count].tolist(), strict=True)
    ]


_BLOCKS_OF_TRACE = 2**41
"""Added to the block ids of a trace, so that they are not taken for the numbers of requests."""
