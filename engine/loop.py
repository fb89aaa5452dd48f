"""The serving loop: requests in, tokens out, one step at a time.

A step is schedule, draft, verify, sample, commit. Requests come by a clock that is handed in.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from engine.batch import Batch, Branches, Span, branches_of, slots_at
from engine.drafters import Draft, Drafter
from engine.errors import RequestError
from engine.graphs import passes
from engine.judging import first_token, forced_verdict, verdict_on
from engine.kv_cache import BlockPool
from engine.measure import Marks, step_row
from engine.model import Model
from engine.policies import Fixed, Policy
from engine.scheduler import Limits, Plan, Scheduler
from engine.sequence import Emission, Request, SequenceState
from engine.synthetic import Forced
from engine.trace import StepRow
from engine.trees import widths_by_depth
from engine.verification import Typical, Verdict


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Size of the cache, and what bounds a batch."""

    kv_blocks: int
    limits: Limits
    block_tokens: int = 16
    draft_tokens: int = 0
    """Draft tokens K per step, all nodes of a tree, where a request does not say."""
    typical: Typical | None = None
    """Bounds of the lossy acceptance of sampled requests; None: lossless."""


class Engine:
    """A target, a drafter, a cache and a queue on one device."""

    def __init__(
        self,
        target: Model,
        options: EngineOptions,
        *,
        drafter: Drafter | None = None,
        rng: np.random.Generator | None = None,
        forced: Forced | None = None,
        policy: Policy | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Allocate the cache.

        rng: where sampled requests get their generators from.
        forced: acceptance forced from outside; then stop tokens are not heeded, and output is not the target's.
        policy: how many of its draft tokens a sequence gets in a step; None: all.
        """
        self.target, self.options, self.drafter = target, options, drafter
        self.rng, self.forced, self.clock = rng, forced, clock
        self.policy = policy or Fixed()
        self.pool = BlockPool(options.kv_blocks, options.block_tokens)
        self.store = target.new_store(options.kv_blocks, options.block_tokens)
        if drafter is not None:
            drafter.attach(target, self.store)
        self._pass = passes(target, self.store)
        self.scheduler = Scheduler(options.limits, self.pool)
        self.steps: list[StepRow] = []
        self.sequences: list[SequenceState] = []

    def submit(self, request: Request) -> SequenceState:
        """Queue a request, or say why it can never be served."""
        longest = self._check(request)
        sampled = not request.sampling.greedy
        if sampled and self.rng is None:
            raise RequestError("a sampled request needs an engine with a generator (rng)")
        if self.forced is not None:
            request = replace(request, stop_tokens=frozenset())
        draft_tokens = self.options.draft_tokens if request.draft_tokens is None else request.draft_tokens
        sequence = SequenceState(
            number=len(self.sequences),
            request=request,
            draft_tokens=draft_tokens if self.drafter is not None else 0,
            max_tokens=min(request.max_tokens, longest - len(request.prompt)),
            rng=self.rng.spawn(1)[0] if sampled and self.rng is not None else None,
            tokens=list(request.prompt),
            truncated=request.max_tokens > longest - len(request.prompt),
        )
        self.sequences.append(sequence)
        self.scheduler.add(sequence)
        return sequence

    def step(self, now_s: float | None = None) -> list[Emission]:
        """Take one step; the tokens that it put out.

        now_s: when it began, by the engine's clock; None: now.
        """
        marks = Marks(self.clock, now_s)
        plan = self._schedule()
        marks.planned_s = self.clock()
        drafts = self._draft(plan)
        marks.drafted_s = self.clock()
        batch = self._batch(plan, drafts)
        marks.laid_out_s = self.clock()
        logits = self._verify(batch)
        marks.verified_s = self.clock()
        verdicts, first_tokens = self._sample(plan, drafts, logits)
        marks.sampled_s = self.clock()
        marks.kv_blocks = self.pool.used
        emissions = self._commit(plan, drafts, verdicts, first_tokens, marks)
        self.steps.append(step_row(plan, drafts, verdicts, emissions, batch, marks))
        self.policy.observe(self.steps[-1])
        return emissions

    def run(self) -> Iterator[Emission]:
        """Take steps until nothing is left to do."""
        while not self.scheduler.idle():
            yield from self.step()
        self.pool.check_idle()

    # The parts of a step.

    def _schedule(self) -> Plan:
        plan = self.scheduler.schedule()
        for sequence in plan.preempted:
            self._forget(sequence)
        return plan

    def _draft(self, plan: Plan) -> list[Draft]:
        """Draft tokens of each decoding sequence; a forced acceptance gets as many as were asked for."""
        if self.drafter is None:
            return [Draft([]) for _ in plan.decoding]
        self.drafter.prefill(plan.chunks)
        longest = self.options.limits.max_model_len
        wanted = self.policy.counts(plan.decoding)
        counts = [min(count, longest - len(s.tokens)) for s, count in zip(plan.decoding, wanted, strict=True)]
        drafts = self.drafter.propose(plan.decoding, counts)
        if self.forced is None:
            return drafts
        return [
            Draft(d.tokens + [0] * (count - len(d.tokens))) if d.parents is None else d
            for d, count in zip(drafts, counts, strict=True)
        ]

    def _batch(self, plan: Plan, drafts: list[Draft]) -> Batch | None:
        """Rows of the target's pass: root and draft tokens of each sequence, then prompt chunks."""
        spans = [
            Span([s.tokens[-1], *d.tokens], len(s.tokens) - 1, s.table, len(d.tokens) + 1, _branches(s, d))
            for s, d in zip(plan.decoding, drafts, strict=True)
        ]
        spans += [
            Span(c.sequence.tokens[c.start : c.start + c.num_tokens], c.start, c.sequence.table, int(c.final))
            for c in plan.chunks
        ]
        if not spans:
            return None
        batch = self.target.batch(spans, self.store, len(plan.decoding))
        batch.clock = self.clock
        return batch

    def _verify(self, batch: Batch | None) -> Tensor:
        """The target's pass: logits behind each root and draft token, and behind each complete prompt."""
        if batch is None:
            return torch.empty(0, self.target.architecture.vocab_size)
        logits = self._pass(batch)
        if logits.is_cuda:
            torch.cuda.synchronize(logits.device)
        return logits

    def _sample(self, plan: Plan, drafts: list[Draft], logits: Tensor) -> tuple[list[Verdict], list[int]]:
        """Verdict on each decoding sequence, and the first token behind each complete prompt."""
        best: list[int] = logits.argmax(-1).tolist() if len(logits) else []
        verdicts, row = [], 0
        for sequence, draft in zip(plan.decoding, drafts, strict=True):
            end = row + len(draft.tokens) + 1
            verdicts.append(self._verdict(sequence, draft, best[row:end], logits[row:end]))
            row = end
        first_tokens = []
        for chunk in plan.chunks:
            if chunk.final:
                first_tokens.append(first_token(chunk.sequence, best[row], logits[row : row + 1]))
                row += 1
        return verdicts, first_tokens

    def _verdict(self, sequence: SequenceState, draft: Draft, best: Sequence[int], logits: Tensor) -> Verdict:
        if self.forced is not None:
            return forced_verdict(sequence, draft, best, self.forced)
        return verdict_on(sequence, draft, best, logits, self.options.typical)

    def _commit(
        self, plan: Plan, drafts: list[Draft], verdicts: list[Verdict], first_tokens: list[int], marks: Marks
    ) -> list[Emission]:
        """Append tokens, roll the cache back to them, and let sequences join and leave."""
        emissions = []
        self._compact(plan.decoding, verdicts)
        for sequence, draft, verdict in zip(plan.decoding, drafts, verdicts, strict=True):
            taken = sequence.append([*(draft.tokens[node] for node in verdict.nodes), verdict.next_token])
            sequence.count(widths_by_depth(draft.tree), verdict.accepted)
            emissions.append(Emission(sequence, taken, min(verdict.accepted, len(taken))))
        firsts = iter(first_tokens)
        for chunk in plan.chunks:
            sequence = chunk.sequence
            if sequence.scheduled_s != sequence.scheduled_s:
                sequence.scheduled_s = marks.started_s
            if chunk.final:
                emissions.append(Emission(sequence, sequence.append([next(firsts)]), 0))
                if sequence.first_token_s != sequence.first_token_s:
                    sequence.first_token_s = marks.sampled_s
        for sequence in self.scheduler.commit(plan, marks.sampled_s):
            self._forget(sequence)
        return emissions

    def _compact(self, sequences: Sequence[SequenceState], verdicts: Sequence[Verdict]) -> None:
        """Move the keys and values of accepted paths into the slots right behind their roots."""
        sources: list[int] = []
        targets: list[int] = []
        for sequence, verdict in zip(sequences, verdicts, strict=True):
            if verdict.nodes == tuple(range(verdict.accepted)):
                continue
            length = len(sequence.tokens)
            slots = slots_at(sequence.table, range(length, length + verdict.nodes[-1] + 1), self.options.block_tokens)
            sources += [slots[node] for node in verdict.nodes]
            targets += slots[: verdict.accepted]
        self.store.move(sources, targets)

    def _forget(self, sequence: SequenceState) -> None:
        if self.drafter is not None:
            self.drafter.release(sequence)

    def _check(self, request: Request) -> int:
        """Longest sequence that can be served [tokens]; an error if the prompt and one more token exceed it."""
        limits, cache = self.options.limits, self.options.kv_blocks * self.options.block_tokens
        prompt = len(request.prompt)
        if not prompt or request.max_tokens < 1:
            raise RequestError("a request needs a prompt of one token or more, and max_tokens of 1 or more")
        vocabulary = self.target.architecture.vocab_size
        if not all(0 <= token < vocabulary for token in request.prompt):
            raise RequestError(f"the prompt holds tokens outside the target's vocabulary of {vocabulary}")
        if prompt >= limits.max_model_len:
            raise RequestError(
                f"context overflow: a prompt of {prompt} tokens and one more do not fit max_model_len"
                f" {limits.max_model_len}; shorten the prompt or raise max_model_len"
                f" (the model holds {self.target.max_position})"
            )
        if prompt >= cache:
            raise RequestError(
                f"out of blocks: a prompt of {prompt} tokens and one more do not fit {self.options.kv_blocks} blocks"
                f" of {self.options.block_tokens} tokens; raise kv_blocks"
            )
        if not limits.chunked_prefill and prompt > limits.max_num_batched_tokens:
            raise RequestError(
                f"a prompt of {prompt} tokens does not fit a step of {limits.max_num_batched_tokens}"
                " (max_num_batched_tokens), and chunked_prefill is off"
            )
        return min(limits.max_model_len, cache)


def _branches(sequence: SequenceState, draft: Draft) -> Branches | None:
    """Where the rows of a draft stand that is a tree."""
    return None if draft.parents is None else branches_of(draft.parents, len(sequence.tokens) - 1)
