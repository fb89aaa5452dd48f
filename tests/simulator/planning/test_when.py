"""When to speculate: the surface and its break-even line."""

from dataclasses import replace

import numpy as np
import pytest

from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from simulator.physics.acceptance import break_even_acceptance
from simulator.planning import when
from simulator.planning.speculation_gain import speculation_grid, speedup, survival_by_change, tokens_by_draft


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture(scope="module")
def grid(chat):
    return speculation_grid(chat, "b200-spec")


@pytest.fixture(scope="module")
def surface(chat):
    return when.surface(chat, "b200-spec")


def gains(grid, acceptance):
    return speedup(grid, tokens_by_draft(survival_by_change(acceptance, 1.0, 8)))[:, 1:]


def test_at_the_break_even_the_best_k_is_as_fast_as_plain_decoding(grid):
    found = when.break_even(grid)

    best = [np.nanmax(gains(grid.at(np.array([n])), a)) for n, a in zip(grid.sequences, found, strict=True)]
    assert best == pytest.approx([1.0] * len(best))


def test_without_prompts_it_is_that_of_the_formula(grid):
    bare = replace(grid, prompt_s=np.zeros_like(grid.prompt_s))
    step = bare.step_s[0]
    verify = [step[k] / step[0] - k * bare.latency_ratio[0] for k in range(9)]

    by_hand = min(break_even_acceptance(k, bare.latency_ratio[0], verify[k]) for k in range(1, 9))

    assert when.break_even(bare)[0] == pytest.approx(by_hand)


def test_the_own_latency_ratio_changes_nothing(chat, grid):
    one = grid.at(grid.sequences[:1])
    same = when.with_latency_ratio(one, when.drafting_s(chat, "b200-spec", one), float(one.latency_ratio[0]))

    assert same.step_s == pytest.approx(one.step_s)


def test_a_draft_for_free_leaves_what_verifying_takes():
    heads = load_scenario("eagle_heads").points[0].scenario
    tables = []
    for name in ("eagle3-chain-5", "parallel-7"):
        grid = speculation_grid(heads, name)
        free = when.with_latency_ratio(grid, when.drafting_s(heads, name, grid), 0.0)
        tables.append(free.step_s)

    assert tables[0] == pytest.approx(tables[1])
    assert (np.diff(tables[0], axis=1) > -1e-9).all()


def test_a_dearer_draft_needs_more_acceptance_at_every_load(surface):
    ordered = surface.break_even[: len(when.LATENCY_RATIOS)]

    assert (np.diff(ordered, axis=0) > 0).all()


def test_more_acceptance_is_never_slower(surface):
    assert (np.diff(surface.speedup, axis=1) >= 0).all()


def test_a_surface_is_above_one_exactly_above_its_break_even(surface):
    pays = surface.speedup > 1
    above = np.array(when.ACCEPTANCES)[:, None] > surface.break_even[:, None, :]

    assert (pays == above).all()


def test_a_draft_for_which_there_is_no_place_never_pays(grid):
    full = replace(grid, places=np.concatenate((grid.places[:1], np.zeros(8))))

    assert np.isnan(when.break_even(full)).all()


def test_the_costs_of_a_token_are_the_inverse_of_the_gains(surface):
    told = surface.as_json()

    assert np.array(told["usd_per_token_ratio"]) * np.array(told["speedup"]) == pytest.approx(1.0)


def test_it_is_drawn_of_one_draft_with_a_chain_only(chat):
    with pytest.raises(ScenarioError, match="one draft on the target's GPUs, a chain"):
        when.surface(chat, "b200-plain")
