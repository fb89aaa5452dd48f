"""What belongs to every figure: how it was computed, and its numbers as CSV."""

import pytest

from app.dashboard.computed import ESTIMATED, computed_by, said_of
from app.dashboard.estimates import estimated
from app.dashboard.explained import as_csv
from scenarios.load import load_scenario
from tests.app.dashboard.looking import beside

pytest.importorskip("streamlit", reason="needs streamlit")


def answer(*sets):
    return estimated(load_scenario("h200_vs_b200_chat", sets).points[0].scenario)


def test_a_figure_says_its_formula_method_profile_with_its_error_and_price_with_its_date():
    found = answer()

    said = dict(computed_by("a ÷ b", found))

    assert (said["Formula"], said["Method"]) == ("a ÷ b", ESTIMATED)
    assert "h200-sxm-vllm of" in said["Profile"]
    assert "held-out TPOT error" in said["Profile"]
    assert "factor of" in said["Error"]
    assert str(found.provenance["prices"]["b200-spec"]["as_of"]) in said["Price"]


def test_what_was_simulated_says_its_seeds():
    from dataclasses import replace

    said = dict(computed_by("a ÷ b", replace(answer("seed=7", "replications=4"), method="simulated")))

    assert "4 replications" in said["Method"]
    assert "seed 7" in said["Method"]


def test_compare_has_both_below_its_figure(dashboard):
    dashboard.open()

    both = ["Cost against the price ratio", "Latency, load and cost"]
    assert (beside(dashboard, "how"), beside(dashboard, "csv")) == (both, both)


def test_a_csv_is_unrounded_and_computes_nothing_in_a_spreadsheet():
    text = as_csv([{"series": "=1+1", "x": 1 / 3}, {"series": "b", "note": "n"}]).decode()

    assert text.splitlines() == ["series,x,note", f"'=1+1,{1 / 3},", "b,,n"]


def test_a_deployment_without_a_profile_is_uncalibrated():
    said = dict(
        said_of("a", "b", {"profile": "uncalibrated: catalog efficiencies", "calibration": {"x": {"profile": None}}})
    )

    assert said["Profile"] == "uncalibrated: catalog efficiencies"
    assert said["Error"].startswith("x: not known")
