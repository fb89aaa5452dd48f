"""What speculation gains, by acceptance, draft tokens and sequences in flight, from the step times of a deployment.

A replica always holds the same number of sequences, as a closed loop does; queues, percentiles and the spread of
acceptance over requests are the estimate's and the simulation's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.plan import limits_of
from simulator.outcome.cost import bill_of
from simulator.physics.acceptance import survival_from_conditional
from simulator.physics.bisection import bisected
from simulator.planning.demand import SEQUENCES, Demand, demand_of
from simulator.planning.steady_state import prompt_work
from simulator.run import step_model_of, with_best_trees
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import NoSpeculation

Floats = NDArray[np.float64]

MOST_DRAFT_TOKENS = 8
"""Largest K that is looked at."""

_FINE = 256
"""Numbers of sequences that are looked at between one and the most."""
_CHANGES = (0.05, 4.0)
"""Changes of acceptance per position within which a curve's is sought."""


@dataclass(frozen=True, slots=True)
class SpeculationGrid:
    """Times of the steps and prompts of one replica, by sequences in flight (rows) and draft tokens K (columns)."""

    sequences: Floats
    """Sequences in flight."""
    step_s: Floats
    """[sequences, K] seconds of a step without prompts: K passes of the draft, and the verifying pass."""
    prompt_s: Floats
    """[sequences, K] seconds that one prompt adds to its steps."""
    places: Floats
    """[K] most sequences that run at once, by places, token budget and KV."""
    output_tokens: float
    """Mean output of a request."""
    usd_per_hour: float
    """Of a replica."""
    flops_ratio: float
    """Draft ÷ target, FLOPs per token."""
    latency_ratio: Floats
    """[sequences] time of one draft pass ÷ that of a plain step."""

    @property
    def draft_tokens(self) -> range:
        """Draft tokens K of the columns."""
        return range(self.places.size)

    def at(self, sequences: Floats) -> "SpeculationGrid":
        """The grid at other numbers of sequences, interpolated."""

        def between(table: Floats) -> Floats:
            return np.stack([np.interp(sequences, self.sequences, column) for column in table.T], axis=1)

        ratio = np.interp(sequences, self.sequences, self.latency_ratio)
        step_s, prompt_s = between(self.step_s), between(self.prompt_s)
        return replace(self, sequences=sequences, step_s=step_s, prompt_s=prompt_s, latency_ratio=ratio)


def without_draft(deployment: Deployment) -> Deployment:
    """The deployment with plain decoding."""
    return deployment.model_copy(update={"speculation": NoSpeculation(kind="none"), "economics": None})


def speculation_grid(scenario: Scenario, deployment: str) -> SpeculationGrid:
    """Step times of a deployment that speculates, over sequences and K; its acceptance plays no part.

    Raises ScenarioError when it does not fit into its GPUs, with or without its draft.
    """
    scenario = with_best_trees(scenario)
    spec = scenario.deployments[deployment]
    plain = without_draft(spec)
    demand = demand_of(scenario.model_copy(update={"deployments": {deployment: plain}}), deployment)
    model = step_model_of(spec, context_tokens=demand.context_tokens)
    most = demand.limits.max_num_seqs
    grid = np.array([n for n in SEQUENCES if 0 < n < most] + [most], np.float64)
    limits = limits_of(deployment, spec, scenario.workload)
    by_draft = [_speculating(demand, spec, k, grid, limits.kv_blocks) for k in range(MOST_DRAFT_TOKENS + 1)]
    ratios = [model.draft_ratios(int(n), n * demand.context_tokens) for n in grid]
    return SpeculationGrid(
        sequences=grid,
        step_s=np.stack([one.decode_s for one in by_draft], axis=1),
        prompt_s=np.array([[prompt_work(one, int(n)).mean_s for one in by_draft] for n in grid]),
        places=np.array([float(one.most_sequences) for one in by_draft]),
        output_tokens=float(demand.output_tokens.mean()),
        usd_per_hour=bill_of(spec).usd_per_replica_hour(),
        flops_ratio=ratios[0][0],
        latency_ratio=np.array([ratio for _, ratio in ratios]),
    )


def _speculating(demand: Demand, spec: Deployment, draft_tokens: int, grid: Floats, kv_blocks: int) -> Demand:
    """The plain demand as if K tokens were drafted; with K = 0 it stays plain, without the draft's memory."""
    model = step_model_of(spec if draft_tokens else without_draft(spec), context_tokens=demand.context_tokens)
    blocks = kv_blocks if draft_tokens else demand.limits.kv_blocks
    affine = [model.decode_affine(int(n), draft_tokens) for n in grid]
    return replace(
        demand,
        limits=demand.limits._replace(draft_tokens=draft_tokens, kv_blocks=blocks),
        sequences=grid,
        decode_s=np.array([a + b * n * demand.context_tokens for n, (a, b) in zip(grid.tolist(), affine, strict=True)]),
        seconds=model.seconds,
        prompt_work={},
    )


def output_tokens_per_s(grid: SpeculationGrid, tokens_per_step: Floats) -> Floats:
    r"""Output tokens per second of a replica that always holds so many sequences; NaN where they have no place.

    .. math:: L \cdot n / (R \cdot T(n, K) + n \cdot \Delta(n, K)), \; R = (L - 1) / \Omega

    tokens_per_step: [.., K] Ω by draft tokens, 1 in the first column; broadcast over the grid's sequences. [tokens]

    L output tokens a request, T a step, Δ what a prompt adds: the load of `saturation_rate` at n sequences.
    """
    n = grid.sequences[:, None]
    stay_s = (grid.output_tokens - 1.0) / tokens_per_step * grid.step_s + n * grid.prompt_s
    return np.where(n <= grid.places, grid.output_tokens * n / stay_s, np.nan)


def tpot_s(grid: SpeculationGrid, tokens_per_step: Floats) -> Floats:
    """Mean time per output token under the same conditions: its steps, and the prompts of its companions [s]."""
    n, later = grid.sequences[:, None], max(grid.output_tokens - 1.0, 1.0)
    return np.asarray(grid.step_s / tokens_per_step + (n - 1.0) * grid.prompt_s / later)


def speedup(grid: SpeculationGrid, tokens_per_step: Floats) -> Floats:
    """Output tokens per second ÷ those of plain decoding with as many sequences [ratio]."""
    rate = output_tokens_per_s(grid, tokens_per_step)
    return np.asarray(rate / rate[:, :1])


def usd_per_million(grid: SpeculationGrid, tokens_per_step: Floats) -> Floats:
    """Cost of a million output tokens of a replica that always holds so many sequences [USD]."""
    return np.asarray(grid.usd_per_hour / 3600.0 / output_tokens_per_s(grid, tokens_per_step) * 1e6)


def usd_per_million_within(grid: SpeculationGrid, tokens_per_step: Floats, limit_s: float) -> Floats:
    """Lowest cost of a million output tokens while the mean time per output token stays within a limit, by K [USD].

    NaN where one sequence alone is slower than that.
    """
    fine = grid.at(_finely(float(grid.places.max())))
    cost = usd_per_million(fine, tokens_per_step)
    within = np.where(tpot_s(fine, tokens_per_step) <= limit_s, cost, np.nan)
    known = np.where(np.isnan(within), np.inf, within).min(axis=0)
    return np.where(np.isinf(known), np.nan, known)


def pays_up_to(grid: SpeculationGrid, tokens_per_step: Floats, draft_tokens: int) -> float | None:
    """Sequences in flight up to which drafting K tokens is faster than plain decoding; None: at none.

    inf where it pays as far as there is place.
    """
    most = float(min(grid.places[0], grid.places[draft_tokens]))
    fine = _finely(most)
    gain = speedup(grid.at(fine), tokens_per_step)[:, draft_tokens]
    paying = gain > 1.0
    if not paying[0]:
        return None
    return float("inf") if paying.all() else float(fine[np.argmin(paying)])


def _finely(most: float) -> Floats:
    """Numbers of sequences from 1 to the most, each larger than the one before by the same factor."""
    return np.geomspace(1.0, max(most, 1.0), _FINE)


def best_draft_tokens(grid: SpeculationGrid, tokens_per_step: Floats) -> list[int]:
    """The K with the most output tokens per second, for each number of sequences that has a place without a draft."""
    rate = output_tokens_per_s(grid, tokens_per_step)
    return [int(k) for k in np.nanargmax(rate[grid.sequences <= grid.places[0]], axis=1)]


def survival_by_change(first: float, change: float, draft_tokens: int) -> tuple[float, ...]:
    """Survival by position when the conditional acceptance changes by a constant factor from one to the next [0 to 1].

    first: conditional acceptance of the first draft token. [0 to 1]
    change: factor per position; 1: the same at every position. [ratio]

    >>> survival_by_change(0.8, 1.0, 2)
    (0.8, 0.6400000000000001)
    """
    return survival_from_conditional([min(first * change**position, 1.0) for position in range(draft_tokens)])


def change_of(survival: Sequence[float]) -> float:
    """Factor per position that gives as many tokens per step as a survival curve, from its first position [ratio].

    >>> round(change_of([0.8, 0.64, 0.512]), 6)
    1.0
    """
    if len(survival) < 2 or not 0.0 < survival[0] < 1.0:
        return 1.0
    wanted = sum(survival)
    return bisected(*_CHANGES, lambda change: sum(survival_by_change(survival[0], change, len(survival))) < wanted)[1]


def tokens_by_draft(survival: Sequence[float]) -> Floats:
    """Tokens per step for K = 0, 1, … positions of a survival curve [tokens].

    >>> tokens_by_draft([0.5, 0.25]).tolist()
    [1.0, 1.5, 1.75]
    """
    return np.concatenate(([1.0], 1.0 + np.cumsum(survival)))
