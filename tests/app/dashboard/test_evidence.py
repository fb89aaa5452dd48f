from pathlib import Path

import pytest

from app.dashboard.bring import EXAMPLE
from app.dashboard.own_evidence import MOST_BYTES, benchmark_csv, check_size, decoded, predicted, read_counters
from app.evidence.published import FILE, METRICS, as_csv, compared, pairs, published
from calibration.serving_csv import read_serving
from calibration.validate import outcome
from simulator.errors import ScenarioError
from tests.app.dashboard.looking import changed, figures, labelled, table

HEADER = "engine,gpu,model,precision,tp,isl,osl,load,concurrency,tpot_ms\n"
ROW = "trtllm,h200-sxm,llama-3.1-70b,fp8,1,1024,64,closed_loop,4,20\n"


@pytest.fixture
def page(dashboard):
    return dashboard.open("evidence")


def test_every_published_row_is_predicted_and_names_its_source():
    rows = published()

    assert len(rows) >= 60
    assert all(row.source and not row.reason for row in rows)
    assert all(len(pairs(rows, metric)) > 10 for metric in METRICS)


def test_another_metric_gives_other_points(page):
    before = figures(page)[0]
    labelled(page, "Metric").set_value("ttft").run()

    assert figures(page)[0] != before


def test_a_gpu_can_be_left_out(page):
    labelled(page, "GPU").set_value(["b200-sxm"]).run()

    assert {row["GPU"] for row in table(page, "bias")} == {"b200-sxm"}


def test_nothing_to_compare_says_what_to_choose(page):
    labelled(page, "Engine").set_value([]).run()

    assert "Choose another" in page.at.info[0].value


def test_profiles_can_be_judged_on_models_left_out(page):
    before = figures(page)[1]
    labelled(page, "Judged on").set_value("left_out").run()

    assert figures(page)[1] != before


def test_a_profile_tells_its_measurements_and_its_sources(page):
    labelled(page, "Profile").set_value("h200-sxm-vllm").run()

    assert {"linear", "experts"} <= {row["part"] for row in table(page, "part")}
    assert "aiconfigurator-core" in page.html


def test_the_example_of_counters_becomes_an_acceptance_that_the_scenario_takes(page):
    page.press("bring_example")
    labelled(page, "Class of requests").set_value("prose").run()
    page.press("bring_take")

    taken = page.scenario().deployments["h200-spec"].speculation.draft.acceptance
    assert taken["prose"].histogram == {0: 280, 1: 200, 2: 130, 3: 110, 4: 280}
    assert taken["code"].survival is not None


def test_a_text_that_says_nothing_is_refused_in_words(page):
    page.control("bring_first").set_value("hello").run()

    assert "neither JSON nor a Prometheus /metrics text" in page.said
    assert "/tmp" not in page.said


def test_a_second_scrape_counts_what_lies_between():
    later = EXAMPLE.replace(" 1000\n", " 1500\n").replace(" 4000\n", " 6000\n").replace(" 1910\n", " 2810\n")
    for before, after in ((720, 1070), (520, 770), (390, 570), (280, 400)):
        later = later.replace(f" {before}\n", f" {after}\n")

    found = read_counters([EXAMPLE, later])

    assert (found.steps, found.tokens_per_step) == (500, pytest.approx(2.8))


def test_a_benchmark_is_predicted_row_by_row():
    found = predicted(HEADER + ROW)

    assert len(pairs(found, "tpot")) == 1
    assert pairs(found, "tpot")[0].predicted == pytest.approx(0.02, rel=0.3)


def test_a_benchmark_tools_json_needs_what_it_does_not_say():
    with pytest.raises(ScenarioError, match="no result of a benchmark"):
        benchmark_csv("{}", {})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEADER + ROW * 30, "30 rows; a browser gets at most 24"),
        (HEADER + ROW.replace(",4,", ",99999,"), ":2: concurrency: 99,999; a browser gets at most 1,024"),
    ],
)
def test_a_benchmark_that_is_too_large_is_refused_before_anything_is_computed(text, told):
    with pytest.raises(ScenarioError, match=told):
        check_size(text)


def test_what_a_benchmark_lacks_is_named_without_a_path_of_the_server():
    with pytest.raises(ScenarioError, match="your file") as error:
        predicted("a,b\n1,2\n")

    assert "/tmp" not in str(error.value)


@pytest.mark.parametrize(("data", "told"), [(b"x" * (MOST_BYTES + 1), "at most"), (b"\xff\xfe", "UTF-8")])
def test_a_hostile_upload_is_refused(data, told):
    with pytest.raises(ScenarioError, match=told):
        decoded(data)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "{}", "[1]", "x" * 2_000_000, "\x00", "# TYPE a counter\n"])
def test_a_hostile_text_is_refused_in_words(text):
    with pytest.raises(ScenarioError):
        read_counters([text])


def test_a_cell_that_is_too_large_is_refused():
    with pytest.raises(ScenarioError, match="not a CSV"):
        check_size("a\n" + "x" * 200_000 + "\n")


@pytest.mark.slow
def test_an_uploaded_benchmark_is_predicted_beside_the_page(page):
    page.control("evidence_benchmark").upload("mine.csv", (HEADER + ROW).encode()).run()

    assert "TPOT, median error" in {metric.label for metric in page.at.metric}
    assert not page.at.exception


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("mine.csv", b"a,b\n1,2\n" * 100, "a browser gets at most 24"),
        ("mine.json", b"{}", "no result of a benchmark"),
        ("mine.csv", b"\xff\xfe", "UTF-8"),
    ],
)
def test_an_upload_that_cannot_be_predicted_says_why(page, name, data, told):
    page.control("evidence_benchmark").upload(name, data).run()

    assert told in page.said
    assert not page.at.exception


def test_a_benchmark_tools_json_is_asked_what_it_leaves_open(page):
    page.control("evidence_benchmark").upload("mine.json", b"{}").run()

    assert {"bring_gpu", "bring_model", "bring_engine", "bring_precision"} <= {box.key for box in page.at.selectbox}


def test_without_a_draft_there_is_nowhere_to_take_an_acceptance_to(page):
    for name in ("h200-spec", "b200-spec"):
        page.at.session_state["specfleet_loaded"] = changed(page, f"deployments.{name}.speculation", {"kind": "none"})
    page.press("bring_example")

    assert "give one a draft on the page Speculation" in page.at.info[-1].value


def test_the_published_rows_are_written_as_they_are_read():
    assert as_csv(published()) == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", ["trtllm", "vllm"])
def test_the_stored_predictions_are_those_of_the_model_of_today(engine):
    stored = next(row for row in published() if row.engine == engine and "128 in flight" not in row.configuration)
    rows = read_serving(Path(__file__).parents[2] / "published" / "serving_rows.csv")

    today = compared(outcome(next(row for row in rows if row.id == stored.id)))

    assert today.predicted_tpot_s == pytest.approx(stored.predicted_tpot_s, rel=1e-3), (
        "`make evidence` writes them anew"
    )
