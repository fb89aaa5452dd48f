"""Several drafts: a router deals the sequences out, or all draft for each."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.physics.several import EXACT_SEQUENCES, binomial, expected_together
from simulator.spec.combine import ParallelStreams, Series
from tests.simulator.physics.speculating import EAGLE3, PROMPT, SMALL, chain, decode, draft_s, step_model

PARALLEL = ParallelStreams(kind="parallel", contention=0.3)
UNION = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}
ROUTER = {"parameters": 1e8, "latency_s": 0.002}
ROUTED = {"kind": "routed", "routes": {"all": "a"}, "accuracy": {"all": 1.0}, "fallback": "b", "router": ROUTER}


def enumerated(seconds, shares, streams):
    """Expectation over every way in which sequences can fall to drafts."""
    sequences = len(seconds[0]) - 1
    total = 0.0
    for counts in product(range(sequences + 1), repeat=len(shares)):
        if sum(counts) != sequences:
            continue
        ways = factorial(sequences) / np.prod([float(factorial(m)) for m in counts])
        chance = ways * np.prod([share**m for share, m in zip(shares, counts, strict=True)])
        each = [table[m] for table, m in zip(seconds, counts, strict=True)]
        longest = max(each) + (1.0 if streams.kind == "series" else streams.contention) * (sum(each) - max(each))
        total += chance * longest
    return total


tables = st.lists(st.floats(0.1, 5.0), min_size=4, max_size=4).map(lambda steps: np.cumsum([0.0, *steps]))


@settings(max_examples=25)
@given(st.lists(tables, min_size=3, max_size=3), st.sampled_from([Series(), PARALLEL]))
def test_the_expectation_is_exact(seconds, streams):
    shares = (0.5, 0.2, 0.3)

    assert expected_together(seconds, shares, streams) == pytest.approx(enumerated(seconds, shares, streams))


def test_beyond_the_exact_batch_the_longest_draft_hardly_jumps():
    exact, independent = (
        expected_together([4.0 + 0.1 * np.arange(n + 1.0)] * 3, (0.4, 0.3, 0.3), PARALLEL)
        for n in (EXACT_SEQUENCES, EXACT_SEQUENCES + 1)
    )

    assert independent == pytest.approx(exact, rel=0.01)


def test_beyond_the_exact_batch_each_draft_has_its_load_whatever_the_others_have():
    shares, rng = (0.7, 0.3), np.random.default_rng(3)
    seconds = [rng.uniform(1.0, 2.0, EXACT_SEQUENCES + 2) for _ in shares]
    first, second = (binomial(EXACT_SEQUENCES + 1, share) for share in shares)

    longest = expected_together(seconds, shares, ParallelStreams(kind="parallel", contention=0.0))
    assert longest == pytest.approx(np.sum(np.outer(first, second) * np.maximum.outer(*seconds)))


def test_a_union_in_series_costs_the_sum_of_its_drafts():
    union = step_model(SMALL, EAGLE3, combine=UNION)
    alone = [draft_s(step_model(draft), 8) for draft in (SMALL, EAGLE3)]

    assert union.draft_tokens == 8
    assert draft_s(union, 8) == pytest.approx(sum(alone))
    assert union.cost(PROMPT).draft_s == pytest.approx(
        sum(step_model(draft).cost(PROMPT).draft_s for draft in (SMALL, EAGLE3))
    )


def test_one_draft_in_a_union_costs_what_it_costs_alone():
    assert step_model(SMALL, combine=UNION).cost(decode(8, 4)) == step_model(SMALL).cost(decode(8, 4))


def test_a_unions_ratios_are_sums():
    ratios = [step_model(draft).draft_ratios(8, 8192.0) for draft in (SMALL, EAGLE3)]

    assert step_model(SMALL, EAGLE3, combine=UNION).draft_ratios(8, 8192.0) == pytest.approx(
        tuple(map(sum, zip(*ratios, strict=True)))
    )


@pytest.mark.parametrize(("contention", "expected"), [(0.0, "longest"), (1.0, "sum"), (0.5, "between")])
def test_parallel_streams_lie_between_the_longest_draft_and_the_sum(contention, expected):
    streams = {"kind": "parallel", "contention": contention}
    together = draft_s(step_model(SMALL, EAGLE3, combine=UNION, streams=streams), 8)
    alone = [draft_s(step_model(draft), 8) for draft in (SMALL, EAGLE3)]
    at = {"longest": max(alone), "sum": sum(alone), "between": (max(alone) + sum(alone)) / 2}

    assert together == pytest.approx(at[expected])


def test_a_draft_that_has_all_sequences_costs_what_it_costs_alone():
    routed = step_model(SMALL, EAGLE3, combine=ROUTED, shares={"a": 1.0, "b": 0.0})

    assert draft_s(routed, 8) == pytest.approx(draft_s(step_model(SMALL), 8))


def test_one_sequence_has_one_draft_whichever_it_is():
    alone = [draft_s(step_model(draft), 1) for draft in (SMALL, EAGLE3)]
    streams = {"kind": "parallel", "contention": 0.5}
    for how in ({}, {"streams": streams}):
        routed = step_model(SMALL, EAGLE3, combine=ROUTED, shares={"a": 0.25, "b": 0.75}, **how)

        assert draft_s(routed, 1) == pytest.approx(0.25 * alone[0] + 0.75 * alone[1])


def test_a_large_batch_runs_every_routed_draft_in_every_step():
    shares = {"a": 0.5, "b": 0.5}
    half = [draft_s(step_model(draft), 50) for draft in (SMALL, EAGLE3)]

    assert draft_s(step_model(SMALL, EAGLE3, combine=ROUTED, shares=shares), 100) == pytest.approx(sum(half), rel=0.02)


def test_more_sequences_never_make_a_step_of_routed_drafts_shorter():
    for streams in ({"kind": "series"}, {"kind": "parallel", "contention": 0.2}):
        model = step_model(SMALL, EAGLE3, combine=ROUTED, shares={"a": 0.6, "b": 0.4}, streams=streams)
        seconds = [draft_s(model, n) for n in (1, 2, 4, 8, 16, 31, 32, 33, 34, 48, 64)]

        assert seconds == sorted(seconds)


def test_the_time_of_routed_drafts_is_affine_in_the_context():
    model = step_model(SMALL, EAGLE3, combine=ROUTED, shares={"a": 0.6, "b": 0.4})
    none, some, twice = (draft_s(model, 8, context) for context in (0, 4096, 8192))

    assert some > none
    assert twice - some == pytest.approx(some - none)


def test_the_router_adds_its_latency_for_every_prompt():
    quick, slow = (
        step_model(SMALL, EAGLE3, combine=ROUTED | {"router": ROUTER | {"latency_s": s}}) for s in (0.0, 0.002)
    )
    two = PROMPT._replace(prefill_sequences=2)

    assert slow.cost(two).draft_s - quick.cost(two).draft_s == pytest.approx(0.004)
    assert slow.seconds(two) == pytest.approx(slow.cost(two).total_s)


def test_what_is_said_of_a_drafts_curves_names_the_draft():
    model = step_model(SMALL, {"model": "llama-3.2-1b", "weights": "awq_int4"}, combine=UNION, propose=chain(2))

    assert "draft: b: awq_int4 linear layers" in model.calibration.uncalibrated
