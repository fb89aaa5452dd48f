from dataclasses import replace

import numpy as np
import pytest

from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from simulator.physics.acceptance import walltime_speedup
from simulator.planning import speculation_gain as gain
from simulator.run import simulate_once


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture(scope="module")
def grid(chat):
    return gain.speculation_grid(chat, "b200-spec")


def tokens(first=0.7, change=1.0):
    return gain.tokens_by_draft(gain.survival_by_change(first, change, gain.MOST_DRAFT_TOKENS))


def test_without_draft_tokens_nothing_is_gained_and_nothing_lost(grid):
    assert gain.speedup(grid, tokens())[:, 0] == pytest.approx(1.0)


def test_more_acceptance_is_never_slower_nor_dearer(grid):
    low, high = tokens(0.5), tokens(0.8)

    assert (gain.speedup(grid, high)[:, 1:] > gain.speedup(grid, low)[:, 1:]).all()
    assert (gain.usd_per_million(grid, high)[:, 1:] < gain.usd_per_million(grid, low)[:, 1:]).all()


def test_a_gain_shrinks_as_the_batch_grows_and_ends_where_it_stops_paying(grid):
    end = gain.pays_up_to(grid, tokens(), 6)
    just_before, just_beyond = gain.speedup(grid.at(np.array([end * 0.9, end * 1.1])), tokens())[:, 6]

    assert just_beyond < 1.0 < just_before


def test_a_draft_that_is_never_right_pays_nowhere_and_one_for_free_everywhere(grid):
    free = replace(
        grid, step_s=np.repeat(grid.step_s[:, :1], 9, axis=1), prompt_s=np.repeat(grid.prompt_s[:, :1], 9, axis=1)
    )

    assert gain.pays_up_to(grid, tokens(0.0), 4) is None
    assert gain.pays_up_to(free, tokens(), 4) == float("inf")


def test_the_best_number_of_draft_tokens_falls_with_the_batch(grid):
    best = gain.best_draft_tokens(grid, tokens())

    assert best[0] > best[-1]


def test_where_there_is_no_place_there_is_no_figure(grid):
    narrow = replace(grid, places=np.full(9, 8.0))

    rate = gain.output_tokens_per_s(narrow, tokens())

    assert np.isnan(rate[narrow.sequences > 8]).all()
    assert np.isfinite(rate[narrow.sequences <= 8]).all()


def test_prompts_aside_one_sequence_gains_what_the_formula_says(grid):
    alone = replace(grid, prompt_s=np.zeros_like(grid.prompt_s)).at(np.array([1.0]))
    verify = (alone.step_s[0, 4] - 4 * alone.latency_ratio[0] * alone.step_s[0, 0]) / alone.step_s[0, 0]

    expected = walltime_speedup(0.7, 4, alone.latency_ratio[0], verify)

    assert gain.speedup(alone, tokens())[0, 4] == pytest.approx(expected, rel=1e-3)


def test_a_replica_that_is_simulated_with_so_many_clients_agrees(chat, grid):
    spec = chat.deployments["b200-spec"].model_copy(update={"replicas": 1})
    acceptance = {"all": {"survival": gain.survival_by_change(0.7, 1.0, 4)}}
    draft = spec.speculation.draft.model_dump(exclude_unset=True) | {"acceptance": acceptance}
    speculation = spec.speculation.model_dump(exclude_unset=True) | {"drafts": {"general": draft}}
    document = chat.model_dump(exclude_unset=True)
    document["workload"]["arrivals"] = {"kind": "closed_loop", "concurrency": 16}
    document["deployments"] = {"one": spec.model_dump(exclude_unset=True) | {"speculation": speculation}}
    records = simulate_once(type(chat).model_validate(document), "one", 0)

    seconds = records.requests.finish_s[records.measured].max() - records.requests.arrival_s[records.measured].min()
    measured = records.requests.output_tokens[records.measured].sum() / seconds

    tpot_s = (records.requests.finish_s - records.requests.first_token_s) / (records.requests.output_tokens - 1)

    at = grid.at(np.array([16.0]))
    assert gain.output_tokens_per_s(at, tokens())[0, 4] == pytest.approx(measured, rel=0.06)
    assert gain.tpot_s(at, tokens())[0, 4] == pytest.approx(tpot_s[records.measured].mean(), rel=0.06)


def test_a_longer_limit_is_never_dearer_and_one_that_nothing_meets_has_no_price(grid):
    short, long = (gain.usd_per_million_within(grid, tokens(), limit) for limit in (0.01, 0.03))

    assert (long[1:] <= short[1:]).all()
    assert np.isnan(gain.usd_per_million_within(grid, tokens(), 1e-4)).all()


def test_a_curve_comes_back_from_its_first_position_and_its_change():
    curve = gain.survival_by_change(0.8, 0.93, 5)

    assert gain.change_of(curve) == pytest.approx(0.93)


def test_a_deployment_that_does_not_fit_says_so(chat):
    spec = chat.deployments["h200-spec"]
    small = spec.model_copy(update={"engine": spec.engine.model_copy(update={"hbm_budget_gb": 20.0})})

    with pytest.raises(ScenarioError, match="lacks"):
        gain.speculation_grid(chat.model_copy(update={"deployments": {"a": small}}), "a")
