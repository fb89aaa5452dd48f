"""The steady state of one replica at a load, without simulating it.

Running sequences share the replica step by step, so their number is a birth-death process whose rates depend on it,
and its stationary law depends on the number of steps of a request through the mean alone (generalised processor
sharing: Cohen, Acta Informatica 12, 1979). Prompts lengthen steps; all that wait are computed in the next step while
the token budget lasts, so the step lengths are a branching process around the plain step. Percentiles come from a
fixed stratified sample of requests pushed through these laws.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.planning.demand import Demand, PromptWork

Floats = NDArray[np.float64]

ROUNDS = 3
"""Rounds of the fixed point of batch, prompts per step and step length."""

QUEUE_STATES = 512
"""Waiting requests that the birth-death law is followed to."""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """One replica at one load."""

    rate_per_s: float
    saturated: bool
    sequences: Floats
    """[states] chance of so many requests that have their prompt computed and are not done: running, then waiting."""
    most_sequences: int
    step_s: Floats
    """[most_sequences + 1] seconds of a step without prompts, by running sequences."""
    stretch: float
    """Factor by which prompts of others lengthen a sequence's decoding."""
    behind_s: float
    """Seconds that prompts add to a request because they came during its own prompt's long step."""
    work: PromptWork
    prompts_met: float
    """Other prompts in the step of a prompt, mean: those that arrive during the step that it meets."""
    num_replicas: int
    """Replicas that the cluster's arrivals are dealt out to."""
    spacing: "Spacing"
    """How the router deals them out."""

    def seen(self, window_s: float) -> float:
        """Arrivals that one meets around itself within a window, as a share of those of a Poisson stream."""
        expected = self.rate_per_s * window_s
        if expected < 1e-12:
            return 1.0
        dealt = arrivals_seen(self.rate_per_s, window_s, min(self.num_replicas, self.spacing.dealt_over)) / expected
        return 1.0 + self.spacing.evenness * (dealt - 1.0)

    @property
    def running(self) -> Floats:
        """[most_sequences + 1] chance of so many running sequences."""
        held = self.sequences[: self.most_sequences + 1].copy()
        held[-1] += self.sequences[self.most_sequences + 1 :].sum()
        return held

    @property
    def mean_waiting(self) -> float:
        """Requests that wait for a place, mean over time."""
        return float(self.sequences[self.most_sequences :] @ np.arange(self.sequences.size - self.most_sequences))

    @property
    def mean_batch(self) -> float:
        """Decoding sequences of a step, mean over the steps in which any decodes."""
        rate = self.running / self.step_s
        rate[0] = 0.0
        return float(rate @ np.arange(rate.size) / rate.sum()) if rate.sum() > 0 else 0.0


class Spacing(NamedTuple):
    """How a router spaces the arrivals at a replica, and the work over the replicas."""

    dealt_over: int
    """Replicas over which arrivals are as if dealt out in turn."""
    evenness: float
    """How evenly: 1 as if dealt out in turn, 0 as if at random."""
    pooling: float
    """How far running sequences are levelled out over the replicas: 1 as if they were one pool, 0 not at all."""
    steadiness: float
    """How far the prompts that a sequence meets are: 1 as if each replica got every R-th, 0 not at all."""


SPACING = {
    "round_robin": Spacing(1000, 1.0, 0.0, 0.6),
    "least_outstanding_tokens": Spacing(2, 0.5, 1.0, 1.0),
    "power_of_two_choices": Spacing(2, 0.25, 0.5, 0.5),
    "prefix_aware": Spacing(2, 0.5, 0.5, 0.7),
}
"""Router -> how it spaces. Assumptions but for the first; the second agrees with the simulation of chat loads."""

POOLED = 16
"""Replicas beyond which a pool is no more level."""


def saturation_rate(demand: Demand) -> float:
    """Requests per second at which a replica's backlog begins to grow.

    With every place taken, n = λ·(R·T(n) / (1 − λΔ)) for n places, R steps a request, T(n) seconds a step, and Δ
    seconds that a prompt adds.
    """
    places = demand.most_sequences
    work = prompt_work(demand, places)
    step_s = demand.one_step_s(places)
    rate = places / (demand.mean_steps * step_s + places * work.mean_s)
    for _ in range(ROUNDS):
        prompts = rate * step_s / max(1.0 - rate * work.per_prompt_s(places), 1e-3)
        rate = places / (demand.mean_steps * step_s + places * work.per_prompt_s(min(prompts, places)))
    return rate


def prompt_work(demand: Demand, sequences: int) -> PromptWork:
    """What prompts add to steps with so many running sequences; remembered by the demand."""
    if sequences not in demand.prompt_work:
        demand.prompt_work[sequences] = _prompt_work(demand, sequences)
    return demand.prompt_work[sequences]


def _prompt_work(demand: Demand, sequences: int) -> PromptWork:
    plain_s = demand.one_step_s(sequences)
    alone = [demand.prompt_step_s(sequences, size) for size in demand.prompt_sizes]
    added = np.array([seconds - steps * plain_s for seconds, steps in alone])
    sample = np.interp(demand.prompt_sample, demand.prompt_sizes, added)
    taken = np.interp(demand.prompt_sample, demand.prompt_sizes, np.array([steps for _, steps in alone]))
    mean_tokens = float(demand.prompt_sample.mean())
    pair_s, pair_steps = demand.prompt_step_s(sequences, mean_tokens, 2)
    one_s, one_steps = demand.prompt_step_s(sequences, mean_tokens)
    further = (pair_s - pair_steps * plain_s) - (one_s - one_steps * plain_s)
    mean = float(sample.mean())
    return PromptWork(sample, min(further, mean), float(taken.mean()), mean, float((sample**2).mean()))


def solve(demand: Demand, rate_per_s: float, num_replicas: int = 1, router: str = "round_robin") -> SteadyState:
    """Steady state of one replica that is offered its share of Poisson arrivals to a cluster."""
    places = demand.most_sequences
    step_s = demand.step_s(np.arange(places + 1, dtype=np.float64))
    batch, others, behind_s = 1.0, 0.0, 0.0
    state = None
    for _ in range(ROUNDS):
        work = prompt_work(demand, _on_grid(batch, places))
        added = min(rate_per_s * work.per_prompt_s(others), 0.999)
        stretch = 1.0 / (1.0 - added)
        share = (rate_per_s, num_replicas, SPACING[router])
        state = _birth_death(share, demand.mean_steps, step_s, stretch, behind_s, work, others)
        batch = state.mean_batch
        mean_step = float(np.interp(batch, np.arange(places + 1), step_s)) * stretch
        level = share[2].pooling * (1.0 - 1.0 / num_replicas)
        met_s = mean_step + level * rate_per_s * work.square_s2 / max(1.0 - added * added, 1e-3)
        others = min(rate_per_s * state.seen(met_s) * met_s, float(places))
        own_step = (mean_step + work.mean_s) * (1.0 + added)
        behind_s = added * state.seen(own_step) * (own_step - mean_step) * stretch
    assert state is not None
    return state


def _on_grid(batch: float, places: int) -> int:
    """A batch near the given one; coarse, so that step times are found again."""
    whole = max(round(batch), 0)
    coarse = 1 if whole < 16 else 4 if whole < 64 else 16
    return min(round(whole / coarse) * coarse, places)


def _birth_death(
    share: tuple[float, int, Spacing],
    mean_steps: float,
    step_s: Floats,
    stretch: float,
    behind_s: float,
    work: PromptWork,
    others: float,
) -> SteadyState:
    """Stationary law of the requests past their prompt, on one replica."""
    rate_per_s, num_replicas, spacing = share
    places = step_s.size - 1
    load = rate_per_s * (mean_steps * step_s * stretch + (behind_s if mean_steps > 0 else 0.0))
    full = load[places] / places
    saturated = bool(full >= 0.9995 and mean_steps > 0)
    pool = min(num_replicas, POOLED)
    pooled = spacing.pooling if pool > 1 else 0.0
    law = _law(load, pool) if pooled == 1.0 else _law(load, 1)
    if 0.0 < pooled < 1.0:
        law = (1.0 - pooled) * law + pooled * _law(load, pool)
    return SteadyState(
        rate_per_s, saturated, law, places, step_s, stretch, behind_s, work, others, num_replicas, spacing
    )


def _law(load: Floats, replicas: int) -> Floats:
    """Chance of so many requests on one of so many replicas that share them level.

    p(N) ∝ Π λ·(R·T(k) + behind) / min(k, places) over the pool, k counted per replica.

    load: [places + 1] arrivals during a stay, by running sequences.
    """
    places = load.size - 1
    counts = np.arange(1, places * replicas + 1)
    stays = np.interp(counts / replicas, np.arange(places + 1), load) * replicas
    grown = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(stays, 1e-300) / counts))))
    full = min(float(load[places]) / places, 0.9995)
    tail = grown[-1] + np.log(max(full, 1e-300)) * np.arange(1, QUEUE_STATES * replicas)
    logs = np.concatenate((grown, tail))
    chance = np.exp(logs - logs.max())
    if replicas > 1:
        at = np.arange(chance.size) / replicas
        below = at.astype(np.int64)
        upper = np.bincount(below + 1, chance * (at - below), minlength=places + QUEUE_STATES + 1)
        chance = np.bincount(below, chance * (1.0 - at + below), minlength=upper.size) + upper
        chance = chance[: places + QUEUE_STATES]
    return np.asarray(chance / chance.sum())


def arrivals_seen(rate_per_s: float, window_s: float, num_replicas: int) -> float:
    """Arrivals at a replica within a window before (or after) another, when a Poisson stream is dealt out in turn.

    The renewal function of Erlang-R gaps with ω_k the R-th roots of unity:
    m(x) = λx + (1/R)·Σ_k ω_k / (1 − ω_k)·(1 − exp(−Rλx(1 − ω_k))), k = 1 … R − 1. (Cox, Renewal Theory, 1962, 4.)
    Routers that look at the load space arrivals at least about as evenly.

    >>> arrivals_seen(2.0, 0.5, 1)
    1.0
    >>> round(arrivals_seen(1.0, 1.0, 2), 4)
    0.7546
    """
    expected = rate_per_s * window_s
    if num_replicas == 1:
        return expected
    roots = np.exp(2j * np.pi * np.arange(1, num_replicas) / num_replicas)
    decay = 1.0 - np.exp(-num_replicas * expected * (1.0 - roots))
    return float(expected + (roots / (1.0 - roots) * decay).sum().real / num_replicas)
