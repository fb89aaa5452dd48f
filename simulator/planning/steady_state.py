"""The steady state of one replica at a load, without simulating it.

Running sequences share the replica step by step, so their number is a birth-death process whose rates depend on it,
and its stationary law depends on the number of steps of a request through the mean alone (generalised processor
sharing: Cohen, Acta Informatica 12, 1979). Prompts lengthen steps; all that wait are computed in the next step while
the token budget lasts, so the step lengths are a branching process around the plain step. Percentiles come from a
fixed stratified sample of requests pushed through these laws.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.planning.dealing import SPACING, Dealing, Prompts, Spacing, dealing, prompts_of
from simulator.planning.demand import Demand, PromptWork, SlowerWork
from simulator.planning.level_law import FULLEST, LevelLaw, level_law

Floats = NDArray[np.float64]

ROUNDS = 3
"""Rounds of the fixed point of batch, prompts per step and step length."""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """One replica at one load."""

    rate_per_s: float
    saturated: bool
    law: LevelLaw
    """How many sequences run, and how many requests wait for a place."""
    step_s: Floats
    """[places + 1] seconds of a step without prompts, by running sequences."""
    plain_s: float
    """The same, mean over time."""
    mean_batch: float
    """Decoding sequences of a step, mean over the steps in which any decodes."""
    stretch: float
    """Factor by which prompts of others lengthen a sequence's decoding."""
    interrupts_per_s: float
    """Prompts that come while a sequence decodes [1/s]: fewer than arrive, for routers send them elsewhere."""
    behind_s: float
    """Seconds that prompts add to a request because they came during its own prompt's long step."""
    work: PromptWork
    met: PromptWork
    """The same of the prompts that an arrival finds: long ones keep others away."""
    prompts_met: float
    """Other prompts in the step of a prompt, mean: those that arrive during the step that it meets."""
    dealing: Dealing
    """Arrivals at this replica."""
    spacing: Spacing
    """What the router does to them."""

    @property
    def most_sequences(self) -> int:
        """Sequences that run at once at most."""
        return self.step_s.size - 1

    @property
    def running(self) -> Floats:
        """[places + 1] chance of so many running sequences."""
        return self.law.running


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
    known = demand.prompt_work
    if sequences not in known:
        if isinstance(known, SlowerWork):
            known[sequences] = prompt_work(known.of, sequences).slowed(known.factor)
        else:
            known[sequences] = _prompt_work(demand, sequences)
    return known[sequences]


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


@dataclass(frozen=True, slots=True)
class _Asked:
    """Requests, and the replicas that share them."""

    demand: Demand
    rate_per_s: float
    """At each replica."""
    num_replicas: int
    router: str
    step_s: Floats
    prompts: Prompts


class _Guess(NamedTuple):
    """What a round starts from."""

    batch: float = 1.0
    prompts_met: float = 0.0
    behind_s: float = 0.0
    interrupted: float = 1.0


def solve(demand: Demand, rate_per_s: float, num_replicas: int = 1, router: str = "round_robin") -> SteadyState:
    """Steady state of one replica that is offered its share of Poisson arrivals to a cluster."""
    step_s = demand.step_s(np.arange(demand.most_sequences + 1, dtype=np.float64))
    prompts = prompts_of(demand.prompt_sample + demand.cached_tokens)
    asked = _Asked(demand, rate_per_s, num_replicas, router, step_s, prompts)
    state = _state(asked, _Guess())
    for _ in range(ROUNDS - 1):
        state = _state(asked, _next_guess(asked, state))
    if not state.dealing.choices:
        return state
    dealt = state.dealing.counted()
    return replace(state, dealing=dealt, met=state.work.tilted(dealt.weight(0.5 * (state.plain_s + state.work.mean_s))))


def _state(asked: _Asked, guess: _Guess) -> SteadyState:
    demand, rate, step_s, spacing = asked.demand, asked.rate_per_s, asked.step_s, SPACING[asked.router]
    places = step_s.size - 1
    work = prompt_work(demand, _on_grid(guess.batch, places))
    stretch = 1.0 / (1.0 - min(rate * guess.interrupted * work.per_prompt_s(guess.prompts_met), 0.999))
    load = rate * (demand.mean_steps * step_s * stretch + (guess.behind_s if demand.mean_steps > 0 else 0.0))
    law = level_law(load, asked.num_replicas, spacing.pooling)
    batch = _mean_batch(law.running, step_s)
    prompt_s = _mean_step_s(batch, step_s, stretch) + work.mean_s
    in_flight = float(law.running @ np.arange(places + 1)) + law.mean_waiting + rate * prompt_s
    return SteadyState(
        rate_per_s=rate,
        saturated=bool(load[places] / places >= FULLEST and demand.mean_steps > 0),
        law=law,
        step_s=step_s,
        plain_s=float(step_s @ law.running),
        mean_batch=batch,
        stretch=stretch,
        interrupts_per_s=rate * guess.interrupted,
        behind_s=guess.behind_s,
        work=work,
        met=work,
        prompts_met=guess.prompts_met,
        dealing=dealing(asked.router, rate, asked.num_replicas, asked.prompts, in_flight),
        spacing=spacing,
    )


def _next_guess(asked: _Asked, state: SteadyState) -> _Guess:
    """What follows for the prompts that share a step, and for those that come during a request's own prompt."""
    rate, work, dealt = asked.rate_per_s, state.work, state.dealing
    added = 1.0 - 1.0 / state.stretch
    mean_step = _mean_step_s(state.mean_batch, asked.step_s, state.stretch)
    level = state.spacing.pooling * (1.0 - 1.0 / asked.num_replicas)
    met_s = mean_step + level * rate * work.square_s2 / max(1.0 - added * added, 1e-3)
    own_s = (mean_step + work.mean_s) * (1.0 + added)
    windows = own_s - work.mean_s + work.sample_s
    behind = float(dealt.later(np.arange(windows.size), windows).mean()) / max(rate * own_s, 1e-300)
    return _Guess(
        state.mean_batch,
        min(rate * dealt.seen(met_s) * met_s, float(state.most_sequences)),
        added * behind * (own_s - mean_step) * state.stretch,
        dealt.decoding,
    )


def _mean_step_s(batch: float, step_s: Floats, stretch: float) -> float:
    return float(np.interp(batch, np.arange(step_s.size), step_s)) * stretch


def _mean_batch(running: Floats, step_s: Floats) -> float:
    rate = running / step_s
    rate[0] = 0.0
    whole = rate.sum()
    return float(rate @ np.arange(rate.size) / whole) if whole > 0 else 0.0


def _on_grid(batch: float, places: int) -> int:
    """A batch near the given one; coarse, so that step times are found again."""
    whole = max(round(batch), 0)
    coarse = 1 if whole < 16 else 4 if whole < 64 else 16
    return min(round(whole / coarse) * coarse, places)
