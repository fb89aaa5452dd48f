"""The book of all requests of a run: what each is, its drawn path, and when things happened to it."""

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import RequestColumns
from simulator.cluster.traffic import RequestChunk

NAN = float("nan")


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
    ) -> None:
        self._chunks = chunks
        self._planner = planner
        self._max_model_len = max_model_len
        self._longest_prompt = longest_prompt
        self._limit = limit
        self.size = 0
        self.arrival_s = array("d")
        self.scheduled_s = array("d")
        self.first_token_s = array("d")
        self.finish_s = array("d")
        self.replica = array("i")
        self.preemptions = array("i")
        self.prompt_tokens: list[int] = []
        self.output_tokens: list[int] = []
        self.num_steps: list[int] = []
        self.class_index: list[int] = []
        self.emitted: list[NDArray[np.int32]] = []
        self.new_blocks: list[NDArray[np.int32]] = []
        self.committed_tokens = array("q")
        self.rejected: set[int] = set()
        self.truncated: set[int] = set()
        self._past_steps: dict[int, int] = {}
        self._past_committed: dict[int, int] = {}

    def grow(self) -> bool:
        """Add a chunk; False when there are no more requests."""
        chunk = next(self._chunks, None)
        room = None if self._limit is None else self._limit - self.size
        if chunk is None or room == 0:
            return False
        keep = slice(0, room)
        prompts, wanted, classes = chunk.prompt_tokens[keep], chunk.output_tokens[keep], chunk.class_index[keep]
        rejected = prompts > self._longest_prompt
        outputs = np.where(rejected, 1, np.minimum(wanted, self._max_model_len - prompts))
        count, first = prompts.size, self.size
        self.rejected.update((first + np.flatnonzero(rejected)).tolist())
        self.truncated.update((first + np.flatnonzero(~rejected & (outputs < wanted))).tolist())
        paths = self._planner.plan(np.arange(first, first + count), prompts, outputs, classes)
        ends = [start + steps for start, steps in zip(paths.first, paths.num_steps, strict=True)]
        self.emitted += [paths.emitted[a:b] for a, b in zip(paths.first, ends, strict=True)]
        self.new_blocks += [paths.new_blocks[a:b] for a, b in zip(paths.first, ends, strict=True)]
        self.num_steps += paths.num_steps
        self.committed_tokens.extend(paths.committed_tokens.tolist())
        self.arrival_s.extend(chunk.arrival_s[keep].tolist())
        self.prompt_tokens += prompts.tolist()
        self.output_tokens += outputs.tolist()
        self.class_index += classes.tolist()
        blank = [NAN] * count
        for column in (self.scheduled_s, self.first_token_s, self.finish_s):
            column.extend(blank)
        self.replica.extend([-1] * count)
        self.preemptions.extend([0] * count)
        self.size += count
        return True

    def forget_path(self, request: int) -> None:
        """Drop the path of a finished request, so that memory does not grow with the run."""
        self.emitted[request] = self.new_blocks[request] = _NO_STEPS

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
        path = self._planner.replan(request, again, rest, self.class_index[request], rounds)
        self._past_steps[request] = rounds
        self._past_committed[request] = self._past_committed.get(request, 0) + done_tokens
        self.emitted[request], self.new_blocks[request] = path.emitted, path.new_blocks
        self.num_steps[request] = path.num_steps[0]
        self.committed_tokens[request] = self._past_committed[request] + int(path.committed_tokens[0])
        self.preemptions[request] += 1
        return again

    def columns(self, arrived: int, draft_tokens: int) -> RequestColumns:
        """The requests that have arrived, as columns."""
        steps = np.asarray(self.num_steps, np.int64)
        for request, past in self._past_steps.items():
            steps[request] += past
        committed = np.asarray(self.committed_tokens, np.int64)
        flags = np.zeros((2, self.size), np.bool_)
        flags[0, list(self.rejected)] = True
        flags[1, list(self.truncated)] = True
        came = slice(0, arrived)
        return RequestColumns(
            arrival_s=np.asarray(self.arrival_s)[came],
            scheduled_s=np.asarray(self.scheduled_s)[came],
            first_token_s=np.asarray(self.first_token_s)[came],
            finish_s=np.asarray(self.finish_s)[came],
            prompt_tokens=np.asarray(self.prompt_tokens, np.int64)[came],
            output_tokens=np.asarray(self.output_tokens, np.int64)[came],
            class_index=np.asarray(self.class_index, np.int64)[came],
            replica=np.asarray(self.replica, np.int64)[came],
            steps=steps[came],
            drafted_tokens=steps[came] * draft_tokens,
            committed_tokens=committed[came],
            accepted_tokens=(committed - steps)[came],
            preemptions=np.asarray(self.preemptions, np.int64)[came],
            rejected=flags[0][came],
            truncated=flags[1][came],
        )


_NO_STEPS = np.empty(0, np.int32)
