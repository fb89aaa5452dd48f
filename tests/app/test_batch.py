import json

import pytest

from tests.app import toys


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of four scenarios: good, too large, wrong, and one whose assert fails."""
    path = tmp_path_factory.mktemp("batch")
    once = toys.SMALL.replace("replications: 2", "replications: 1")
    (path / "a.yaml").write_text(once)
    (path / "b.yaml").write_text(once.replace("llama-3.1-8b", "llama-3.1-405b"))
    (path / "c.yaml").write_text(once.replace("gpu:", "gpuu:"))
    (path / "d.yaml").write_text(once + "assert: [plain.num_gpus > 1]\n")
    return path


def run(folder, *names):
    files = [folder / name for name in names] or [folder]
    return toys.call("run", *files, "--out", folder / "runs", "--jobs", "1", "--json")


def test_a_folder_runs_every_file_and_returns_the_worst(folder):
    result = run(folder)

    document = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [found["exit_code"] for found in document["runs"]] == [0, 0, 2, 4]
    assert "gpuu" in document["runs"][2]["error"]


def test_what_does_not_fit_is_a_result_among_several_files(folder):
    assert run(folder, "a.yaml", "b.yaml").exit_code == 0


def test_a_failed_assert_among_several_files_is_four(folder):
    assert run(folder, "a.yaml", "d.yaml").exit_code == 4


def test_a_folder_without_scenarios_is_bad_input(tmp_path):
    result = toys.call("run", tmp_path)

    assert result.exit_code == 2
    assert "no scenario file" in result.stderr


def test_an_interrupt_keeps_what_is_finished(folder, monkeypatch):
    import simulator.planning.study as planning

    whole, calls = planning.study, []

    def interrupted(*arguments, **named):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(*arguments, **named)

    monkeypatch.setattr(planning, "study", interrupted)
    sweep = "sweep={workload.arrivals.rate_per_s: [1.5, 2.5]}"
    result = toys.call("run", folder / "a.yaml", "--out", folder / "cut", "--jobs", "1", "--set", sweep)

    (manifest,) = (folder / "cut").glob("*/manifest.json")
    told = json.loads(manifest.read_text())
    assert result.exit_code == 130
    assert "1 of 2 points are finished" in result.stderr
    assert (told["complete"], len(told["points"])) == (False, 1)


def test_an_interrupted_run_goes_on_where_it_stopped(folder):
    sweep = "sweep={workload.arrivals.rate_per_s: [1.5, 2.5]}"

    result = toys.call("run", folder / "a.yaml", "--out", folder / "cut", "--jobs", "1", "--set", sweep)

    (manifest,) = (folder / "cut").glob("*/manifest.json")
    assert "found again: 1 of 2 points" in result.stderr
    assert json.loads(manifest.read_text())["complete"] is True


def test_an_interrupt_before_anything_is_finished_writes_no_summary(folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("simulator.planning.study.study", interrupted)
    result = toys.call("run", folder / "a.yaml", "--out", folder / "none", "--jobs", "1")

    assert result.exit_code == 130
    assert list((folder / "none").glob("*/summary.json")) == []
