import json
import shutil
from math import exp, log

import numpy as np
import pytest

from app.compare.causes import log_mean, parts_of
from app.compare.folders import read_run
from app.compare.ratios import ratios, welch_interval
from app.compare.runs import compare_runs, differences
from tests.app import toys


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The small scenario as it is, busier, dearer, with another seed, and with another name of its deployment."""
    base = toys.SMALL.replace("requests: 60,", "requests: 200,").replace("replications: 2", "replications: 3")
    texts = {
        "base": base,
        "busy": base.replace("rate_per_s: 4", "rate_per_s: 60"),
        "dear": base.replace("price: 3.5", "price: 7"),
        "reseeded": base.replace("seed: 7", "seed: 8"),
        "two": base + "  more: {extends: plain, replicas: 2}\n",
        "named": base.replace("  plain:", "  other:"),
        "full": base.replace("rate_per_s: 4", "rate_per_s: 4000"),
        "huge": base.replace("llama-3.1-8b", "llama-3.1-405b"),
    }
    found = {}
    for name, text in texts.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "small.yaml").write_text(text)
        result = toys.call("run", folder / "small.yaml", "--out", folder / "runs", "--jobs", "1")
        assert result.exit_code in (0, 3), result.output
        (found[name],) = (folder / "runs").iterdir()
    return found


def compared(runs, first, second):
    return compare_runs(read_run(runs[first]), read_run(runs[second]))


def test_a_run_against_itself_has_not_changed(runs):
    found = compared(runs, "base", "base")

    assert {ratio["ratio"] for ratio in found["rows"][0]["ratios"].values()} == {1.0}
    assert found["rows"][0]["why"] == "nothing changed beyond its interval"
    assert found["differences"] == []


def test_a_dearer_gpu_is_explained_by_its_price_alone(runs):
    (row,) = compared(runs, "base", "dear")["rows"]

    assert row["headline"] == "usd_per_million_output_tokens_at_capacity"
    assert row["ratios"][row["headline"]]["ratio"] == pytest.approx(2.0)
    assert "$/M output at capacity 2.00×" in row["why"]
    assert "GPU-hour $3.50 → $7.00" in row["why"]
    assert [part["cause"] for part in row["parts"]] == ["price"]


def test_more_load_is_told_with_what_it_filled(runs):
    (row,) = compared(runs, "base", "busy")["rows"]

    assert row["headline"] in ("ttft_s.p95", "tpot_s.p95")
    assert "offered requests/s 4.00 → 60.0" in row["why"]
    assert "batch" in row["why"]
    low, high = row["ratios"][row["headline"]]["interval"]
    assert 1 < low < row["ratios"][row["headline"]]["ratio"] < high


def test_the_same_seeds_are_paired_and_others_not(runs):
    paired, unpaired = compared(runs, "base", "busy"), compared(runs, "base", "reseeded")

    assert (paired["rows"][0]["paired"], unpaired["rows"][0]["paired"]) == (True, False)
    assert any("unpaired" in text for text in unpaired["notes"])


def test_differences_name_the_place_and_both_values(runs):
    assert compared(runs, "base", "busy")["differences"] == [
        {"path": "workload.arrivals.rate_per_s", "first": 4, "second": 60}
    ]


def test_what_only_one_run_has_is_listed(runs):
    found = compared(runs, "base", "two")

    assert found["only_in_second"] == [{"point": "base", "deployment": "more"}]
    assert [row["deployment"] for row in found["rows"]] == ["plain"]


def test_single_deployments_match_whatever_they_are_called(runs):
    (row,) = compared(runs, "base", "named")["rows"]

    assert row["deployment"] == "plain → other"


def test_a_saturated_run_has_no_latencies_to_compare(runs):
    found = compared(runs, "base", "full")

    assert found["rows"][0]["saturated"] == [False, True]
    assert not any(name.startswith(("ttft", "tpot", "e2e")) for name in found["rows"][0]["ratios"])
    assert any("saturated" in text for text in found["notes"])


def test_what_no_longer_fits_is_the_line(runs):
    (row,) = compared(runs, "base", "huge")["rows"]

    assert row["why"] == "fits → does not fit"


def test_the_table_and_the_reason_are_printed(runs):
    result = toys.call("compare", runs["base"], runs["dear"])

    assert result.exit_code == 0
    assert "2.00×" in result.stdout
    assert "Why" in result.stdout
    assert "Differs  deployments.plain.price: 3.5 → 7" in result.stdout


def test_stdout_is_pure_json(runs):
    document = json.loads(toys.call("compare", runs["base"], runs["busy"], "--json").stdout)

    assert set(document) == {"first", "second", "rows", "only_in_first", "only_in_second", "differences", "notes"}


def refused(*arguments):
    result = toys.call("compare", *arguments)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    return result.stderr


def test_a_folder_that_is_none_is_told(runs, tmp_path):
    assert "no such folder" in refused(runs["base"], tmp_path / "nothing")
    assert "not a run folder" in refused(tmp_path, runs["base"])


def test_a_folder_of_another_layout_is_told(runs, tmp_path):
    shutil.copytree(runs["base"], tmp_path / "old")
    manifest = json.loads((tmp_path / "old" / "manifest.json").read_text())
    (tmp_path / "old" / "manifest.json").write_text(json.dumps(manifest | {"store_version": 1}))

    assert "layout 1" in refused(tmp_path / "old", runs["base"])


@pytest.mark.parametrize("name", ["summary.json", "scenario.yaml", "points"])
def test_a_folder_that_lacks_a_part_is_told(runs, tmp_path, name):
    shutil.copytree(runs["base"], tmp_path / "broken")
    part = tmp_path / "broken" / name
    shutil.rmtree(part) if part.is_dir() else part.unlink()

    assert "not a whole run folder" in refused(tmp_path / "broken", runs["base"])


def test_an_interrupted_run_is_told(runs, tmp_path):
    shutil.copytree(runs["base"], tmp_path / "half")
    manifest = json.loads((tmp_path / "half" / "manifest.json").read_text())
    (tmp_path / "half" / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))

    assert "interrupted" in refused(tmp_path / "half", runs["base"])


def test_nothing_in_common_names_what_each_has(runs, tmp_path):
    assert "no deployment in common" in refused(runs["two"], runs["named"])


def replicated(values):
    return {number: {"capacity_req_per_s": value} for number, value in enumerate(values)}


def test_pairing_narrows_what_moves_together():
    first, second = [10.0, 12.0, 15.0, 9.0], [20.2, 23.9, 30.1, 17.9]
    mean = ({"capacity_req_per_s": float(np.mean(v))} for v in (first, second))
    rows, runs = tuple(mean), (replicated(first), replicated(second))

    paired, unpaired = (ratios(*rows, runs, paired=flag)["capacity_req_per_s"].interval for flag in (True, False))

    assert 1.9 < paired[0] < 2.0 < paired[1] < 2.1
    assert unpaired[0] < paired[0] < paired[1] < unpaired[1]


def test_unpaired_intervals_are_welchs():
    stats = pytest.importorskip("scipy.stats")
    first, second = [1.0, 2.0, 4.0, 3.0], [2.0, 9.0, 5.0, 7.0]
    whole = stats.ttest_ind(second, first, equal_var=False)

    low, high = welch_interval(first, second)

    wanted = whole.confidence_interval(0.95)
    assert low <= wanted.low + 1e-9 <= wanted.high - 1e-9 <= high
    assert (high - low) / (wanted.high - wanted.low) < 1.15


def test_one_replication_has_no_interval():
    row = {"capacity_req_per_s": 1.0}

    assert ratios(row, row, (replicated([1.0]), replicated([1.0])), paired=True)["capacity_req_per_s"].interval is None


def explained(**changes):
    base = {"ttft_s": {"mean": 0.2}, "queue_mean": 0.4, "req_per_s": 4.0, "step_s": 0.01, "tokens_per_step": 2.0,
            "step_time_share": {"linear": 0.6, "draft": 0.4}, "replicas": 2, "output_tokens_per_request": 100.0}  # fmt: skip
    return base | changes


def test_parts_of_a_first_token_add_up_to_its_ratio():
    first, second = explained(), explained(ttft_s={"mean": 0.5}, queue_mean=1.4)

    parts = parts_of("ttft_s.p95", first, second)

    assert sum(part.effect for part in parts) == pytest.approx(log(0.5 / 0.2))
    assert parts[0].text == "more queueing (waits 100 ms → 350 ms)"


def test_parts_of_a_token_are_step_causes_and_tokens_per_step():
    first, second = (
        explained(),
        explained(step_s=0.02, step_time_share={"linear": 0.8, "draft": 0.2}, tokens_per_step=2.5),
    )

    parts = parts_of("tpot_s.p95", first, second)

    assert exp(sum(part.effect for part in parts)) == pytest.approx(2.0 / 1.25)
    assert parts[0].cause == "step linear"


def test_fewer_replicas_lower_the_capacity():
    (part,) = parts_of("capacity_req_per_s", explained(), explained(replicas=1))

    assert (part.text, part.effect) == ("replicas 2.00 → 1.00", pytest.approx(log(0.5)))


def test_a_logarithmic_mean_lies_between():
    assert 1.0 < log_mean(1.0, 4.0) < 4.0
    assert log_mean(3.0, 3.0) == 3.0


def test_lists_and_missing_places_are_leaves():
    found = list(
        differences({"a": [1, 2], "b": {"c": 1}, "description": "x"}, {"a": [1, 3], "d": 2, "description": "y"})
    )

    assert found == [
        {"path": "a", "first": [1, 2], "second": [1, 3]},
        {"path": "b.c", "first": 1, "second": None},
        {"path": "d", "first": None, "second": 2},
    ]
