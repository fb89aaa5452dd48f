"""The engine's scheduler and the planner's decide the same, in the same order, on the same arrivals."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kv_cache import BlockPool
from engine.scheduler import Limits, Scheduler
from engine.sequence import Request, SequenceState
from engine.synthetic import accepted_drafts
from engine.trace import StepShape
from engine.waiting import SCHEDULERS
from simulator.cluster.replica import Replica
from simulator.cluster.streams import acceptance_key, request_bits, round_uniforms
from simulator.cluster.traffic import RequestChunk
from tests.simulator.cluster.toys import LinearTimes, make_plan, simulate

TIMES = LinearTimes(step_s=0.5, prompt_token_s=1 / 256, sequence_s=1 / 64)
"""Whole multiples of a power of two: no rounding, so that arrivals can fall exactly on the ends of steps."""

LIMITS = {"kv_blocks": 24, "max_num_seqs": 6, "max_num_batched_tokens": 96, "max_model_len": 320}


def simulated(requests, survival, limits, monkeypatch):
    """(start, running, chunks) of every step of the simulation, and when each request ended."""
    steps = []

    def watched(method):
        def step(self, chunks_or_steps, waiting, blocked_by):
            chunks = chunks_or_steps if isinstance(chunks_or_steps, list) else []
            steps.append((self.time_s, list(self.started), [tuple(c[:4]) for c in chunks]))
            return method(self, chunks_or_steps, waiting, blocked_by)

        return step

    with monkeypatch.context() as patch:
        for name in ("_mixed_step", "_decode_run"):
            patch.setattr(Replica, name, watched(getattr(Replica, name)))
        arrivals, prompts, outputs, ranks = (np.array(column) for column in zip(*requests, strict=True))
        chunk = RequestChunk(arrivals.astype(float), prompts, outputs, np.zeros_like(prompts), ranks)
        plan = make_plan(TIMES, survival=survival, step_by_step=True, **limits)
        records = simulate(plan, iter([chunk]), len(requests), endless=False)
    return steps, records.requests.finish_s.tolist()


def driven(requests, survival, limits):
    """The same of the engine's scheduler, under a clock of its own and the simulation's acceptance."""
    bits = request_bits(acceptance_key(0, 0), np.arange(len(requests)))
    pool = BlockPool(limits["kv_blocks"], 16)
    choices = {key: value for key, value in limits.items() if key != "kv_blocks"}
    scheduler = Scheduler(Limits(**choices), pool)
    sequences = [new_sequence(i, *r, len(survival), limits["max_model_len"]) for i, r in enumerate(requests)]
    to_come = list(sequences)
    now, steps = 0.0, []
    while to_come or not scheduler.idle():
        if scheduler.idle():
            now = max(now, to_come[0].request.arrival_s)
        while to_come and to_come[0].request.arrival_s <= now:
            scheduler.add(to_come.pop(0))
        plan = scheduler.schedule()
        chunks = [(c.sequence.number, *c[1:]) for c in plan.chunks]
        steps.append((now, [s.number for s in plan.decoding], chunks))
        now += TIMES.seconds(shape_of(plan))
        take_step(plan, bits, survival)
        scheduler.commit(plan, now)
    pool.check_idle()
    return steps, [s.finish_s for s in sequences]


def new_sequence(number, arrival_s, prompt, output, rank, draft_tokens, max_model_len):
    request = Request((0,) * prompt, output, arrival_s=arrival_s, priority=rank)
    return SequenceState(number, request, draft_tokens, min(output, max_model_len - prompt), None, list(request.prompt))


def shape_of(plan):
    tokens = sum(c.num_tokens for c in plan.chunks)
    return StepShape(len(plan.decoding), 0, 0, len(plan.chunks), tokens, 0.0, 0)


def take_step(plan, bits, survival):
    for sequence in plan.decoding:
        number, nth = sequence.number, sequence.steps + 1
        uniform = float(round_uniforms(bits[number : number + 1], np.array([nth]))[0])
        accepted = accepted_drafts(survival, uniform, sequence.draft_tokens)
        sequence.append([0] * (accepted + 1))
        sequence.count([1] * sequence.draft_tokens, accepted)
    for chunk in plan.chunks:
        if chunk.final:
            chunk.sequence.append([0])


def poisson(count, seed, spacing=0.6):
    rng = np.random.default_rng(seed)
    arrivals = np.floor(np.cumsum(rng.exponential(spacing, count)) * 64) / 64
    lengths = rng.integers(1, 120, count), rng.integers(1, 60, count), rng.integers(0, 3, count)
    return list(zip(arrivals.tolist(), *(column.tolist() for column in lengths), strict=True))


@pytest.mark.parametrize("kind", sorted(SCHEDULERS))
@pytest.mark.parametrize("survival", [(), (0.8, 0.6, 0.4)])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_sequences_take_part_in_every_step(monkeypatch, kind, survival, seed):
    requests, limits = poisson(60, seed), LIMITS | {"scheduler": kind}

    steps, ends = simulated(requests, survival, limits, monkeypatch)

    assert driven(requests, survival, limits) == (steps, ends)
    assert len(steps) > 100


def test_there_is_preemption_chunking_and_waiting_in_what_is_compared():
    requests = poisson(60, 1)
    steps, _ = driven(requests, (0.8, 0.6, 0.4), LIMITS)
    starts = [c[0] for _, _, chunks in steps for c in chunks if c[1] == 0]

    assert len(starts) > len(requests)
    assert any(c[1] > 0 for _, _, chunks in steps for c in chunks)
    assert any(now > requests[c[0]][0] + 2.0 for now, _, chunks in steps for c in chunks if c[1] == 0)


def test_an_arrival_at_the_very_end_of_a_step_is_in_the_next(monkeypatch):
    requests = [(0.0, 64, 4, 0), (0.75, 64, 4, 0), (0.75, 10, 3, 0)]

    steps, ends = simulated(requests, (), LIMITS, monkeypatch)

    assert steps[1][0] == 0.75
    assert [c[0] for c in steps[1][2]] == [1, 2]
    assert driven(requests, (), LIMITS) == (steps, ends)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000),
    st.sampled_from([(), (0.9,), (1.0, 0.5), (0.0, 0.0, 0.0)]),
    st.fixed_dictionaries(
        {
            "kv_blocks": st.integers(20, 60),
            "max_num_seqs": st.integers(1, 12),
            "max_num_batched_tokens": st.integers(4, 200),
            "max_model_len": st.just(320),
            "chunked_prefill": st.just(True),
        }
    ),
)
def test_whatever_the_limits(monkeypatch, seed, survival, limits):
    requests = poisson(25, seed, spacing=0.3)

    assert driven(requests, survival, limits) == simulated(requests, survival, limits, monkeypatch)


def test_without_chunks_too(monkeypatch):
    limits = LIMITS | {"chunked_prefill": False, "max_num_batched_tokens": 160}
    requests = poisson(40, 5)

    assert driven(requests, (0.5,), limits) == simulated(requests, (0.5,), limits, monkeypatch)
