"""Loads that only figures need."""

from scenarios.load import load_scenario
from simulator.planning.study import study


def test_no_row_follows_from_the_loads_that_figures_fill_in():
    chat = load_scenario("h200_vs_b200_chat", ["workload.horizon={requests: 60}", "replications=1"]).points[0].scenario
    one = chat.model_copy(update={"deployments": {"h200-plain": chat.deployments["h200-plain"]}})

    filled, bare = study(one), study(one, fill=False)

    assert filled.report.rows == bare.report.rows
    assert len(filled.evidence["h200-plain"]["trials"]) > len(bare.evidence["h200-plain"]["trials"])
