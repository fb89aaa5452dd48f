"""A runs folder: what is listed, what is chosen, and what may go."""

import json
import os
import time
from datetime import timedelta

import pytest

from scenarios.runs import age, chosen, list_runs, read_manifest, remove, to_prune
from scenarios.store import STORE_VERSION, RunFolder
from simulator.errors import ScenarioError

DAY_S = 86_400


@pytest.fixture
def kept(tmp_path):
    """Makes run folders: of a scenario, so many days old, with a manifest that says more."""

    def make(name, days=0.0, num_points=1, **more):
        folder = RunFolder(tmp_path, name, f"{len(list(tmp_path.iterdir())):08x}00000000")
        manifest = {"scenario": name, "store_version": STORE_VERSION, "complete": True, "points_in_file": 2, "gpus": []}
        folder.write_text("manifest.json", json.dumps(manifest | more))
        for number in range(num_points):
            folder.save_point(f"{number}", {}, 0.0)
        for file in folder.path.rglob("*"):
            os.utime(file, (time.time() - days * DAY_S,) * 2)
        return folder.path

    return make


def names(runs):
    return [run.path.name for run in runs]


def test_runs_are_listed_the_newest_first(kept, tmp_path):
    old, new = kept("chat", days=3), kept("chat", days=1)

    assert [run.path for run in list_runs(tmp_path)] == [new, old]


def test_a_run_says_what_it_is(kept, tmp_path):
    kept("chat", gpus=["h200-sxm"], winner="plain", version="0.1.0")

    (run,) = list_runs(tmp_path)

    assert (run.scenario, run.state, run.points, run.points_in_file) == ("chat", "finished", 1, 2)
    assert (run.gpus, run.winner, run.version) == (("h200-sxm",), "plain", "0.1.0")
    assert run.num_bytes > 100


@pytest.mark.parametrize(
    ("days", "manifest", "state"),
    [
        (0.0, {"complete": False}, "running"),
        (1.0, {"complete": False}, "unfinished"),
        (0.0, {"complete": False, "points": [{"point": "base"}]}, "unfinished"),
        (0.0, {"store_version": STORE_VERSION - 1}, "older"),
        (0.0, {"store_version": STORE_VERSION + 1}, "newer"),
    ],
)
def test_a_run_that_is_not_finished_or_not_readable_says_so(kept, tmp_path, days, manifest, state):
    kept("chat", days=days, **manifest)

    assert [run.state for run in list_runs(tmp_path)] == [state]


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_other_folders_are_no_runs(tmp_path, text):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "manifest.json").write_text(text)
    (tmp_path / "file").write_text("")

    assert list_runs(tmp_path) == []


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ScenarioError, match="no such folder"):
        list_runs(tmp_path / "none")


def test_runs_are_chosen_by_name_age_and_gpu(kept, tmp_path):
    kept("chat-a", days=5, gpus=["h200-sxm"]), kept("chat-b", gpus=["b200-sxm"]), kept("code", gpus=["h200-sxm"])
    runs = list_runs(tmp_path)

    assert {run.scenario for run in chosen(runs, name="chat-*")} == {"chat-a", "chat-b"}
    assert {run.scenario for run in chosen(runs, newer_than=age("2d"))} == {"chat-b", "code"}
    assert {run.scenario for run in chosen(runs, gpu="h200-sxm")} == {"chat-a", "code"}
    assert {run.scenario for run in chosen(runs, "chat-*", age("2d"), "b200-sxm")} == {"chat-b"}


def test_what_may_go_is_old_and_not_among_the_newest_of_its_scenario(kept, tmp_path):
    folders = [kept("chat", days=days) for days in (1, 10, 20)]
    other = kept("code", days=20)
    runs = list_runs(tmp_path)

    assert {run.path for run in to_prune(runs, older_than=age("2d"))} == {*folders[1:], other}
    assert {run.path for run in to_prune(runs, keep=1)} == {*folders[1:]}
    assert {run.path for run in to_prune(runs, older_than=age("15d"), keep=1)} == {folders[2]}


def test_a_run_that_is_on_its_way_never_goes(kept, tmp_path):
    kept("chat", complete=False)

    assert to_prune(list_runs(tmp_path), keep=0) == []


def test_a_run_is_removed_whole(kept, tmp_path):
    folder = kept("chat")
    (folder / "points" / ".half.json.tmp").write_text("")

    remove(list_runs(tmp_path)[0])

    assert not folder.exists()


def test_what_no_run_writes_is_left(kept, tmp_path):
    folder = kept("chat")
    (folder / "notes.txt").write_text("mine")

    remove(list_runs(tmp_path)[0])

    assert [file.name for file in folder.iterdir()] == ["notes.txt"]


def test_a_run_of_a_newer_version_is_told_with_the_way_out(kept):
    folder = kept("chat", store_version=STORE_VERSION + 1, version="9.0")

    with pytest.raises(ScenarioError, match=rf"specfleet 9.0 in layout {STORE_VERSION + 1}.*update specfleet"):
        read_manifest(folder)


def test_an_age_is_a_number_and_a_unit():
    assert age("90m") == timedelta(minutes=90)
    assert age("4w") == timedelta(weeks=4)


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "-1d", "7y", "1.5h", "99999999w"])
def test_another_age_is_refused(text):
    with pytest.raises(ScenarioError, match="write an age"):
        age(text)
