import json

import pytest

from tests.app import toys

ROW_FIELDS = {"deployment", "gpu", "point", "ttft_s", "capacity_req_per_s", "usd_per_hour_for_offered", "interval"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scenario that has been run once, its results in runs/."""
    path = tmp_path_factory.mktemp("run")
    (path / "small.yaml").write_text(toys.SMALL)
    return path


def run(folder, *arguments, name="small.yaml"):
    return toys.call("run", folder / name, "--out", folder / "runs", "--jobs", "1", *arguments)


@pytest.fixture(scope="module")
def first(folder):
    return run(folder)


def test_a_run_prints_the_table_and_names_its_folder(first, folder):
    assert first.exit_code == 0
    assert "requests/s within the SLO" in first.stdout
    assert "Winner" in first.stdout
    assert f"results: {folder}/runs/small-" in first.stderr


def test_a_run_folder_holds_what_the_design_says(first, folder):
    (made,) = (folder / "runs").glob("small-*")

    assert {"scenario.yaml", "manifest.json", "summary.json", "summary.parquet", "report.html"} <= {
        file.name for file in made.iterdir()
    }
    assert json.loads((made / "manifest.json").read_text())["complete"] is True


def test_stdout_is_pure_json_of_the_designs_shape(first, folder):
    result = run(folder, "--json")

    document = json.loads(result.stdout)
    assert {"scenario", "provenance", "rows", "comparison"} <= set(document)
    assert set(document["rows"][0]) >= ROW_FIELDS
    assert len(document["replications"]) == 2


def test_the_same_run_is_found_again(first, folder):
    result = run(folder)

    assert "found again" in result.stderr
    assert "--force" in result.stderr
    assert result.stdout == first.stdout


def test_a_report_that_was_lost_is_drawn_again_without_simulating(first, folder, monkeypatch):
    monkeypatch.setattr("simulator.planning.replication.study_replication", lambda *_, **__: pytest.fail("computed"))
    (report,) = (folder / "runs").glob("small-*/report.html")
    before = report.read_bytes()
    report.unlink()

    run(folder)

    assert report.read_bytes() == before


def test_quiet_leaves_stderr_empty(first, folder):
    result = run(folder, "--quiet")

    assert result.stderr == ""
    assert result.stdout == first.stdout


def test_force_computes_anew_and_comes_to_the_same(first, folder):
    (summary,) = (folder / "runs").glob("small-*/summary.json")
    before = summary.read_bytes()

    result = run(folder, "--force")

    assert "found again" not in result.stderr
    assert summary.read_bytes() == before


def test_seeds_replace_the_replications(folder):
    document = json.loads(run(folder, "--seeds", "1", "--json").stdout)

    assert len(document["replications"]) == 1
    assert document["rows"][0]["interval"] == {}


def test_a_longer_sweep_computes_only_what_it_adds(folder):
    run(folder, "--seeds", "1", "--set", "sweep={workload.arrivals.rate_per_s: [2, 3]}")

    result = run(folder, "--seeds", "1", "--set", "sweep={workload.arrivals.rate_per_s: [2, 3, 5]}")

    assert "found again: 2 of 3 points" in result.stderr
    assert "Over the sweep" in result.stdout


def test_a_sweep_has_a_comparison_for_each_point_and_one_for_all(folder):
    sweep = "sweep={workload.arrivals.rate_per_s: [2, 3]}"

    document = json.loads(run(folder, "--seeds", "1", "--set", sweep, "--json").stdout)

    assert [point["values"] for point in document["points"]] == [{"workload.arrivals.rate_per_s": n} for n in (2, 3)]
    assert document["comparison"]["winner"] == "plain"
    assert {row["point"] for row in document["rows"]} == {point["point"] for point in document["points"]}


def test_a_failed_assert_is_four_and_shows_its_numbers(first, folder):
    result = run(folder, "--set", "assert=[plain.num_gpus < 1, plain.num_gpus == 1]")

    assert result.exit_code == 4
    assert "✗  plain.num_gpus < 1   (1 against 1)" in result.stdout
    assert "✓  plain.num_gpus == 1" in result.stdout


def test_what_fits_nowhere_is_three(folder):
    result = run(folder, "--set", toys.TOO_LARGE)

    assert result.exit_code == 3
    assert "lacks" in result.stdout


def test_a_load_that_is_held_nowhere_is_three(folder):
    result = run(folder, "--seeds", "1", "--set", "slo.ttft_s.p95=0.000001")

    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "nope=1"), "--set nope: no such place"),
        (("--set", "replications"), "write --set path=YAML"),
        (("--set", "deployments.plain.gpu=h2000"), "h2000"),
        (("--set", "deployments.plain.target.tensor_parallel=3"), "does not divide"),
        (("--seeds", "0"), "--seeds"),
    ],
)
def test_bad_input_is_told_without_a_traceback(folder, arguments, said):
    result = run(folder, *arguments)

    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_a_file_that_is_not_there_is_bad_input(folder):
    result = run(folder, name="none.yaml")

    assert result.exit_code == 2
    assert "no such file" in result.stderr


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_computed(folder, monkeypatch):
    monkeypatch.setattr("simulator.planning.replication.study_replication", lambda *_, **__: pytest.fail("computed"))

    result = toys.call("run", folder / "small.yaml", "--out", folder / "small.yaml")

    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert "--out" in result.stderr


def test_requests_are_written_on_request(folder):
    pyarrow = pytest.importorskip("pyarrow.parquet")

    run(folder, "--seeds", "1", "--set", "seed=9", "--requests")

    (file,) = (folder / "runs").glob("small-*/requests.parquet")
    table = pyarrow.read_table(file)
    assert table.num_rows >= 60
    assert {"point", "deployment", "class", "arrival_s"} <= set(table.column_names)


def test_an_internal_error_keeps_what_was_there(first, folder, monkeypatch):
    (summary,) = [
        file for file in (folder / "runs").glob("small-*/summary.json") if '"replications": 2' in file.read_text()
    ][:1]
    before = summary.read_bytes()

    def broken(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("simulator.planning.replication.study_replication", broken)
    result = run(folder, "--force")

    assert result.exit_code == 1
    assert summary.read_bytes() == before
