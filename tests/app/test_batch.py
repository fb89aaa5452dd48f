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


SWEEP = "sweep={workload.arrivals.rate_per_s: [1.5, 2.5]}"


def cut(monkeypatch, before):
    """Interrupt before the task of this number."""
    import simulator.planning.replication as planning

    whole, calls = planning.study_replication, []

    def interrupted(task):
        calls.append(task)
        if len(calls) == before:
            raise KeyboardInterrupt
        return whole(task)

    monkeypatch.setattr(planning, "study_replication", interrupted)


def test_an_interrupt_keeps_what_is_finished(folder, monkeypatch):
    cut(monkeypatch, before=2)

    result = toys.call("run", folder / "a.yaml", "--out", folder / "cut", "--jobs", "1", "--set", SWEEP)

    (manifest,) = (folder / "cut").glob("*/manifest.json")
    told = json.loads(manifest.read_text())
    assert result.exit_code == 130
    assert "1 of 2 points are finished" in result.stderr
    assert (told["complete"], len(told["points"])) == (False, 1)


def test_an_interrupted_run_goes_on_where_it_stopped(folder):
    result = toys.call("run", folder / "a.yaml", "--out", folder / "cut", "--jobs", "1", "--set", SWEEP)

    (manifest,) = (folder / "cut").glob("*/manifest.json")
    assert "found again: 1 of 2 points" in result.stderr
    assert json.loads(manifest.read_text())["complete"] is True


def test_an_interrupt_before_anything_is_finished_writes_no_summary(folder, monkeypatch):
    cut(monkeypatch, before=1)

    result = toys.call("run", folder / "a.yaml", "--out", folder / "none", "--jobs", "1")

    assert result.exit_code == 130
    assert list((folder / "none").glob("*/summary.json")) == []


def test_an_interrupted_batch_keeps_the_files_that_are_finished_and_tells_of_the_others(folder, monkeypatch):
    cut(monkeypatch, before=2)

    result = toys.call("run", folder / "a.yaml", folder / "d.yaml", "--out", folder / "two", "--jobs", "1")

    told = [json.loads(file.read_text())["complete"] for file in sorted((folder / "two").glob("*/manifest.json"))]
    assert result.exit_code == 130
    assert sorted(told) == [False, True]
    assert f"interrupted: {folder}/d.yaml, 0 of 1 points are finished" in result.stderr


def test_a_task_that_fails_fails_its_file_and_no_other(folder, monkeypatch):
    import simulator.planning.replication as planning

    whole = planning.study_replication

    def broken(task):
        if task.scenario.deployments["plain"].replicas == 2:
            raise ZeroDivisionError("by zero")
        return whole(task)

    monkeypatch.setattr(planning, "study_replication", broken)
    (folder / "more").mkdir()
    (folder / "more" / "a.yaml").write_text((folder / "a.yaml").read_text().replace("replicas: 1", "replicas: 2"))
    (folder / "more" / "b.yaml").write_text((folder / "a.yaml").read_text())
    result = toys.call("run", folder / "more", "--out", folder / "more-runs", "--jobs", "1", "--json")

    assert result.exit_code == 1
    assert [entry["exit_code"] for entry in json.loads(result.stdout)["runs"]] == [1, 0]
    assert "ZeroDivisionError" in result.stderr


def test_the_second_of_two_batches_finds_what_the_first_has_written_meanwhile(folder, monkeypatch):
    import simulator.planning.replication as planning

    whole, computed = planning.study_replication, []

    def beside_another(task):
        computed.append(task.point)
        if len(computed) == 1:
            toys.call("run", folder / "a.yaml", "--out", folder / "both", "--jobs", "1", "--set", SWEEP)
        return whole(task)

    monkeypatch.setattr(planning, "study_replication", beside_another)
    result = toys.call("run", folder / "a.yaml", "--out", folder / "both", "--jobs", "1", "--set", SWEEP)

    first, second = "workload.arrivals.rate_per_s=1.5", "workload.arrivals.rate_per_s=2.5"
    assert result.exit_code == 0
    assert computed == [first, first, second]
    assert len(list((folder / "both").glob("*/points/*"))) == 2
