"""`specfleet runs`: list, show and prune."""

import json

import pytest

from tests.app import toys


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a scenario, and a runs folder with one finished run of it."""
    path = tmp_path_factory.mktemp("runs")
    (path / "small.yaml").write_text(toys.SMALL.replace("replications: 2", "replications: 1"))
    toys.call("run", path / "small.yaml", "--out", path / "runs", "--jobs", "1")
    return path


def runs(place, *arguments):
    return toys.call("runs", *arguments)


def the_run(place):
    (folder,) = (place / "runs").iterdir()
    return folder


def test_the_list_names_the_run_its_state_and_its_winner(place):
    result = runs(place, "list", "--out", place / "runs")

    assert result.exit_code == 0
    for part in ("1 run, 0.", the_run(place).name, "finished", "h200-sxm", "plain"):
        assert part in result.stdout


def test_the_list_is_json_on_request(place):
    document = json.loads(runs(place, "list", "--out", place / "runs", "--json").stdout)

    (run,) = document["runs"]
    assert (run["scenario"], run["state"], run["points"], run["gpus"]) == ("small", "finished", 1, ["h200-sxm"])
    assert run["path"] == str(the_run(place))


@pytest.mark.parametrize("filters", [("--name", "chat*"), ("--gpu", "b200-sxm")])
def test_the_list_can_be_narrowed(place, filters):
    assert "0 runs" in runs(place, "list", "--out", place / "runs", *filters).stdout


def test_a_run_is_shown_as_it_was(place):
    shown = runs(place, "show", the_run(place)).stdout

    again = toys.call("run", place / "small.yaml", "--out", place / "runs", "--jobs", "1").stdout
    assert shown == again


def test_a_run_that_is_not_finished_is_shown_as_far_as_it_is(place):
    sweep = "sweep={workload.arrivals.rate_per_s: [1.5, 2.5]}"
    toys.call("run", place / "small.yaml", "--out", place / "half", "--jobs", "1", "--set", sweep, "--seeds", "1")
    (folder,) = (place / "half").iterdir()
    next(folder.glob("points/*.json")).unlink()

    summary = json.loads(runs(place, "show", folder, "--json").stdout)

    assert len(summary["rows"]) == len(summary["points"]) == 1


def test_pruning_says_what_would_go_and_then_removes_it(place):
    toys.call("run", place / "small.yaml", "--out", place / "old", "--jobs", "1")

    asked = runs(place, "prune", "--out", place / "old", "--keep", "0", "--dry-run")
    assert "1 run would go" in asked.stdout
    assert len(list((place / "old").iterdir())) == 1

    assert "1 run removed" in runs(place, "prune", "--out", place / "old", "--keep", "0").stdout
    assert list((place / "old").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("prune",), "say what may go: --older-than AGE, --keep N, or both"),
        (("prune", "--older-than", "soon"), "'soon': write an age"),
        (("list", "--out", "nowhere"), "nowhere: no such folder"),
        (("show", "nowhere"), "nowhere: no such folder"),
    ],
)
def test_bad_input_is_told_with_the_way_out(place, arguments, said, monkeypatch):
    monkeypatch.chdir(place)

    result = runs(place, *arguments)

    assert result.exit_code == 2
    assert said in result.stderr


def test_a_run_of_a_newer_version_is_listed_and_not_shown(place):
    toys.call("run", place / "small.yaml", "--out", place / "newer", "--jobs", "1")
    (folder,) = (place / "newer").iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"store_version": 99}))

    assert "newer layout" in runs(place, "list", "--out", place / "newer").stdout
    assert "update specfleet to read it" in runs(place, "show", folder).stderr


@pytest.mark.parametrize("name", ["list", "show", "prune"])
def test_the_help_has_an_example(name):
    assert f"specfleet runs {name}" in toys.call("runs", name, "--help").stdout
