import pytest

from tests.app.dashboard.looking import changed, figure, figures, labelled, table


@pytest.fixture
def load(dashboard):
    return dashboard.open("load")


def test_the_page_opens_on_the_latency_that_is_targeted(load):
    assert figure(load)["layout"]["yaxis"]["title"]["text"] == "TPOT p95"
    assert "target 30 ms" in figures(load)[0]


@pytest.mark.parametrize(
    ("label", "value", "title"), [("Latency", "ttft_s", "TTFT p95"), ("Statistic", "p50", "TPOT p50")]
)
def test_latency_and_statistic_can_be_chosen(load, label, value, title):
    labelled(load, label).set_value(value).run()

    assert figure(load)["layout"]["yaxis"]["title"]["text"] == title


def test_a_deployment_can_be_left_out(load):
    labelled(load, "Deployments").set_value(["h200-spec"]).run()

    assert {trace["name"] for trace in figure(load)["data"]} == {"h200-spec"}
    assert [row["deployment"] for row in table(load, "knee /s")] == ["h200-spec"]


def test_without_a_deployment_the_page_says_what_to_do(load):
    labelled(load, "Deployments").set_value([]).run()

    assert "choose a deployment" in load.at.info[0].value
    assert figures(load) == []


def test_what_does_not_fit_is_named_and_the_rest_is_drawn(load):
    load.at.session_state["specfleet_loaded"] = changed(load, "deployments.h200-plain.engine.hbm_budget_gb", 20.0)
    load.at.run()

    assert "h200-plain is not drawn" in load.at.warning[0].value
    assert len(table(load, "knee /s")) == 3


def test_a_higher_offered_load_moves_the_curve_of_distributions(load):
    before = figures(load)[-3:]
    load.at.session_state["specfleet_loaded"] = changed(load, "workload.arrivals.rate_per_s", 10.0)
    load.at.run()

    assert all(a != b for a, b in zip(before, figures(load)[-3:], strict=True))


def test_figures_have_words_for_those_who_cannot_see_them(load):
    assert all(chart.proto.alt for chart in load.at.get("plotly_chart"))
