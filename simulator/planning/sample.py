"""Latencies of a stratified sample of requests, pushed through the steady state of a replica.

The same random numbers serve every load, so percentiles move smoothly with it.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simulator.planning.demand import Demand, PromptWork
from simulator.planning.sampled_requests import normal_quantile
from simulator.planning.steady_state import SteadyState

Floats = NDArray[np.float64]

SAMPLE = 384
"""Requests of the sample."""

MOST_TOGETHER = 24
"""Prompts in one step that are told apart."""

_STEERED = 3.0
"""Mean steps with a prompt after which a router that looks at the load sends requests elsewhere; an assumption."""

CHAIN_STEPS = 6
"""Steps after which step lengths no longer depend on the first."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """One entry per sampled request [s]."""

    ttft_s: Floats
    tpot_s: Floats
    """NaN for outputs of one token."""
    e2e_s: Floats


@cache
def _strata(columns: int) -> Floats:
    """[SAMPLE, columns] numbers in (0, 1), each column evenly spread and shuffled by itself."""
    rng = np.random.Generator(np.random.PCG64(20231116))
    grid = (np.arange(SAMPLE) + 0.5) / SAMPLE
    return np.stack([rng.permutation(grid) for _ in range(columns)], axis=1)


@cache
def _normal(columns: int) -> Floats:
    """Standard normal numbers of the same strata."""
    return normal_quantile(_strata(columns))


def sample_latencies(demand: Demand, state: SteadyState) -> Latencies:
    """Latencies of sampled requests in a steady state."""
    uniform = _strata(8)
    request = np.argsort(demand.new_tokens, kind="stable")[
        ((np.arange(SAMPLE) + 0.5) * demand.steps.size / SAMPLE).astype(np.int64)
    ]
    prompts = demand.new_tokens[request]
    ttft_s = _first_token_s(demand, state, prompts, uniform)
    ttft_s += _place_wait_s(state, uniform[:, 4]) + demand.request_host_s
    decode_s = _decode_s(demand, state, demand.steps[request], uniform)
    later = demand.output_tokens[request] - 1
    tpot_s = np.divide(decode_s, later, out=np.full(SAMPLE, np.nan), where=later > 0)
    return Latencies(ttft_s, tpot_s, ttft_s + decode_s)


def _first_token_s(demand: Demand, state: SteadyState, prompts: Floats, uniform: Floats) -> Floats:
    """From arrival to the first token: the rest of the step in progress, then the steps of the prompt itself."""
    running = np.searchsorted(np.cumsum(state.running), uniform[:, 0]).clip(0, state.most_sequences)
    work = state.work
    if work.steps > 1.5:
        return _queue_of_prompts_s(demand, state, prompts, running, uniform)
    plain_s = np.where(running > 0, state.step_s[running], 0.0)
    own_s = np.interp(prompts, demand.prompt_sample, work.sample_s)
    seen = state.seen(float(state.step_s @ state.running) + work.mean_s)
    step_s = _step_in_progress_s(state, plain_s, seen)
    steered_s = _STEERED * (float(state.step_s @ state.running) + work.mean_s) if _steers(state) else np.inf
    joint = _poisson(state.rate_per_s * seen * np.minimum(step_s, steered_s), uniform[:, 3])
    own_step_s = plain_s + own_s + _prompts_s(work, joint, uniform[:, 2], _normal(8)[:, 7])
    arrived = _poisson(state.rate_per_s * seen * np.minimum(own_step_s, steered_s), uniform[:, 4])
    next_step_s = state.step_s[np.maximum(running, 1)] + _prompts_s(work, arrived, uniform[:, 6], _normal(8)[:, 3])
    return np.asarray(uniform[:, 1] * step_s + own_step_s + demand.overlap_steps * next_step_s)


def _steers(state: SteadyState) -> bool:
    """Whether the router sends requests elsewhere while a long prompt is computed here."""
    return state.num_replicas > 1 and state.spacing.pooling > 0


def _prompts_s(work: PromptWork, count: Floats, size: Floats, rest: Floats) -> Floats:
    """Seconds that so many prompts add: the first by its size, the rest around their mean by a normal number."""
    first_s = work.sample_s[(size * work.sample_s.size).astype(np.int64)]
    more = np.maximum(count - 1.0, 0.0)
    deviation = np.sqrt(more * max(work.square_s2 - work.mean_s**2, 0.0))
    more_s = np.maximum(more * work.further_s + deviation * rest, 0.0)
    return np.where(count > 0, first_s * np.minimum(count, 1.0) + more_s, 0.0)


def _step_in_progress_s(state: SteadyState, plain_s: Floats, seen: float) -> Floats:
    """Length of the step that an arrival falls into; 0 where the replica is idle.

    Each step computes the prompts that arrived during the one before; after some steps their lengths are stationary,
    and an arrival meets them in proportion to their length.
    """
    uniform, normal = _strata(4 * CHAIN_STEPS), _normal(4 * CHAIN_STEPS)
    floor_s = np.where(plain_s > 0, plain_s, 0.0)
    length_s = floor_s
    extras = []
    for step in range(CHAIN_STEPS):
        which = uniform[:, 4 * step : 4 * step + 4]
        count = _poisson(state.rate_per_s * np.where(length_s > 0, length_s, state.work.mean_s), which[:, 0])
        extra_s = _prompts_s(state.work, count, which[:, 1], normal[:, 4 * step + 2])
        length_s = floor_s + extra_s
        extras.append(extra_s)
    late = np.concatenate(extras[CHAIN_STEPS // 2 :])
    floors = np.tile(floor_s, CHAIN_STEPS - CHAIN_STEPS // 2)
    weight = np.where(floors > 0, (floors + late) / np.maximum(floors * state.stretch, 1e-12), 1.0)
    reached = np.cumsum(weight)
    met = np.searchsorted(reached, (np.arange(SAMPLE) + 0.5) / SAMPLE * reached[-1]).clip(0, late.size - 1)
    shuffled = np.argsort(uniform[:, 3])
    busy = late[met][shuffled]
    keep = uniform[:, 7] < seen
    return np.asarray(np.where(plain_s > 0, plain_s, 0.0) + np.where(keep, busy, 0.0))


def _queue_of_prompts_s(
    demand: Demand, state: SteadyState, prompts: Floats, running: NDArray[np.intp], uniform: Floats
) -> Floats:
    """Prompts beyond the token budget are computed one after the other: a queue with Poisson arrivals.

    The wait follows Kingman's exponential law with the mean of Pollaczek and Khinchine.
    """
    plain_s = np.where(running > 0, state.step_s[running], 0.0)
    service = state.work.sample_s + state.work.steps * float(plain_s.mean())
    busy = min(state.rate_per_s * float(service.mean()), 0.99)
    mean_wait = state.rate_per_s * float((service**2).mean()) / (2.0 * (1.0 - busy))
    waits = np.where(uniform[:, 1] < busy, -np.log(np.maximum(uniform[:, 1] / busy, 1e-9)) * mean_wait / busy, 0.0)
    own_s = np.interp(prompts, demand.prompt_sample, service)
    return waits + own_s + 0.5 * plain_s


def _place_wait_s(state: SteadyState, uniform: Floats) -> Floats:
    """Wait for a place when all are taken: exponential above the chance that they are."""
    full = float(state.sequences[state.most_sequences :].sum())
    if full <= 1e-9 or state.mean_waiting <= 1e-9:
        return np.zeros_like(uniform)
    mean_wait = state.mean_waiting / state.rate_per_s / full
    waits: Floats = np.where(uniform < full, -np.log(np.maximum(uniform / full, 1e-9)) * mean_wait, 0.0)
    return waits


def _decode_s(demand: Demand, state: SteadyState, steps: Floats, uniform: Floats) -> Floats:
    """First to last token: steps at the batch met on the way, and the prompts of others in between.

    The batch met is normal around its mean; its spread shrinks with the time over which it is met, since the batch
    forgets its past over a mean stay (an Ornstein-Uhlenbeck process averaged over the stay).
    """
    chance = state.running * np.arange(state.most_sequences + 1)
    if chance.sum() <= 0:
        return np.zeros_like(steps)
    chance /= chance.sum()
    batches = np.arange(chance.size)
    mean = float(chance @ batches)
    variance = float(chance @ (batches - mean) ** 2)
    mean_step = float(state.step_s @ chance)
    age = steps / max(demand.mean_steps, 1e-9)
    spread = np.sqrt(variance * _averaged(age))
    met = np.clip(mean + spread * _normal(8)[:, 0], 1.0, state.most_sequences)
    own_s = steps * np.interp(met, batches, state.step_s) * (mean_step / float(np.interp(mean, batches, state.step_s)))
    return own_s + np.maximum(_interruptions_s(state, own_s, uniform[:, 7], demand.overlap_steps), 0.0)


def _interruptions_s(state: SteadyState, own_s: Floats, first: Floats, overlap_steps: int) -> Floats:
    """Prompts of others within a request's own steps: each brings those that arrive while it is computed.

    The clusters are busy periods of M/G/1: mean Δ / (1 − ρ), second moment E[Δ²] / (1 − ρ)³; they begin at the
    arrival rate over the request's own time, and one may be waiting when its own prompt is done; where tokens come a
    step late, that one delays the first token instead.
    """
    per_prompt = (1.0 - 1.0 / state.stretch) / max(state.rate_per_s, 1e-300)
    cluster_s = per_prompt * state.stretch
    if cluster_s <= 0.0:
        return np.zeros_like(own_s)
    square = state.work.square_s2 * (per_prompt / max(state.work.mean_s, 1e-12)) ** 2
    spread_s = float(max(square * state.stretch**3 - cluster_s**2, 0.0)) ** 0.5
    behind_s = 0.0 if overlap_steps else state.behind_s
    expected = state.rate_per_s * own_s + np.where(own_s > 0, behind_s / cluster_s, 0.0)
    few = expected < MOST_TOGETHER / 3
    clusters = np.where(
        few, _poisson(np.where(few, expected, 0.0), first), expected + np.sqrt(expected) * _normal(8)[:, 7]
    )
    even = 1.0 - state.spacing.steadiness * (1.0 - 1.0 / state.num_replicas)
    clusters = expected + (clusters - expected) * np.sqrt(even + (1.0 - even) * np.exp(-expected))
    return np.asarray(clusters * cluster_s + np.sqrt(np.maximum(clusters, 0.0)) * spread_s * _normal(8)[:, 5])


def _averaged(age: Floats) -> Floats:
    """Variance of an Ornstein-Uhlenbeck average over `age` relaxation times, as a share of the process's own."""
    safe = np.maximum(age, 1e-6)
    return np.asarray(2.0 * (np.exp(-safe) - 1.0 + safe) / (safe * safe))


def _poisson(mean: Floats, uniform: Floats) -> Floats:
    """Poisson counts by inverse distribution, up to MOST_TOGETHER."""
    term = np.exp(-mean)
    reached, count = term.copy(), np.zeros(mean.shape)
    for k in range(1, MOST_TOGETHER):
        more = uniform > reached
        if not more.any():
            break
        count += more
        term *= mean / k
        reached += term
    return count
