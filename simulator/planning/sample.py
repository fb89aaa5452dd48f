"""Latencies of a stratified sample of requests, pushed through the steady state of a replica.

The same random numbers serve every load, so percentiles move smoothly with it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.planning.demand import Demand, PromptWork
from simulator.planning.steady_state import SteadyState
from simulator.planning.strata import MOST_TOGETHER, SAMPLE, evenly, normal, order, picks, poisson, rank_of, strata

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MET = (11, 16, 21)
"""First columns of the strata of each prompt through which a step is met, of the prompt before it, and so on."""

RUNNING, REST, BEFORE, BEFORE_SIZE, AFTER, AFTER_SIZE, NEXT, NEXT_SIZE, INTERRUPTIONS, BUSY, SHUFFLE = range(11)
"""Columns of the strata: what each number of a request stands for."""

BATCH, NEXT_REST, CLUSTER_SIZES, BEFORE_REST, AFTER_REST = 0, 3, 5, 7, 9
"""The same of normal numbers."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """One entry per sampled request [s]."""

    ttft_s: Floats
    tpot_s: Floats
    """NaN for outputs of one token."""
    e2e_s: Floats


def sample_latencies(demand: Demand, state: SteadyState) -> Latencies:
    """Latencies of sampled requests in a steady state."""
    request = demand.ranked
    ttft_s = _first_token_s(demand, state, demand.new_tokens[request])
    ttft_s += _place_wait_s(state) + demand.request_host_s
    decode_s = _decode_s(demand, state, demand.steps[request], ttft_s - demand.request_host_s)
    later = demand.output_tokens[request] - 1
    tpot_s = np.divide(decode_s, later, out=np.full(SAMPLE, np.nan), where=later > 0)
    return Latencies(ttft_s, tpot_s, ttft_s + decode_s)


def _first_token_s(demand: Demand, state: SteadyState, prompts: Floats) -> Floats:
    """From arrival to the first token: the rest of the step in progress, then the steps of the prompt itself."""
    running = np.minimum(state.law.found.cumsum().searchsorted(strata()[RUNNING]), state.most_sequences)
    plain_s = np.where(running > 0, state.step_s[running], 0.0)
    if state.work.steps > 1.5:
        return _queue_of_prompts_s(demand, state, prompts, plain_s)
    own_s = np.interp(prompts, demand.prompt_sample, state.work.sample_s)
    step_s = _step_in_progress_s(state, plain_s)
    rest_s, own = strata()[REST] * step_s, rank_of(demand.prompt_sample.size)
    companions_s, after = _companions(state, own, step_s - rest_s, rest_s)
    own_step_s = plain_s + own_s + companions_s
    if not demand.overlap_steps:
        return np.asarray(rest_s + own_step_s)
    last = state.dealing.together(own, after)
    arrived = poisson(state.dealing.between(last, rest_s, rest_s + own_step_s), NEXT)
    next_s = state.step_s[np.maximum(running, 1)] + _prompts_s(state.work, arrived, NEXT_SIZE, NEXT_REST)
    return np.asarray(rest_s + own_step_s + demand.overlap_steps * next_s)


def _companions(state: SteadyState, own: Ints, gone_s: Floats, rest_s: Floats) -> tuple[Floats, Floats]:
    """Seconds that the other prompts of a prompt's step add, and how many of them came after it.

    own: its position among the prompts of the sample. gone_s, rest_s: how long the step before has run, and will.
    """
    before = poisson(state.dealing.earlier(gone_s), BEFORE)
    after = poisson(state.dealing.later(own, rest_s), AFTER)
    found_s = _prompts_s(state.met, before, BEFORE_SIZE, BEFORE_REST)
    return found_s + _prompts_s(state.work, after, AFTER_SIZE, AFTER_REST), after


def _prompts_s(work: PromptWork, count: Floats, size: int, rest: int) -> Floats:
    """Seconds that so many prompts add: the first by its size, the rest around their mean by a normal number.

    size, rest: columns of the strata.
    """
    first_s = work.sample_s[picks(work.sample_s.size)[size]]
    more = np.maximum(count - 1.0, 0.0)
    deviation = np.sqrt(more * max(work.square_s2 - work.mean_s**2, 0.0))
    more_s = np.maximum(more * work.further_s + deviation * normal()[rest], 0.0)
    return np.asarray(first_s * np.minimum(count, 1.0) + more_s)


def _step_in_progress_s(state: SteadyState, plain_s: Floats) -> Floats:
    """Length of the step that an arrival falls into; 0 where the replica is idle.

    A step with prompts is met through each of them: as often as prompts come, for its length shared by them, and as far
    as the router sends anyone there so soon after. Each of these prompts fell into a step in the same way, and with it
    all that came during that step.
    """
    step_s, work = plain_s, state.work
    for first in MET:
        size = picks(work.sample_s.size)[first]
        came_s = strata()[first + 1] * step_s
        before = poisson(state.dealing.earlier(came_s), first + 2)
        after = poisson(state.dealing.later(size, step_s - came_s), first + 3)
        added_s = _prompts_s(work, 1.0 + after, first, first + 4) + before * state.met.further_s
        length_s = plain_s + added_s
        gone_s = (1.0 - strata()[REST]) * length_s
        last = state.dealing.together(size, after)
        weight = length_s / (1.0 + before + after) * state.dealing.sent(last, gone_s, step_s)
        reached = weight.cumsum()
        met = np.minimum(reached.searchsorted(evenly() * reached[-1]), SAMPLE - 1)
        busy = strata()[BUSY] < state.rate_per_s * reached[-1] / SAMPLE
        step_s = plain_s + np.where(busy, added_s[met][order(SHUFFLE)], 0.0)
    return step_s


def _queue_of_prompts_s(demand: Demand, state: SteadyState, prompts: Floats, plain_s: Floats) -> Floats:
    """Prompts beyond the token budget are computed one after the other: a queue.

    The wait follows Kingman's exponential law with the mean of Pollaczek and Khinchine, of the prompts that an arrival
    finds in service. Prompts that wait behind it fill up its last step, and lengthen the one after it.
    """
    plain, uniform = float(plain_s.mean()), strata()[REST]
    service = state.work.sample_s + state.work.steps * plain
    found = state.dealing.later(np.arange(service.size), service)
    busy = min(float(found.mean()), 0.99)
    mean_wait = float((found * service).mean()) / (2.0 * (1.0 - busy))
    own_s = np.interp(prompts, demand.prompt_sample, service)
    alone_s = _exponential(uniform, busy, mean_wait) + own_s + 0.5 * plain_s
    behind = poisson(state.dealing.later(rank_of(service.size), alone_s), NEXT) > 0
    step_s = float(service.mean()) / state.work.steps
    filled_s = np.where(behind, strata()[NEXT_SIZE] * step_s, 0.0)
    return np.asarray(alone_s + filled_s + demand.overlap_steps * np.where(behind, step_s, plain_s))


def _place_wait_s(state: SteadyState) -> Floats:
    """Wait for a place when all are taken: exponential above the chance that they are."""
    uniform, full = strata()[NEXT], float(state.law.running[-1])
    if full <= 1e-9 or state.law.mean_waiting <= 1e-9:
        return np.zeros(SAMPLE)
    return _exponential(uniform, full, state.law.mean_waiting / state.rate_per_s)


def _exponential(uniform: Floats, chance: float, mean_s: float) -> Floats:
    """Waits of this mean that come with a chance, and are exponential then [s]."""
    if chance <= 1e-9:
        return np.zeros_like(uniform)
    log = np.log(np.maximum(uniform / chance, 1e-9))
    return np.asarray(np.where(uniform < chance, -log * mean_s / chance, 0.0))


def _decode_s(demand: Demand, state: SteadyState, steps: Floats, began_s: Floats) -> Floats:
    """First to last token: steps at the batch met on the way, and the prompts of others in between.

    The batch met is normal around its mean; its spread shrinks with the time over which it is met, since the batch
    forgets its past over a mean stay (an Ornstein-Uhlenbeck process averaged over the stay).
    """
    batches = np.arange(state.most_sequences + 1)
    chance = state.running * batches
    whole = chance.sum()
    if whole <= 0:
        return np.zeros_like(steps)
    chance /= whole
    mean = float(chance @ batches)
    variance = float(chance @ (batches - mean) ** 2)
    mean_step = float(state.step_s @ chance)
    age = steps / max(demand.mean_steps, 1e-9)
    spread = np.sqrt(variance * _averaged(age))
    met = np.clip(mean + spread * normal()[BATCH], 1.0, state.most_sequences)
    own_s = steps * np.interp(met, batches, state.step_s) * (mean_step / float(np.interp(mean, batches, state.step_s)))
    return np.asarray(own_s + np.maximum(_interruptions_s(state, own_s, began_s, demand.overlap_steps), 0.0))


def _interruptions_s(state: SteadyState, own_s: Floats, began_s: Floats, overlap_steps: int) -> Floats:
    """Prompts of others within a request's own steps: each brings those that arrive while it is computed.

    The clusters are busy periods of M/G/1: mean Δ / (1 − ρ), second moment E[Δ²] / (1 − ρ)³; they begin at the
    arrival rate over the request's own time, and one may be waiting when its own prompt is done; where tokens come a
    step late, that one delays the first token instead.
    """
    per_prompt = (1.0 - 1.0 / state.stretch) / max(state.interrupts_per_s, 1e-300)
    cluster_s = per_prompt * state.stretch
    if cluster_s <= 0.0:
        return np.zeros_like(own_s)
    square = state.work.square_s2 * (per_prompt / max(state.work.mean_s, 1e-12)) ** 2
    spread_s = float(max(square * state.stretch**3 - cluster_s**2, 0.0)) ** 0.5
    behind_s = 0.0 if overlap_steps else state.behind_s
    own, until_s = rank_of(state.work.sample_s.size), began_s + own_s * state.stretch
    came = state.dealing.between(own, began_s, until_s)
    expected = came * (state.interrupts_per_s * own_s.sum() / max(came.sum(), 1e-300)) + np.where(
        own_s > 0, behind_s / cluster_s, 0.0
    )
    few = expected < MOST_TOGETHER / 3
    clusters = np.where(
        few,
        poisson(np.where(few, expected, 0.0), INTERRUPTIONS),
        expected + np.sqrt(expected) * normal()[INTERRUPTIONS],
    )
    even = 1.0 - state.spacing.steadiness * (1.0 - 1.0 / state.dealing.num_replicas)
    clusters = expected + (clusters - expected) * np.sqrt(even + (1.0 - even) * np.exp(-expected))
    return np.asarray(clusters * cluster_s + np.sqrt(np.maximum(clusters, 0.0)) * spread_s * normal()[CLUSTER_SIZES])


def _averaged(age: Floats) -> Floats:
    """Variance of an Ornstein-Uhlenbeck average over `age` relaxation times, as a share of the process's own."""
    safe = np.maximum(age, 1e-6)
    return np.asarray(2.0 * (np.exp(-safe) - 1.0 + safe) / (safe * safe))
