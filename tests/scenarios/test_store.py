import errno
import json
import os
import time

import pyarrow.parquet
import pytest

from scenarios import store
from scenarios.columns import flat_row
from scenarios.load import load_scenario
from scenarios.run_files import begin_run, is_whole, write_run
from scenarios.store import STALE_S, RunFolder, point_hash, resolved_document, run_hash
from scenarios.streamed import Each
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, load_text

ROWS = [
    {"deployment": "plain", "replication": "all", "ttft_s": {"p95": 0.5}, "saturated": False, "reason": None},
    {"deployment": "plain", "replication": 0, "ttft_s": {"p95": None}, "saturated": True, "reason": None},
]
SUMMARY = {"scenario": "chat", "rows": ROWS[:1], "replications": ROWS[1:], "comparison": {}}
TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-03-02 09:00:00.0000000,100,{}\n"


@pytest.fixture
def folder(tmp_path):
    found = RunFolder(tmp_path / "runs", "chat", "0123456789abcdef")
    found.prepare()
    return found


def test_a_folder_is_named_by_scenario_and_hash(folder):
    assert folder.path.name == "chat-01234567"


def test_equal_scenarios_have_equal_hashes():
    first, second = load_text(CHAT), load_text(CHAT)

    assert run_hash(first) == run_hash(second)


@pytest.mark.parametrize(
    "change", ["seed=8", "replications=3", "deployments.plain.replicas=2", "workload.arrivals.rate_per_s=4.5"]
)
def test_whatever_changes_a_result_changes_the_hash(change):
    assert run_hash(load_text(CHAT)) != run_hash(load_text(CHAT, change))


def test_a_description_changes_no_result():
    assert run_hash(load_text(CHAT)) == run_hash(load_text(CHAT, "description=else"))


@pytest.mark.parametrize("part", ["catalog_hash", "code_hash"])
def test_another_catalog_or_code_is_another_hash(monkeypatch, part):
    scenario = load_text(CHAT).points[0].scenario
    before = point_hash(scenario)

    monkeypatch.setattr(store, part, lambda: "other")

    assert point_hash(scenario) != before


def test_a_trace_counts_by_its_content(tmp_path):
    def hash_of(name, tokens):
        (tmp_path / name).write_text(TRACE.format(tokens))
        arrivals = f"workload.arrivals={{kind: trace, file: {tmp_path / name}}}"
        return point_hash(load_text(CHAT, arrivals).points[0].scenario)

    assert hash_of("a.csv", "1") == hash_of("b.csv", "1")
    assert hash_of("a.csv", "1") != hash_of("a.csv", "2")


def test_a_finished_point_is_found_again(folder):
    folder.save_point("abc", {"rows": []}, 1.5)

    found = folder.find_point("abc")

    assert found == ({"hash": "abc", "seconds": 1.5, "result": {"rows": []}}, folder.path)


def test_a_point_of_a_neighbour_is_found(folder):
    neighbour = RunFolder(folder.out, "chat", "ffffffffffffffff")
    neighbour.save_point("abc", {"rows": []}, 1.5)

    found = folder.find_point("abc")

    assert found is not None
    assert found[1] == neighbour.path


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hash": "other", "result": {}}', '{"hash": "abc"}'])
def test_a_broken_point_counts_as_none(folder, text):
    (folder.path / "points" / "abc.json").write_text(text)

    assert folder.find_point("abc") is None


def test_a_write_that_fails_leaves_the_old_file_and_no_other(folder):
    folder.write_text("summary.json", "old")

    def half(path):
        path.write_text("ha")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        folder.write("summary.json", half)

    assert (folder.path / "summary.json").read_text() == "old"
    assert sorted(file.name for file in folder.path.iterdir()) == ["points", "summary.json"]


def test_a_full_disk_is_told_with_the_way_out(folder):
    def full(path):
        raise OSError(28, "No space left on device")

    with pytest.raises(ScenarioError, match=r"summary\.json: cannot be written: No space left on device.*--out"):
        folder.write("summary.json", full)


def test_a_disk_that_fills_while_a_point_is_saved_leaves_no_half(folder, monkeypatch):
    def half(path, text, **_):
        path.write_bytes(text.encode()[:9])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", half)
    with pytest.raises(ScenarioError, match=r"abc\.json: cannot be written: No space left on device.*--out"):
        folder.save_point("abc", {"rows": []}, 1.5)

    assert list((folder.path / "points").iterdir()) == []


def test_a_folder_that_may_not_be_written_is_told(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs").chmod(0o500)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(ScenarioError, match="cannot be written: Permission denied; name another folder with --out"):
            RunFolder(tmp_path / "runs", "chat", "0123456789abcdef").prepare()
    finally:
        os.seteuid(user)


def test_halves_that_a_kill_left_are_removed_once_they_are_old(folder):
    old, new = folder.path / "points" / ".a.json.1-ff.tmp", folder.path / ".manifest.json.2-ff.tmp"
    for file in (old, new):
        file.write_text("{")
    os.utime(old, (time.time() - STALE_S - 60,) * 2)

    folder.prepare()

    assert (old.exists(), new.exists()) == (False, True)


def test_two_writers_of_one_file_do_not_meet(folder):
    seen = []

    def write_to(path):
        path.write_text("whole")
        seen.append(path)
        if len(seen) < 2:
            folder.write("summary.json", write_to)

    folder.write("summary.json", write_to)

    assert len(set(seen)) == 2
    assert (folder.path / "summary.json").read_text() == "whole"


def test_a_stored_result_is_read_when_it_is_looked_into(folder):
    result = folder.result("abc")
    folder.save_point("abc", {"rows": [1]}, 1.5)

    assert result["rows"] == [1]
    assert dict(result) == {"rows": [1]}


def test_a_stored_result_that_has_gone_is_told(folder):
    with pytest.raises(ScenarioError, match=r"gone\.json: cannot be read any more; run the scenario again"):
        folder.result("gone")["rows"]


def test_whether_a_point_is_there_is_known_without_reading_it(folder):
    RunFolder(folder.out, "other", "ffffffffffffffff").save_point("abc", {}, 0.0)
    folder.save_point("def", {}, 0.0)

    assert [folder.has_point(name) for name in ("abc", "def", "ghi")] == [True, True, False]


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "runs").write_text("")

    with pytest.raises(ScenarioError, match="cannot be written"):
        RunFolder(tmp_path / "runs", "chat", "0123456789abcdef").prepare()


def test_a_run_is_whole_once_manifest_and_points_are_there(folder):
    loaded = load_text(CHAT)
    folder.save_point("abc", {}, 0.0)
    assert not is_whole(folder, ["abc"])

    write_run(folder, loaded, SUMMARY, {"complete": True}, "<!doctype html>")

    assert is_whole(folder, ["abc"])
    assert not is_whole(folder, ["abc", "def"])


def test_a_run_that_has_begun_says_so_and_can_be_run_again(folder):
    loaded = load_text(CHAT)

    begin_run(folder, loaded, {"complete": False})

    assert not is_whole(folder, [])
    assert run_hash(load_scenario(folder.path / "scenario.yaml")) == run_hash(loaded)


def test_rows_that_are_made_when_they_are_written_give_the_same_files(folder):
    streamed = SUMMARY | {"rows": Each(lambda: ROWS[:1]), "replications": Each(lambda: ROWS[1:])}
    files = ("summary.json", "summary.parquet")

    write_run(folder, load_text(CHAT), SUMMARY, {}, "<!doctype html>")
    before = [(folder.path / file).read_bytes() for file in files]
    write_run(folder, load_text(CHAT), streamed, {}, "<!doctype html>")

    assert [(folder.path / file).read_bytes() for file in files] == before


def test_an_interrupted_run_is_not_whole(folder):
    write_run(folder, load_text(CHAT), SUMMARY, {"complete": False}, "<!doctype html>")

    assert not is_whole(folder, [])


def test_a_summary_holds_neither_times_nor_hosts_nor_replications(folder):
    write_run(folder, load_text(CHAT), SUMMARY, {"complete": True, "host": "here"}, "<!doctype html>")

    text = (folder.path / "summary.json").read_text()
    assert list(json.loads(text)) == ["scenario", "rows", "comparison"]
    assert "here" not in text


def test_the_table_has_a_row_for_all_and_for_each_replication(folder):
    write_run(folder, load_text(CHAT), SUMMARY, {"complete": True}, "<!doctype html>")

    table = pyarrow.parquet.read_table(folder.path / "summary.parquet").to_pydict()
    assert table["replication"] == ["all", "0"]
    assert table["ttft_s.p95"] == [0.5, None]
    assert table["saturated"] == [False, True]


@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("sweep={seed: [1, 2]}",),
        ("assert=[plain.num_gpus == 1]",),
        ("deployments.plain.price={usd_per_gpu_hour: 3.5, source: a list, as_of: 2026-09-01}",),
    ],
)
def test_the_written_scenario_loads_to_the_same_points(folder, sets):
    loaded = load_text(CHAT, *sets)

    write_run(folder, loaded, SUMMARY, {}, "<!doctype html>")
    again = load_scenario(folder.path / "scenario.yaml")

    assert run_hash(again) == run_hash(loaded)
    assert again.asserts == loaded.asserts


def test_a_written_trace_is_found_from_anywhere(tmp_path):
    (tmp_path / "a.csv").write_text(TRACE.format(1))
    loaded = load_text(CHAT, f"workload.arrivals={{kind: trace, file: {tmp_path / 'a.csv'}}}")

    assert resolved_document(loaded)["workload"]["arrivals"]["file"] == str(tmp_path / "a.csv")


def test_a_flat_row_names_nested_fields_by_dots():
    assert flat_row({"a": {"b": {"c": 1}}, "interval": {"x.y": [1, 2]}}) == {
        "a.b.c": 1,
        "interval.x.y.low": 1,
        "interval.x.y.high": 2,
    }
