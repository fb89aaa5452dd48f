"""When to speculate: the speed-up over load, acceptance and cost of the draft, and the acceptance at which it is none.

A replica always holds the same number of sequences, as in `speculation_gain`; each draft token takes a given share of a
plain step at that batch, and everything else (memory, prompts, verification) is the deployment's own.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulator.errors import ScenarioError
from simulator.physics.acceptance import constant_acceptance
from simulator.physics.step import StepShape
from simulator.planning.demand import demand_of
from simulator.planning.speculation_gain import (
    MOST_DRAFT_TOKENS,
    Floats,
    SpeculationGrid,
    output_tokens_per_s,
    speculation_grid,
    speedup,
    survival_by_change,
    tokens_by_draft,
    without_draft,
)
from simulator.run import step_model_of
from simulator.spec.scenario import Scenario

LATENCY_RATIOS = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Draft pass ÷ plain step: from a head to a draft that is a third of its target."""
ACCEPTANCES = tuple(round(0.3 + 0.05 * step, 2) for step in range(14))
ARTICLE_ACCEPTANCE = 0.60
"""Below it speculation would be slower, says the article whose claims `claims` checks."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Over sequences in flight (last axis), acceptance, and draft ÷ target latency (first axis, the own draft last)."""

    deployment: str
    sequences: Floats
    plain_req_per_s: Floats
    """Requests/s that a replica serves without a draft with so many sequences in flight."""
    latency_ratios: Floats
    """[ratios, sequences]: LATENCY_RATIOS, then what the deployment's own draft takes at each batch."""
    speedup: Floats
    """[ratios, acceptances, sequences] output tokens/s ÷ plain at the best K of at least 1; NaN: no place for it."""
    best_draft_tokens: Floats
    """[ratios, acceptances, sequences] that K."""
    break_even: Floats
    """[ratios, sequences] lowest acceptance at which some K is no slower than plain decoding; NaN: at none."""

    def as_json(self) -> dict[str, Any]:
        """For scripts: the cost of a token ÷ plain is 1 ÷ speed-up, for the GPUs are the same."""
        return {
            "deployment": self.deployment,
            "sequences": self.sequences.tolist(),
            "plain_req_per_s": self.plain_req_per_s.tolist(),
            "acceptances": list(ACCEPTANCES),
            "latency_ratios": self.latency_ratios.tolist(),
            "speedup": self.speedup.tolist(),
            "usd_per_token_ratio": (1.0 / self.speedup).tolist(),
            "best_draft_tokens": self.best_draft_tokens.tolist(),
            "break_even_acceptance": self.break_even.tolist(),
            "article_acceptance": ARTICLE_ACCEPTANCE,
        }


def draws(scenario: Scenario, deployment: str) -> bool:
    """Whether a surface can be drawn of a deployment: one draft on the target's GPUs that proposes a chain."""
    speculation = scenario.deployments[deployment].speculation
    if speculation.kind == "none":
        return False
    kinds = speculation.combine.kind, speculation.propose.shape, speculation.placement.kind
    return kinds == ("single", "chain", "colocated")


def surface(scenario: Scenario, deployment: str) -> Surface:
    """The surface of a deployment with one draft on the target's GPUs that proposes a chain.

    Raises ScenarioError when it has none, or does not fit.
    """
    if not draws(scenario, deployment):
        raise ScenarioError(
            f"deployments.{deployment}: when to speculate is drawn for one draft on the target's GPUs, a chain"
        )
    grid = speculation_grid(scenario, deployment)
    grid = grid.at(grid.sequences[grid.sequences <= grid.places[0]])
    own_s = drafting_s(scenario, deployment, grid)
    ratios = [np.full(grid.sequences.size, ratio) for ratio in LATENCY_RATIOS] + [grid.latency_ratio]
    grids = [*(with_latency_ratio(grid, own_s, ratio) for ratio in LATENCY_RATIOS), grid]
    tokens = [tokens_by_draft(survival_by_change(alpha, 1.0, MOST_DRAFT_TOKENS)) for alpha in ACCEPTANCES]
    gains = np.array([[speedup(one, by_k)[:, 1:] for by_k in tokens] for one in grids])
    known = np.nan_to_num(gains, nan=-np.inf)
    best = known.argmax(axis=-1)
    most = known.max(axis=-1)
    plain = output_tokens_per_s(grid, np.ones(grid.places.size))[:, 0]
    return Surface(
        deployment=deployment,
        sequences=grid.sequences,
        plain_req_per_s=plain / grid.output_tokens,
        latency_ratios=np.array(ratios),
        speedup=np.where(np.isinf(most), np.nan, most),
        best_draft_tokens=np.where(np.isinf(most), np.nan, best + 1.0),
        break_even=np.array([break_even(one) for one in grids]),
    )


def drafting_s(scenario: Scenario, deployment: str, grid: SpeculationGrid) -> Floats:
    """[sequences, K] seconds that the deployment's own draft computes in a step without prompts."""
    spec = scenario.deployments[deployment]
    plain = scenario.model_copy(update={"deployments": {deployment: without_draft(spec)}})
    context, model = demand_of(plain, deployment).context_tokens, step_model_of(spec)

    def one(n: int, k: int) -> float:
        return model.cost(StepShape(n, n * (k + 1), n * context, 0, 0, 0.0, k)).draft_s

    return np.array([[one(int(n), k) for k in grid.draft_tokens] for n in grid.sequences])


def with_latency_ratio(grid: SpeculationGrid, own_s: Floats, latency_ratio: float) -> SpeculationGrid:
    """The grid as if each draft token took a given share of a plain step, in place of what the own draft takes.

    own_s: of `drafting_s`. [s]
    latency_ratio: c. [ratio]
    """
    passes_s = latency_ratio * grid.step_s[:, :1] * np.arange(grid.places.size)
    ratios = np.full(grid.sequences.size, latency_ratio)
    return replace(grid, step_s=grid.step_s - own_s + passes_s, latency_ratio=ratios)


def break_even(grid: SpeculationGrid) -> Floats:
    r"""Lowest acceptance, the same at every position, that makes some K as fast as plain decoding, by sequences.

    .. math:: \Omega = \frac{(L - 1)\, T_K}{(L - 1)\, T_0 + n\, (\Delta_0 - \Delta_K)}

    Solves `output_tokens_per_s` at K = that at 0 for Ω, with T a step, Δ what a prompt adds, L output tokens.
    """
    n, later = grid.sequences[:, None], max(grid.output_tokens - 1.0, 1.0)
    left = later * grid.step_s[:, :1] + n * (grid.prompt_s[:, :1] - grid.prompt_s)
    with np.errstate(divide="ignore"):
        needed = np.where(left > 0, later * grid.step_s / left, np.inf)
    reachable = (needed <= np.arange(grid.places.size) + 1.0) & (n <= grid.places)
    found = np.full(grid.sequences.size, np.nan)
    for row, k in zip(*np.nonzero(reachable[:, 1:]), strict=True):
        found[row] = np.fmin(found[row], constant_acceptance(float(needed[row, k + 1]), int(k) + 1))
    return found
