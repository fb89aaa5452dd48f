"""Draft GPUs that several replicas share: a queue that is taken whole, one batch after the other.

A replica asks for the drafts of all its sequences once a round, and hands over the prompts that it computes. What has
come when the pool is free again is served together: a round of one replica waits for those of the others.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

import simpy

from simulator.cluster.decoding import Decoding
from simulator.cluster.drafting_ahead import AheadDecoding
from simulator.physics.draft import DraftCost, PoolCost
from simulator.physics.step_model import Memo


class Work(NamedTuple):
    """What a step of a replica asks of its drafts."""

    sequences: int
    context_tokens: float
    """KV positions of its sequences."""
    prompt_tokens: int = 0
    attended_tokens: float = 0.0
    """Positions that the prompt tokens attend to."""


class PoolPlan(NamedTuple):
    """The pools of a cluster."""

    cost: PoolCost
    draft_tokens: int
    shared_by: int
    """Replicas that a pool serves."""
    branches: int = 1
    """Outcomes that are drafted for ahead, each with rows of its own."""


class _Ask(NamedTuple):
    work: Work
    branches: int
    done: simpy.Event


class DraftPool:
    """The GPUs and their queue; `run` is its process."""

    def __init__(self, env: simpy.Environment, plan: PoolPlan) -> None:
        self._env = env
        own: DraftCost = plan.cost.own
        self._context_s = own.prefill_context_s
        self._passes: Memo[int, tuple[float, float]] = Memo(lambda rows: own.passes(rows, plan.draft_tokens))
        self._prefill: Memo[int, float] = Memo(own.prefill_s)
        self._waiting: list[_Ask] = []
        self._wake: simpy.Event | None = None
        self.asked = self.served = self.batches = 0
        """Rounds of replicas that were asked for, those that were served, and the batches that it took."""
        env.process(self._run())

    def ask(self, work: Work, branches: int = 1) -> simpy.Event:
        """Queue a round of a replica; what happens when its drafts are there."""
        ask = _Ask(work, branches, simpy.Event(self._env))
        self._waiting.append(ask)
        self.asked += 1
        if self._wake is not None:
            self._wake.succeed()
            self._wake = None
        return ask.done

    @property
    def waiting(self) -> int:
        """Rounds that wait or are being drafted."""
        return self.asked - self.served

    def _run(self) -> Generator[simpy.Event, Any, None]:
        env = self._env
        while True:
            if not self._waiting:
                self._wake = simpy.Event(env)
                yield self._wake
                yield env.timeout(0.0)
            batch, self._waiting = self._waiting, []
            self.batches += 1
            yield env.timeout(self._batch_s(batch))
            self.served += len(batch)
            for ask in batch:
                ask.done.succeed()

    def _batch_s(self, batch: list[_Ask]) -> float:
        """Seconds of a batch: its prompts, and passes over all its sequences."""
        rows, tokens, context, attended = 0, 0, 0.0, 0.0
        for work, branches, _ in batch:
            rows += work.sequences * branches
            context += work.context_tokens * branches
            tokens += work.prompt_tokens
            attended += work.attended_tokens
        seconds = self._prefill[tokens] + self._context_s * attended if tokens else 0.0
        if rows:
            constant, slope = self._passes[rows]
            seconds += constant + slope * context
        return seconds


class Seat:
    """A replica's place at its pool: how a step waits for its drafts."""

    def __init__(self, env: simpy.Environment, pool: DraftPool, plan: PoolPlan, decoding: Decoding) -> None:
        self._env, self.pool = env, pool
        self._hops, self._branches = plan.cost.hops, plan.branches
        self._ahead = decoding if isinstance(decoding, AheadDecoding) else None

    def step(self, start_s: float, verify_s: float, work: Work) -> Generator[simpy.Event, Any, float]:
        """Let a step go by up to where only its own verification is left, or, with drafts ahead, to its end.

        Returns the seconds of the whole step.
        """
        if self._ahead is None:
            return verify_s + (yield from self._turn(start_s, work))
        first = work._replace(prompt_tokens=0)
        waited_s = (yield from self._turn(start_s, first)) if self._ahead.missed else 0.0
        begun_s = start_s + waited_s
        behind = self._env.process(self._behind(begun_s, work))
        yield self._env.timeout(max(begun_s + verify_s - self._env.now, 0.0))
        drafted_s = float((yield behind))
        return waited_s + max(verify_s, drafted_s)

    def _behind(self, start_s: float, work: Work) -> Generator[simpy.Event, Any, float]:
        return (yield from self._turn(start_s, work, self._branches))

    def _turn(self, start_s: float, work: Work, branches: int = 1) -> Generator[simpy.Event, Any, float]:
        """Ask, wait, and get the answer; the seconds that it took."""
        env, hops, sequences = self._env, self._hops, work.sequences
        asking_s = hops.prompts_s(work.prompt_tokens) + (hops.ask_s(sequences) if sequences else 0.0)
        if not asking_s:
            return 0.0
        yield env.timeout(max(start_s + asking_s - env.now, 0.0))
        yield self.pool.ask(work, branches)
        return float(env.now) - start_s + (hops.answer_s(sequences) if sequences else 0.0)
