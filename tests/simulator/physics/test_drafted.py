"""Drafts that do not always propose K tokens: the rows of a step, its price, and what a scenario may say."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.errors import ScenarioError
from simulator.physics.drafted import (
    EXACT_SEQUENCES,
    DraftedStepModel,
    drafted_shares,
    mean_drafted,
    rows_distribution,
)
from simulator.physics.spread import mean_over_steps
from simulator.physics.step import CAUSES, StepShape
from simulator.physics.step_model import step_model_with
from simulator.physics.survival import acceptance_table, survival_for
from simulator.spec.acceptance import Acceptance
from simulator.spec.deployment import Deployment
from simulator.spec.policy import AcceptancePreset

K = 3
MIX = (0.4, 0.1, 0.2, 0.3)
counts = st.lists(st.integers(0, 50), min_size=2, max_size=7).filter(any)


def shares_of(numbers):
    return tuple(n / sum(numbers) for n in numbers)


def step_model(model, tensor_parallel, **target):
    draft = {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": [0.5, 0.4, 0.3]}}}
    return step_model_with(
        None,
        Deployment.model_validate(
            {
                "gpu": "h200-sxm",
                "replicas": 1,
                "price": 3.0,
                "target": {"model": model, "weights": "fp8", "kv": "fp8", "tensor_parallel": tensor_parallel, **target},
                "engine": {"policy": "vllm", "max_model_len": 4096},
                "speculation": {"kind": "drafts", "drafts": {"d": draft}, "propose": {"draft_tokens": K}},
            }
        ),
    )


@pytest.fixture(scope="module")
def full():
    return step_model("llama-3.1-8b", 1)


def decode(sequences, k=K, context=500.0):
    return StepShape(sequences, sequences * (k + 1), context * sequences, 0, 0, 0.0, k)


def mixed(sequences):
    return decode(sequences)._replace(prefill_sequences=2, prefill_tokens=700, prefill_context_tokens=2e5)


@given(counts, st.integers(1, 80))
def test_rows_are_a_distribution_with_the_right_mean(numbers, sequences):
    shares = shares_of(numbers)

    rows = rows_distribution(shares, sequences)

    assert sum(rows.values()) == pytest.approx(1.0)
    assert sum(n * chance for n, chance in rows.items()) == pytest.approx(sequences * (1 + mean_drafted(shares)))
    assert sequences <= min(rows)
    assert max(rows) <= sequences * len(shares)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=4).filter(any), st.integers(1, 4))
def test_rows_are_those_of_all_combinations(numbers, sequences):
    shares = shares_of(numbers)
    counted = {}
    for drafted in product(range(len(shares)), repeat=sequences):
        chance = 1.0
        for tokens in drafted:
            chance *= shares[tokens]
        counted[sequences + sum(drafted)] = counted.get(sequences + sum(drafted), 0.0) + chance

    rows = rows_distribution(shares, sequences)

    assert {n: pytest.approx(c) for n, c in counted.items() if c > 0} == rows


@pytest.mark.parametrize("shape", [decode(1), decode(20), decode(200), mixed(5), mixed(100)])
def test_always_k_costs_what_it_did(full, shape):
    always = DraftedStepModel(full, (0.0, 0.0, 0.0, 1.0))

    assert always.cost(shape) == full.cost(shape)
    assert always.seconds(shape) == pytest.approx(full.seconds(shape), rel=1e-9)


@pytest.mark.parametrize("shape", [decode(1), decode(20), decode(200), mixed(5)])
def test_never_drafting_is_plain_decoding_and_the_drafts_own_time(full, shape):
    never = DraftedStepModel(full, (1.0, 0.0, 0.0, 0.0)).cost(shape)
    plain = full.cost(shape._replace(verify_tokens=shape.sequences, draft_tokens=0))

    for cause in (name for name in CAUSES if name != "draft_s"):
        assert getattr(never, cause) == pytest.approx(getattr(plain, cause), rel=1e-9)
    assert never.draft_s == full.cost(shape).draft_s > 0


def test_attention_that_computes_its_queries_is_counted_by_sequence():
    mla, shape = step_model("deepseek-v3", 8), decode(64, context=8000.0)

    cost = DraftedStepModel(mla, MIX).cost(shape)

    each = [mla.cost(shape._replace(draft_tokens=k)).attention_s for k in range(K + 1)]
    assert each[0] < each[K]
    assert cost.attention_s == pytest.approx(sum(share * s for share, s in zip(MIX, each, strict=True)))


@pytest.mark.parametrize("shape", [decode(1), decode(32), decode(33), decode(256), mixed(5)])
def test_drafting_less_lies_between_plain_decoding_and_drafting_all(full, shape):
    some = DraftedStepModel(full, MIX)
    never, always = (
        DraftedStepModel(full, s).cost(shape).total_s for s in ((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    )

    assert never <= some.cost(shape).total_s <= always
    assert some.seconds(shape) == pytest.approx(some.cost(shape).total_s, rel=1e-9)


def test_more_sequences_never_take_less_where_the_exact_distribution_ends(full):
    model = DraftedStepModel(full, MIX)

    times = [model.seconds(decode(n)) for n in range(EXACT_SEQUENCES - 8, EXACT_SEQUENCES + 9)]

    assert times == sorted(times)


def test_a_step_without_prompts_is_affine_in_its_context(full):
    model = DraftedStepModel(full, MIX)
    constant, slope = model.decode_affine(8)

    assert constant + slope * 8 * 500.0 == pytest.approx(model.cost(decode(8)).total_s, rel=1e-9)


@pytest.mark.parametrize("prompts", [1, 2, 8, 9])
def test_prompts_on_data_parallel_ranks_cost_what_their_causes_add_up_to(prompts):
    model = DraftedStepModel(step_model("deepseek-v3", 1, kv="bf16", data_parallel=8, expert_parallel=8), MIX)
    shape = mixed(8)._replace(prefill_sequences=prompts, prefill_tokens=2048, prefill_context_tokens=2e6)

    assert model.seconds(shape) == pytest.approx(model.cost(shape).total_s, rel=1e-9)


def test_a_smaller_k_cuts_what_is_drafted():
    acceptance = Acceptance(survival=(0.5, 0.2, 0.1), drafted={0: 50, 1: 10, 3: 40})

    assert drafted_shares(acceptance, 2) == (0.5, 0.1, 0.4)
    with pytest.raises(ScenarioError, match=r"drafted goes up to 3 tokens, draft_tokens is 5"):
        drafted_shares(acceptance, 5)


def test_tokens_per_step_are_met_by_drafts_of_different_lengths():
    acceptance = Acceptance(tokens_per_step=1.9, at=3, drafted={0: 40, 3: 60})

    assert 1 + sum(survival_for(acceptance, 3)) == pytest.approx(1.9)
    assert survival_for(acceptance, 3)[0] < 0.6


def test_a_preset_may_hold_a_histogram_and_what_was_drafted():
    written = AcceptancePreset.model_validate(
        {
            "name": "mine", "title": "look-up on code", "histogram": {0: 6, 1: 1, 2: 3}, "drafted": {0: 5, 2: 5},
            "spread": 0.4, "source": "run", "sources": {"run": {"kind": "measured", "ref": "here", "date": "2026-11-30"}},
        }
    )  # fmt: skip

    assert written.as_acceptance() == Acceptance(histogram={0: 6, 1: 1, 2: 3}, drafted={0: 5, 2: 5}, spread=0.4)
    with pytest.raises(ValidationError, match=r"position 1 is accepted in 0\.4"):
        AcceptancePreset.model_validate(written.model_dump() | {"drafted": {0: 9, 2: 1}})


@given(st.floats(0.1, 2.5), counts.filter(lambda numbers: sum(numbers[1:]) > 0))
@settings(max_examples=30)
def test_no_group_of_requests_accepts_what_is_not_drafted(spread, numbers):
    drafted = dict(enumerate(numbers))
    reach = [sum(numbers[i:]) / sum(numbers) for i in range(1, len(numbers))]
    survival = tuple(0.7 * r for r in reach)
    acceptance = Acceptance(survival=survival, drafted=drafted, spread=spread)

    table = acceptance_table(acceptance, len(reach))

    assert (table <= [r + 1e-12 for r in reach]).all()
    assert mean_over_steps(1 + table.sum(axis=1)) == pytest.approx(1 + sum(survival), abs=1e-6)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"survival": [0.7, 0.2], "drafted": {0: 40, 2: 60}}, "position 1 is accepted in 0.7 of the steps"),
        ({"histogram": {0: 3, 1: 7}, "drafted": {0: 4, 1: 6}}, "drafted in 0.6 of them"),
        ({"tokens_per_step": 2.5, "at": 2, "drafted": {0: 40, 2: 60}}, "allow 2.2"),
        ({"survival": [0.0], "drafted": {0: 0}}, "drafted holds no step"),
        ({"preset": "kimi-k3-dspark-thinking-on", "drafted": {3: 1}}, "a preset says itself what it drafts"),
    ],
)
def test_acceptance_beyond_what_was_drafted_is_refused(said, told):
    with pytest.raises(ValidationError, match=told):
        Acceptance.model_validate(said)
