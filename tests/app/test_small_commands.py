import json

import pytest

from app import checkup
from simulator.catalog.load import NOUNS
from tests.app import toys


@pytest.mark.parametrize("kind", NOUNS)
def test_every_kind_of_the_catalog_is_shown_with_its_sources(kind):
    result = toys.call("catalog", kind)

    assert result.exit_code == 0
    assert "[1]  " in result.stdout


@pytest.mark.parametrize("kind", NOUNS)
def test_every_kind_of_the_catalog_is_json(kind):
    document = json.loads(toys.call("catalog", kind, "--json").stdout)

    assert document["kind"] == kind
    assert all(row["source"] for row in document["rows"])


def test_the_catalog_alone_lists_its_kinds():
    assert set(json.loads(toys.call("catalog", "--json").stdout)) == set(NOUNS)
    assert "price lists" in toys.call("catalog").stdout


def test_an_entry_is_shown_whole():
    result = toys.call("catalog", "gpus", "h200-sxm")

    assert "driver_mib: 143771" in result.stdout
    assert "sources:" in result.stdout


def test_a_name_alone_or_a_kind_in_the_singular_is_understood():
    assert toys.call("catalog", "h200-sxm").stdout == toys.call("catalog", "gpu", "h200-sxm").stdout


@pytest.mark.parametrize("arguments", [("nothing",), ("gpus", "h2000"), ("nothing", "h200-sxm")])
def test_what_the_catalog_does_not_hold_is_bad_input(arguments):
    result = toys.call("catalog", *arguments)

    assert result.exit_code == 2
    assert "known:" in result.stderr


def test_an_entry_with_dates_is_json():
    assert (
        "2"
        in json.loads(toys.call("catalog", "gpus", "h200-sxm", "--json").stdout)["entry"]["sources"]["memory"]["date"]
    )


def test_the_schema_is_json_with_and_without_the_flag():
    plain, flagged = toys.call("schema"), toys.call("schema", "--json")

    assert plain.stdout == flagged.stdout
    assert json.loads(plain.stdout)["title"] == "specfleet scenario file"


def test_the_starter_is_written_and_fits(tmp_path):
    result = toys.call("init", tmp_path / "new" / "chat.yaml")

    assert result.exit_code == 0
    assert toys.call("memory", tmp_path / "new" / "chat.yaml").exit_code == 0


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text("mine")

    result = toys.call("init", tmp_path)

    assert result.exit_code == 2
    assert path.read_text() == "mine"
    assert "--force" in result.stderr


def test_force_overwrites_and_json_names_the_file(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text("mine")

    result = toys.call("init", path, "--force", "--json")

    assert json.loads(result.stdout) == {"written": str(path)}
    assert path.read_text() != "mine"


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path):
    (tmp_path / "file").write_text("")

    assert toys.call("init", tmp_path / "file" / "chat.yaml").exit_code == 2


def test_the_doctor_finds_this_installation_whole():
    result = toys.call("doctor", "--json")

    document = json.loads(result.stdout)
    assert (result.exit_code, document["ok"]) == (0, True)
    assert {"python", "numpy", "catalog: gpus", "extra: engine"} <= {check["what"] for check in document["checks"]}


def test_the_doctor_names_what_is_missing(monkeypatch):
    monkeypatch.setattr(checkup, "REQUIRED", {"numpy": "99", "no-such-package": "1"})

    result = toys.call("doctor")

    assert result.exit_code == 1
    assert "✗  numpy" in result.stdout
    assert "pip install 'no-such-package>=1'" in result.stdout


def test_estimate_prints_the_same_table_with_the_error_of_its_step_model(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(toys.SMALL)

    result = toys.call("estimate", path)

    assert result.exit_code == 0
    assert "estimated from the steady state" in result.stdout
    assert "step times to a factor of" in result.stdout


def test_estimate_as_json_has_the_shape_of_run(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(toys.SMALL)

    document = json.loads(toys.call("estimate", path, "--json").stdout)

    assert {"scenario", "provenance", "rows", "comparison"} <= set(document)
    assert document["rows"][0]["replication"] == "estimate"


def test_an_estimate_of_what_does_not_fit_is_three(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(toys.SMALL)

    assert toys.call("estimate", path, "--set", toys.TOO_LARGE).exit_code == 3
