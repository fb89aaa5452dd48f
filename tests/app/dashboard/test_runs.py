"""The page Runs, over run folders that the command line wrote."""

import json
import shutil

import pytest

from app.dashboard import stored
from scenarios.runs import list_runs
from simulator.errors import ScenarioError
from tests.app.dashboard.looking import beside, labelled, table
from tests.app.toys import SMALL, call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run, the same at a higher price, and a sweep."""
    root = tmp_path_factory.mktemp("stored")
    (root / "small.yaml").write_text(SMALL)
    for sets in ([], ["--set", "deployments.plain.price=7"], ["--set", "sweep={workload.arrivals.rate_per_s: [2, 3]}"]):
        name = f"--set=name={('small', 'dear', 'swept')[len(sets) and 1 + ('sweep' in sets[1])]}"
        assert call("run", root / "small.yaml", "--out", root / "runs", "--jobs", "1", name, *sets).exit_code == 0
    return root / "runs"


@pytest.fixture
def page(dashboard, folder, monkeypatch):
    monkeypatch.setenv("SPECFLEET_RUNS", str(folder))
    return dashboard.open("runs")


def run_named(folder, scenario):
    return next(run for run in list_runs(folder) if run.scenario == scenario)


def test_every_run_is_listed_with_its_state(page):
    rows = table(page, "run")

    assert {row["scenario"] for row in rows} == {"small", "dear", "swept"}
    assert {row["state"] for row in rows} == {"finished"}
    assert {row["GPUs"] for row in rows} == {"h200-sxm"}


@pytest.mark.parametrize(("pattern", "left"), [("swe", {"swept"}), ("s*l", {"small"}), ("DEAR", {"dear"})])
def test_runs_are_found_by_part_of_their_name(page, pattern, left):
    page.move("runs_name", pattern)

    assert {row["scenario"] for row in table(page, "run")} == left


def test_filters_that_leave_nothing_say_so(page):
    page.move("runs_name", "nothing like it")

    assert "choose other filters" in page.at.info[0].value


def test_an_opened_run_shows_the_figures_of_its_summary(page, folder):
    run = run_named(folder, "dear")
    page.move("runs_open", run.path.name)

    row = json.loads((run.path / "summary.json").read_text())["rows"][0]
    assert row["usd_per_hour"] == 7
    assert "$7.00/h" in page.html
    assert {button.proto.label for button in page.at.get("download_button")} == {
        "CSV",
        "Report (HTML)",
        "Scenario (YAML)",
    }


def test_the_report_goes_out_as_it_lies_in_the_folder(folder):
    run = run_named(folder, "small")

    assert stored.report_of(run) == (run.path / "report.html").read_bytes()


def test_a_sweep_is_shown_point_by_point(page, folder):
    page.move("runs_open", run_named(folder, "swept").path.name)
    first = page.html
    labelled(page, "Point").set_value("workload.arrivals.rate_per_s=3").run()

    assert "workload.arrivals.rate_per_s" in first
    assert page.html != first


def test_two_runs_are_compared_as_on_the_command_line(page, folder):
    before, after = run_named(folder, "small"), run_named(folder, "dear")
    page.move("runs_open", after.path.name).move("runs_against", before.path.name)

    told = json.loads(call("compare", before.path, after.path, "--json").stdout)
    assert told["rows"][0]["ratios"]["usd_per_hour_for_offered"]["ratio"] == pytest.approx(2.0)
    assert table(page, "$/h for the load")[0]["$/h for the load"].startswith("2.00×")
    assert {"place": "deployments.plain.price", "first": "3.5", "second": "7"} in table(page, "place")


def test_the_scenario_of_a_run_opens_on_all_pages(page, folder):
    page.move("runs_open", run_named(folder, "dear").path.name).press("runs_take")

    assert page.scenario().deployments["plain"].price == 7


def test_an_empty_folder_says_how_runs_come_there(dashboard, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECFLEET_RUNS", str(tmp_path / "none"))

    dashboard.open("runs")

    assert "specfleet run" in dashboard.at.info[0].value
    assert not dashboard.at.exception


def unfinished(folder, tmp_path, points_in_file=8):
    """A run folder as a batch leaves it that is on its way, with one point of several."""
    source = run_named(folder, "small").path
    target = tmp_path / "runs" / source.name
    (target / "points").mkdir(parents=True)
    manifest = json.loads((source / "manifest.json").read_text())
    manifest |= {"complete": False, "points": [], "points_in_file": points_in_file}
    (target / "manifest.json").write_text(json.dumps(manifest))
    point = next((source / "points").iterdir())
    (target / "points" / point.name).write_bytes(point.read_bytes())
    return target


def test_a_batch_on_its_way_shows_how_far_it_is(dashboard, folder, tmp_path, monkeypatch):
    target = unfinished(folder, tmp_path)
    monkeypatch.setenv("SPECFLEET_RUNS", str(target.parent))

    dashboard.open("runs")

    assert table(dashboard, "run")[0]["points"] == "1 of 8"
    assert table(dashboard, "run")[0]["state"] == "running"
    assert "None of these is finished" in dashboard.at.info[0].value


def test_runs_are_told_apart_by_gpu_and_state(dashboard, folder, tmp_path, monkeypatch):
    target = unfinished(folder, tmp_path)
    other = shutil.copytree(run_named(folder, "dear").path, target.parent / "other")
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"gpus": ["b200-sxm"]}))
    monkeypatch.setenv("SPECFLEET_RUNS", str(target.parent))
    dashboard.open("runs")

    on_b200 = [row["scenario"] for row in table(dashboard.move("runs_gpus", ["b200-sxm"]), "run")]
    running = [
        row["scenario"] for row in table(dashboard.move("runs_gpus", []).move("runs_states", ["running"]), "run")
    ]

    assert (on_b200, running) == (["dear"], ["small"])


def test_runs_of_too_many_points_are_compared_on_the_command_line(folder, monkeypatch):
    monkeypatch.setattr(stored, "MOST_COMPARED", 1)
    swept = run_named(folder, "swept")

    with pytest.raises(ScenarioError, match="2 points; a browser has at most 1 compared"):
        stored.compared(swept, swept)


def test_a_run_that_is_not_finished_is_not_opened(folder, tmp_path):
    [run] = list_runs(unfinished(folder, tmp_path).parent)

    with pytest.raises(ScenarioError, match="not finished"):
        stored.opened(run)


def test_a_run_whose_files_are_broken_is_told_by_its_name(folder, tmp_path):
    source = run_named(folder, "small").path
    target = tmp_path / "runs" / source.name
    target.mkdir(parents=True)
    (target / "manifest.json").write_bytes((source / "manifest.json").read_bytes())
    (target / "summary.json").write_text("{")
    [run] = list_runs(target.parent)

    with pytest.raises(ScenarioError, match=f"{source.name}: not a whole run folder"):
        stored.opened(run)


def test_a_summary_that_is_too_large_for_a_browser_is_left_alone(folder, monkeypatch):
    monkeypatch.setattr(stored, "MOST_BYTES", 10)
    run = run_named(folder, "small")
    stored._opened.cache_clear()

    with pytest.raises(ScenarioError, match=r"read its summary\.parquet"):
        stored.opened(run)


def test_an_opened_run_says_how_its_figures_were_computed_and_gives_them(page, folder):
    run = run_named(folder, "dear")
    page.move("runs_open", run.path.name)

    assert [key.split()[0] for key in beside(page, "csv")] == [run.path.name]
    assert beside(page, "how") == beside(page, "csv")
    assert "random streams from seed" in page.html
