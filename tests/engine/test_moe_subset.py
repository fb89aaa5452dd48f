"""The target's own experts as a draft."""

from dataclasses import replace

import pytest
import torch

from engine.drafters.moe_subset import expert_usage, subset_of
from engine.errors import DraftError
from engine.experts import Experts
from engine.model import Model
from engine.sampling import Sampling
from tests.engine.test_sampled_loop import PROMPT, SMALL, chi_square_p, exact_law
from tests.engine.toys import MIXTURE, SHARED, make_drafter, make_engine, outputs, random_prompts, serve, tiny_weights

PROMPTS = random_prompts(40)


def subset_engine(weights, resident, active, *, draft_tokens=3, shape=None, seed=0, **more):
    drafter = make_drafter(
        "moe_subset", weights, blocks=256, resident_experts=resident, active_experts=active, shape=shape, **more
    )
    return make_engine(weights, draft=drafter, draft_tokens=draft_tokens, blocks=256, max_num_seqs=16,
                       max_num_batched_tokens=256, seed=seed)  # fmt: skip


@pytest.mark.parametrize("shares_kv", [True, False])
@pytest.mark.parametrize("architecture", [MIXTURE, SHARED], ids=["mixture", "shared"])
def test_a_subset_of_all_experts_is_the_target(architecture, shares_kv):
    weights = tiny_weights(architecture)
    mixture = architecture.mixture

    engine = subset_engine(weights, mixture.num_experts, mixture.top_k, shares_kv=shares_kv)
    sequences = serve(engine, PROMPTS)

    assert [s.output for s in sequences] == outputs(make_engine(weights), PROMPTS)
    assert all(s.accepted_at == s.drafted_at for s in sequences)


@pytest.mark.parametrize("shares_kv", [True, False])
@pytest.mark.parametrize(("resident", "active"), [(1, 1), (3, 1), (4, 2)])
def test_a_small_subset_leaves_the_plain_output(resident, active, shares_kv):
    weights = tiny_weights(MIXTURE)

    engine = subset_engine(weights, resident, active, shares_kv=shares_kv)
    sequences = serve(engine, PROMPTS)

    assert [s.output for s in sequences] == outputs(make_engine(weights), PROMPTS)
    assert 0 < sum(sum(s.accepted_at) for s in sequences) < sum(sum(s.drafted_at) for s in sequences)


def test_outputs_follow_the_targets_law_over_a_shared_cache():
    weights = tiny_weights(replace(MIXTURE, vocab_size=5, num_layers=1), sharpness=2.0)
    sampling = Sampling(1.0)

    found = outputs(subset_engine(weights, 3, 1, draft_tokens=2, seed=5), [PROMPT] * 400, 3, sampling=sampling)

    assert chi_square_p(found, exact_law(weights, sampling)) > 1e-3


def test_more_experts_are_accepted_more_often():
    weights = tiny_weights(MIXTURE)

    rates = []
    for resident in (2, 4, 6):
        sequences = serve(subset_engine(weights, resident, 2), PROMPTS)
        rates.append(sum(sum(s.accepted_at) for s in sequences) / sum(sum(s.drafted_at) for s in sequences))

    assert rates == sorted(rates)
    assert rates[-1] == 1.0


def test_no_weight_is_copied():
    target = Model(tiny_weights(MIXTURE))

    subset = subset_of(target, 3, 1)

    pairs = zip(target._layers, subset._layers, strict=True)
    assert all(ours.mlp.experts is theirs.mlp.experts and ours.qkv is theirs.qkv for theirs, ours in pairs)


def test_the_most_used_experts_of_a_text_are_resident():
    target, text = Model(tiny_weights(MIXTURE)), [1, 5, 5, 5, 2, 5]

    usage = expert_usage(target, text)
    subset = subset_of(target, 2, 1, text)

    assert {layer: int(counts.sum()) for layer, counts in usage.items()} == {0: 12, 1: 12}
    for layer, counts in usage.items():
        kept = subset._layers[layer].mlp.resident == 0
        assert counts[kept].min() >= counts[~kept].max()


def test_chances_of_chosen_experts_sum_to_one_where_that_is_asked_for():
    target = Model(tiny_weights(MIXTURE))
    layer = target._layers[0].mlp
    assert isinstance(layer, Experts)
    rows = torch.randn(5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    chances, chosen = layer.only(torch.tensor([1, 4]), 2).route(rows)

    assert torch.allclose(chances.sum(-1), torch.ones(5, dtype=torch.float64))
    assert set(chosen.flatten().tolist()) == {1, 4}


@pytest.mark.parametrize(("architecture", "resident", "active", "message"), [
    (SMALL, 2, 1, "the target has no experts"),
    (MIXTURE, 7, 1, "1 active of 7 resident experts"),
    (MIXTURE, 2, 3, "3 active of 2 resident experts"),
])  # fmt: skip
def test_a_subset_that_cannot_be_says_why(architecture, resident, active, message):
    with pytest.raises(DraftError, match=message):
        subset_engine(tiny_weights(architecture), resident, active)
