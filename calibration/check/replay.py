"""Test of the scheduler alone: the simulation, given measured step times and accepted counts, plans the same steps.

It is never given when a request was scheduled: who takes part in a step follows from arrivals, lengths and limits.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibration.check.offered import limits_of_engine, load_of, offered
from calibration.check.run import Composition, Run, durations_s, seen_s
from simulator.cluster.admission import Chunk
from simulator.cluster.cluster import Cluster, ClusterPlan, simulate_cluster
from simulator.cluster.paths import PathChunk, PathPlanner
from simulator.cluster.replica import Replica
from simulator.physics.step import StepShape

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far a simulation plans the same steps as the engine did."""

    steps: int
    """Steps that the engine took."""
    equal: int
    """Steps of the same number and the same composition."""
    first_difference: str = ""

    @property
    def exact(self) -> bool:
        """Whether every step is the same."""
        return self.steps > 0 and not self.first_difference


def replay(run: Run) -> Replayed:
    """Plan a measured run again, and compare step by step."""
    seen: list[Composition] = []
    plan = ClusterPlan(
        num_replicas=1,
        router="round_robin",
        limits=limits_of_engine(run.limits, run.point.draft_tokens)._replace(step_by_step=True),
        times=RecordedTimes(durations_s(run)),
        planner=recorded_paths(run),
    )
    requests = [asked._replace(arrival_s=time) for asked, time in zip(offered(run), seen_s(run), strict=True)]
    simulate_cluster(plan, load_of(run.point, requests), lambda c: seen.extend(_watched(c)), replica=WatchedReplica)
    return compared([step.composition for step in run.steps], seen)


def compared(measured: list[Composition], simulated: list[Composition]) -> Replayed:
    """Which steps are the same, and the first that is not."""
    pairs = list(zip(measured, simulated, strict=False))
    first = next((i for i, (mine, theirs) in enumerate(pairs) if mine != theirs), None)
    if first is not None:
        said = f"step {first}: engine {_told(measured[first])}, simulation {_told(simulated[first])}"
    elif len(measured) != len(simulated):
        said = f"the engine took {len(measured)} steps, the simulation {len(simulated)}"
    else:
        said = ""
    return Replayed(len(measured), sum(mine == theirs for mine, theirs in pairs), said)


def _told(step: Composition) -> str:
    chunks = ", ".join(f"{r}[{done}:{done + now}] of {prompt}" for r, done, now, prompt in step.chunks)
    return f"decodes {list(step.decoding)}, prompts {chunks or 'none'}"


class RecordedTimes:
    """Step times as they were measured, one after the other."""

    def __init__(self, seconds: list[float]) -> None:
        """seconds: of each step; the last one stands for any that come after it."""
        self._left = iter(seconds)
        self._last = seconds[-1]

    def seconds(self, shape: StepShape) -> float:
        """Seconds of the next step, whatever it computes."""
        return next(self._left, self._last)

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """Seconds of the next step, whatever its context."""
        return next(self._left, self._last), 0.0


@dataclass(frozen=True, slots=True)
class RecordedPaths(PathPlanner):
    """Paths of requests as they were measured: the accepted drafts of every round."""

    accepted: tuple[Ints, ...] = ()
    """Of each request, by round."""

    def plan(self, requests: Ints, prompts: Ints, outputs: Ints, classes: Ints) -> PathChunk:
        """See PathPlanner."""
        paths = [self._commits(int(r), 0, int(o) - 1) for r, o in zip(requests, outputs, strict=True)]
        lengths = np.array([path.size for path in paths])
        return self._finish(np.concatenate(paths), lengths, lengths, prompts, outputs - 1)

    def replan(
        self, request: int, prompt: int, remaining: int, class_index: int, from_round: int, own_prompt: int
    ) -> PathChunk:
        """See PathPlanner."""
        path = self._commits(request, from_round, remaining)
        lengths = np.array([path.size])
        return self._finish(path, lengths, lengths, np.array([prompt]), np.array([remaining]))

    def _commits(self, request: int, from_round: int, needed: int) -> Ints:
        """Tokens that each round commits, until enough are there.

        A preempted request has fewer rounds than its output needs, for computing it again puts out a token as well.
        """
        commits = self.accepted[request][from_round:] + 1
        short = max(needed - int(commits.sum()), 0)
        commits = np.concatenate((commits, np.ones(short, np.int64)))
        last = int(np.searchsorted(np.cumsum(commits), needed)) + 1 if needed else 0
        return commits[:last]


def recorded_paths(run: Run) -> RecordedPaths:
    """The accepted drafts of a run's requests."""
    blocks = limits_of_engine(run.limits, run.point.draft_tokens).block_counts
    mean = [np.mean([d for r in run.requests if r.label == label for d in r.drafted] or [0]) for label in run.labels]
    return RecordedPaths(
        draft_tokens=run.point.draft_tokens,
        survival=tuple(np.empty((1, 0)) for _ in run.labels),
        key=np.uint64(0),
        block_tokens=run.limits.block_tokens,
        block_counts=np.asarray(blocks),
        drafted_tokens=tuple(map(float, mean)),
        accepted=tuple(np.asarray(request.accepted, np.int64) for request in run.requests),
    )


class WatchedReplica(Replica):
    """A replica that remembers who took part in each step."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[Composition] = []

    def _mixed_step(self, chunks: list[Chunk], waiting: int, blocked_by: int) -> Generator[Any, Any, None]:
        self.seen.append(Composition(tuple(self.started), tuple((c[0], c[1], c[2], c[3]) for c in chunks)))
        return super()._mixed_step(chunks, waiting, blocked_by)

    def _decode_run(self, steps: int, waiting: int, blocked_by: int) -> Generator[Any, Any, None]:
        self.seen.append(Composition(tuple(self.started), ()))
        return super()._decode_run(steps, waiting, blocked_by)


def _watched(cluster: Cluster) -> list[Composition]:
    (replica,) = cluster.replicas
    assert isinstance(replica, WatchedReplica)
    return replica.seen
