from pathlib import Path

import pytest

from app.dashboard.arriving import arriving
from app.dashboard.document import mapping_of
from app.dashboard.share import decode, encode
from app.format import significant
from scenarios.load import load_scenario
from scenarios.store import to_yaml
from simulator.planning.estimate import estimate
from tests.app.dashboard.looking import beside, changed, figure, figures, labelled, table


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


def test_long_names_are_offered_as_the_legend_has_them(dashboard):
    scenario = mapping_of(load_scenario("h200_vs_b200_chat"))
    names = {f"production-eu-west-chat-{name}-{'and-on-' * 5}x": spec for name, spec in scenario["deployments"].items()}
    page = dashboard.open("load", encode({**scenario, "deployments": names}))

    assert [option[:12] for option in labelled(page, "Deployments").options] == [
        "…h200-plain-", "…h200-spec-a", "…b200-plain-", "…b200-spec-a"
    ]  # fmt: skip


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


AZURE = b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"".join(
    b"2023-11-16 18:15:%02d.0,%d,%d\n" % (second, 400 + 100 * second, 50 + second) for second in range(60)
)
BURSTGPT = b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" + b"".join(
    b"%d,m,%d,%d,%d,Conversation log\n" % (second, 400, 50, 450) for second in range(60)
)


@pytest.fixture
def requests(load):
    load.at.session_state["load_tab"] = "What arrives"
    load.at.run()
    return load


def uploaded(load, data, name="mine.csv"):
    load.at.file_uploader[0].set_value((name, data, "text/csv")).run()
    return load


def arrivals(load):
    return load.scenario().workload.arrivals


def test_the_requests_that_are_drawn_are_those_that_a_simulation_serves(requests):
    from itertools import islice

    from simulator.cluster.traffic import request_chunks

    scenario = requests.scenario()
    first = next(islice(request_chunks(scenario.workload, scenario.seed, 0, None), 1))

    found = arriving(scenario)

    assert found.size == scenario.workload.horizon.requests
    assert found.times_s[:512].tolist() == first.arrival_s.tolist()
    assert found.output_tokens[:512].tolist() == first.output_tokens.tolist()


def test_the_bars_hold_every_request_of_the_whole_windows(requests):
    bars, found = figure(requests)["data"][0], arriving(requests.scenario())
    rates, window = bars["y"], bars["width"]

    assert sum(rates) * window == (found.times_s - found.times_s[0] < len(rates) * window).sum()


def test_another_process_keeps_the_rate_and_brings_its_parameters(requests):
    requests.move("arrivals_kind", "bursty").move("arrivals_burst", 4.0)

    assert requests.said == ""
    assert (arrivals(requests).kind, arrivals(requests).rate_per_s, arrivals(requests).burst_factor) == (
        "bursty", 21.0, 4.0,
    )  # fmt: skip
    assert "Estimated for Poisson arrivals at the mean rate, without bursts of 4 times" in captions(requests)


def captions(load):
    return "\n".join(caption.value for caption in load.at.caption)


@pytest.mark.parametrize("kind", ["gamma", "diurnal", "constant"])
def test_every_process_can_be_chosen(requests, kind):
    requests.move("arrivals_kind", kind)

    assert (requests.said, arrivals(requests).kind, arrivals(requests).rate_per_s) == ("", kind, 21.0)


def test_a_sample_is_replayed_in_place_of_drawn_requests_and_stands_in_the_link(requests):
    requests.move("trace_chosen", "sample-bursty.jsonl").press("trace_replay")
    link = requests.at.query_params["s"]

    assert requests.said == ""
    assert (arrivals(requests).kind, requests.scenario().workload.lengths.kind) == ("trace", "trace")
    assert "replays every request at its time" in captions(requests)
    assert decode(link)["workload"]["arrivals"]["file"] == "sample-bursty.jsonl"


def test_figures_of_an_uploaded_trace_are_those_of_the_library(requests, tmp_path):
    uploaded(requests, AZURE).press("trace_replay")
    file = tmp_path / "mine.csv"
    file.write_bytes(AZURE)
    mapping = mapping_of(requests.at.session_state["specfleet_loaded"])

    same = load_scenario(str(tmp_path / "scenario.yaml"), text=to_yaml(mapping)).points[0].scenario
    requests.at.session_state["load_tab"] = "Latency and cost"
    requests.at.run()

    assert mapping["workload"]["arrivals"]["file"] == "mine.csv"
    assert same.workload.horizon.requests == 60
    capacities = {row["deployment"]: row["capacity /s"] for row in table(requests, "knee /s")}
    assert capacities == {name: significant(estimate(same, name)["capacity_req_per_s"]) for name in same.deployments}


def test_an_uploaded_trace_is_in_no_link_and_the_page_says_what_is(requests):
    uploaded(requests, AZURE).press("trace_replay")

    assert "s" not in requests.at.query_params
    assert any("No link holds the uploaded trace mine.csv" in text.value for text in requests.at.markdown)
    requests.press("trace_fit")
    assert "s" in requests.at.query_params


def test_prompts_that_are_too_long_are_counted(requests):
    uploaded(requests, AZURE.replace(b"6300,", b"9300,")).press("trace_replay")

    everybody = "h200-plain, h200-spec, b200-plain, b200-spec"
    said = f"At most 8,192 tokens a sequence ({everybody}): of 60 requests 1 are rejected for their prompt, 0 are cut."
    assert said in captions(requests)


def test_what_is_no_trace_is_refused_in_one_sentence(requests):
    uploaded(requests, AZURE + b"2023-11-16 18:17:00.0,many,3\n")

    assert "mine.csv:62: ContextTokens is 'many': a whole number is needed" in requests.said
    assert not requests.at.exception
    assert arrivals(requests).kind == "poisson"


def test_classes_that_no_draft_knows_are_told(requests):
    uploaded(requests, BURSTGPT).press("trace_replay")

    assert "conversation" in requests.said
    assert arrivals(requests).kind == "poisson"


def test_drawn_requests_come_back_with_the_rate_and_the_lengths_of_the_trace(requests):
    uploaded(requests, AZURE).press("trace_replay").press("trace_back")

    assert requests.said == ""
    assert (arrivals(requests).kind, arrivals(requests).rate_per_s) == ("poisson", 1.0)
    assert requests.scenario().workload.lengths.prompt_tokens[0] == 400


def test_a_process_takes_the_place_of_a_trace_at_its_rate(requests):
    uploaded(requests, AZURE).press("trace_replay").move("trace_time_scale", 0.5)

    requests.move("arrivals_kind", "gamma")

    assert requests.said == ""
    assert (arrivals(requests).kind, arrivals(requests).rate_per_s) == ("gamma", 2.0)
    assert requests.scenario().workload.lengths.kind == "quantiles"


def test_a_trace_can_be_cut_stretched_and_repeated(requests):
    uploaded(requests, AZURE).press("trace_replay")

    requests.move("trace_limit", 30).move("trace_time_scale", 2.0).move("trace_rate_scale", 2.0)

    found = arriving(requests.scenario())
    assert requests.said == ""
    assert found.size == 60
    assert found.times_s[-1] == pytest.approx(2.0 * 29, abs=2.0)


def test_a_trace_that_the_server_lost_gives_way_to_what_is_built_in(requests):
    uploaded(requests, AZURE).press("trace_replay")
    Path(arrivals(requests).file).unlink()

    requests.at.run()

    assert "no longer has the trace" in requests.said
    assert arrivals(requests).kind == "poisson"
    assert not requests.at.exception


def test_a_swept_load_ends_at_its_chosen_point_when_a_trace_takes_its_place(dashboard):
    dashboard.open().move("open", "long_context_split_cache")
    dashboard.open("load").at.session_state["load_tab"] = "What arrives"
    dashboard.at.run()

    dashboard.move("trace_chosen", "sample-bursty.jsonl").press("trace_replay")

    assert dashboard.said == ""
    assert arrivals(dashboard).kind == "trace"
    assert len(dashboard.at.session_state["specfleet_loaded"].points) == 1


def test_clients_that_wait_have_no_times_to_draw(dashboard):
    dashboard.open().move("open", "long_context_split_cache")
    dashboard.open("load").at.session_state["load_tab"] = "What arrives"
    dashboard.at.run()

    assert "no times of their own" in dashboard.at.info[0].value
    assert len(figures(dashboard)) == 1
    dashboard.move("arrivals_kind", "poisson")
    assert (dashboard.said, arrivals(dashboard).kind) == ("", "poisson")


def test_every_figure_says_how_it_was_computed_and_gives_its_numbers(load):
    assert len(beside(load, "how")) == len(beside(load, "csv")) == len(figures(load)) == 6

    load.at.session_state["load_tab"] = "What arrives"
    load.at.run()

    assert beside(load, "how") == beside(load, "csv") == ["Requests over time", "Lengths of prompts and outputs"]
