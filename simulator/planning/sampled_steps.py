"""Verify steps of the sampled requests, kept: deployments that accept alike share them."""

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.paths import PathPlanner

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SampledSteps(NamedTuple):
    """Of each sampled request."""

    steps: Floats
    """Verify steps."""
    committed_tokens: Floats
    drafted_tokens: Floats
    """Draft tokens proposed, expected."""


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What paths follow from; known by its digest."""

    digest: bytes
    planner: PathPlanner = field(compare=False)
    requests: tuple[Ints, Ints, Ints] = field(compare=False)
    """Prompt tokens, output tokens, classes."""


def sampled_steps(planner: PathPlanner, prompts: Ints, outputs: Ints, classes: Ints) -> SampledSteps:
    """Steps of the sampled requests by the luck of the first requests of a run."""
    return _drawn(_Drawing(_digest(planner, prompts, outputs, classes), planner, (prompts, outputs, classes)))


def _digest(planner: PathPlanner, *requests: Ints) -> bytes:
    said = (planner.draft_tokens, int(planner.key), planner.drafted_tokens, [table.shape for table in planner.survival])
    digest = blake2b(repr(said).encode())
    for array in (*planner.survival, *planner.weights, planner.context_edges, *requests):
        digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(b"|")
    return digest.digest()


@lru_cache(maxsize=128)
def _drawn(ask: _Drawing) -> SampledSteps:
    prompts, outputs, classes = ask.requests
    steps, committed = ask.planner.steps(np.arange(prompts.size), prompts, outputs, classes)
    drafted = ask.planner.drafted(steps, classes, prompts)
    return SampledSteps(steps.astype(np.float64), committed.astype(np.float64), np.asarray(drafted, np.float64))
