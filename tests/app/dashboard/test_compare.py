"""The page Compare."""

import pytest

from tests.app.dashboard.looking import changed, waited


def test_it_opens_on_the_answer(dashboard):
    dashboard.open()

    assert not dashboard.at.exception
    assert dashboard.html.index("sf-winner") < dashboard.html.index("sf-cards") < dashboard.html.index("sf-table")
    assert "GPUs for this load" in dashboard.html
    assert "held-out TPOT error" in dashboard.html


def test_a_higher_price_of_its_gpu_costs_the_winner_its_place(dashboard):
    dashboard.open()
    assert "b200-spec: " in dashboard.html or "b200-spec is cheaper" in dashboard.html

    dashboard.move("price:b200-sxm", 40.0)

    assert "<strong>h200-spec</strong>" in dashboard.html


def test_what_does_not_fit_is_noted_with_its_reason(dashboard):
    dashboard.open()
    dashboard.at.session_state["specfleet_loaded"] = changed(
        dashboard, "deployments.h200-plain.engine.hbm_budget_gb", 20.0
    )
    dashboard.at.run()

    assert "<dt>h200-plain</dt><dd>target: one sequence of 8,192 tokens lacks" in dashboard.html


def small(dashboard):
    dashboard.open()
    return dashboard.move("requests", 300).move("seeds", 1)


@pytest.mark.slow
def test_a_simulation_takes_the_place_of_the_estimate_until_the_scenario_changes(dashboard):
    small(dashboard).press("simulate")
    waited(dashboard, "simulated (1 seed)")

    dashboard.move("rate", 15.0)

    assert "simulation is stale" in dashboard.html
    assert ">estimated<" in dashboard.html


@pytest.mark.slow
def test_a_simulation_can_be_cancelled(dashboard):
    dashboard.open().move("requests", 19_999)
    dashboard.press("simulate").press("cancel")

    assert "cancelled" in dashboard.html
    assert dashboard.control("simulate")


def test_a_simulation_that_is_too_large_is_refused(dashboard):
    dashboard.open().move("requests", 60_000).press("simulate")

    assert "a browser gets at most 20,000" in dashboard.said
