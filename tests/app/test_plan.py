"""`specfleet plan`, from the file to the folder."""

import json

import pytest

from tests.app import plan_toys, toys

SMALLER = "plan.vary={gpu: [h200-sxm], engine.max_num_seqs: [8, 64]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plan file."""
    path = tmp_path_factory.mktemp("plan")
    (path / "small.yaml").write_text(plan_toys.SMALL)
    return path


def plan(folder, *arguments):
    return toys.call("plan", folder / "small.yaml", "--out", folder / "runs", "--jobs", "1", *arguments)


@pytest.fixture(scope="module")
def first(folder):
    return plan(folder)


def made(folder):
    (found,) = (folder / "runs").glob("plan-small-*")
    return found


def test_a_plan_prints_the_choice_and_names_its_folder(first, folder):
    assert first.exit_code == 0, first.output
    assert "small — a plan for 4 requests/s" in first.stdout
    assert "Choice plain.h200-sxm" in " ".join(first.stdout.split())
    assert f"results: {folder}/runs/plan-small-" in first.stderr
    assert "to run the choice: specfleet run" in first.stderr


def test_the_same_question_is_answered_from_the_folder(first, folder, monkeypatch):
    monkeypatch.setattr("simulator.planning.search.plan", lambda *_, **__: pytest.fail("searched"))

    result = plan(folder)

    assert "found again" in result.stderr
    assert result.stdout == first.stdout


def test_stdout_is_pure_json_of_every_candidate(first, folder):
    document = json.loads(plan(folder, "--json").stdout)

    assert document["choice"] in {point["name"] for point in document["points"]}
    assert document["counts"]["candidates"] == len(document["points"]) == 4
    choices = {point["name"]: point["choices"] for point in document["points"]}
    assert choices["plain.b200-sxm.seqs8"] == {"gpu": "b200-sxm", "engine.max_num_seqs": 8}
    assert {point["offer"] for point in document["points"]} == {"plain"}


def test_running_the_choice_holds_the_target(first, folder):
    result = toys.call("run", made(folder) / "choice.yaml", "--out", folder / "again", "--jobs", "1")

    assert result.exit_code == 0, result.output
    assert "✓" in result.stdout


def test_force_searches_anew_and_comes_to_the_same(first, folder):
    before = (made(folder) / "choice.yaml").read_bytes()

    result = plan(folder, "--force")

    assert "found again" not in result.stderr
    assert (made(folder) / "choice.yaml").read_bytes() == before


def test_where_nothing_holds_the_exit_code_is_three(folder):
    result = plan(folder, "--set", "slo.ttft_s.p95=0.000001", "--set", SMALLER)

    assert result.exit_code == 3
    assert "Choice none" in " ".join(result.stdout.split())
    assert "to run the choice" not in result.stderr


def test_a_scenario_without_a_question_gets_the_replicas_of_its_deployments(tmp_path):
    (tmp_path / "small.yaml").write_text(toys.SMALL)

    result = plan(tmp_path, "--json")

    assert result.exit_code == 0
    assert [point["name"] for point in json.loads(result.stdout)["points"]] == ["plain"]


def test_the_money_of_a_month_is_told_by_contract(folder):
    fleet = "plan.fleet={hours: [1, 4, 9, 4], reserved: {h200-sxm: 2.5, b200-sxm: 4}}"

    result = plan(folder, "--set", fleet, "--set", "plan.headroom=0")

    assert result.exit_code == 0, result.output
    assert "A month of it" in result.stdout
    assert "reserved" in result.stdout


def test_quiet_leaves_stderr_empty(first, folder):
    assert plan(folder, "--quiet").stderr == ""


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_other_commands_lead_to_plan(folder, command):
    result = toys.call(command, folder / "small.yaml")

    assert result.exit_code == 2
    assert "`specfleet plan" in result.stderr


def test_nothing_is_written_for_a_file_that_is_wrong(tmp_path):
    (tmp_path / "small.yaml").write_text(plan_toys.SMALL.replace("headroom", "headrom"))

    result = plan(tmp_path)

    assert result.exit_code == 2
    assert "plan.headrom: unknown key; nearest: headroom" in result.stderr
    assert not (tmp_path / "runs").exists()
