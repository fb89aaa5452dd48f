"""`specfleet calibrate fit`, and what the catalog tells of a device of the user's own."""

import json

import pytest

from scenarios.store import catalog_hash
from simulator.catalog import load
from tests.app import toys
from tests.calibration.test_fit_device import SCENARIO, complete


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder without a catalog of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPECFLEET_CATALOG", raising=False)
    (tmp_path / "cpu.json").write_text(json.dumps(complete(noise=0.01)))
    load.forget()
    catalog_hash.cache_clear()
    yield tmp_path
    load.forget()
    catalog_hash.cache_clear()


def test_a_file_of_measurements_becomes_a_device_that_the_next_command_knows(folder):
    made = toys.call("calibrate", "fit", "cpu.json", "--name", "test-cpu")
    (folder / "own.yaml").write_text(SCENARIO)

    estimated = toys.call("estimate", "own.yaml", "--json")

    assert made.exit_code == 0
    assert "whole step" in made.stdout
    assert "gpu: test-cpu" in made.stdout
    assert estimated.exit_code == 0, estimated.output
    assert json.loads(estimated.stdout)["rows"][0]["gpu"] == "test-cpu"


def test_as_json_it_tells_errors_and_files(folder):
    document = json.loads(toys.call("calibrate", "fit", "cpu.json", "--name", "test-cpu", "--json").stdout)

    held = next(row for row in document["errors"] if row["on"] == "held out" and row["cause"] == "step")
    assert held["mean_ape"] < 0.03
    assert {file.rsplit("/", 2)[-2] for file in document["files"]} == {"gpus", "links", "profiles"}


def test_the_catalog_says_which_entries_are_the_users_own(folder):
    toys.call("calibrate", "fit", "cpu.json", "--name", "test-cpu")

    rows = json.loads(toys.call("catalog", "gpus", "--json").stdout)["rows"]

    assert [row["name"] for row in rows if "own_file" in row] == ["test-cpu"]
    assert "specfleet-catalog/gpus/test-cpu.yaml" in toys.call("catalog", "gpus", "test-cpu").stdout
    assert toys.call("catalog", "profiles").exit_code == 0


def test_a_noisy_machine_is_told_and_refused_only_when_asked(folder):
    (folder / "cpu.json").write_text(json.dumps(complete(load=7.0)))

    lenient = toys.call("calibrate", "fit", "cpu.json", "--name", "test-cpu")
    strict = toys.call("calibrate", "fit", "cpu.json", "--name", "test-cpu", "--strict")

    assert (lenient.exit_code, strict.exit_code) == (0, 2)
    assert "noisy: 7 other processes" in lenient.stderr
    assert "--strict" in strict.stderr


def test_a_missing_file_is_bad_input(folder):
    result = toys.call("calibrate", "fit", "nothing.json")

    assert result.exit_code == 2
    assert "nothing.json: cannot be read: No such file" in result.stderr


def test_a_draft_that_nobody_measured_there_is_bad_input(folder):
    toys.call("calibrate", "fit", "cpu.json", "--name", "test-cpu")
    (folder / "own.yaml").write_text(SCENARIO.replace("measured: lookup", "measured: eagle"))

    result = toys.call("estimate", "own.yaml")

    assert result.exit_code == 2
    assert "measured: lookup" in result.stderr
