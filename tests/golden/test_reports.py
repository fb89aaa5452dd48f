"""The reports of the built-in scenarios stay as they are until somebody means to change them.

What must hold of any report is asserted first, so that `--update-golden` cannot freeze what is wrong in itself.
"""

import json
from itertools import pairwise

import pytest

from scenarios.files import builtin_names
from simulator.outcome.report import EXTRA_FIELDS, ROW_FIELDS
from tests.golden import reports

LATENCIES = ("ttft_s", "tpot_s", "itl_s", "e2e_s")


def assert_is_whole(row):
    assert set(row) >= {*ROW_FIELDS, *EXTRA_FIELDS}
    assert row["fits"] is True
    assert row["usd_per_hour"] == pytest.approx(row["num_gpus"] * row["usd_per_gpu_hour"])
    assert row["total_tokens_per_s"] == pytest.approx(row["input_tokens_per_s"] + row["output_tokens_per_s"])
    assert 0 <= row["kv_utilisation_mean"] <= row["kv_utilisation_max"] <= 1
    for name in LATENCIES:
        values = [row[name][percentile] for percentile in ("p50", "p90", "p95", "p99")]
        assert all(low <= high for low, high in pairwise(values))
    for name, (low, high) in row["interval"].items():
        field, _, statistic = name.partition(".")
        assert low <= (row[field][statistic] if statistic else row[field]) <= high


@pytest.mark.parametrize("name", builtin_names())
def test_the_report_of_a_built_in_scenario_is_what_it_was(name, golden):
    report = reports.small_report(name)

    json.dumps(report, allow_nan=False)
    for row in report["rows"]:
        assert_is_whole(row)
    for ranking in (report["comparison"]["by_load"], report["comparison"]["by_capacity"]):
        assert list(ranking["costs"].values()) == sorted(ranking["costs"].values())
    golden(reports.FOLDER / f"{name}.json", reports.text_of(report))


def test_the_same_seed_gives_the_same_bytes():
    first, second = (json.dumps(reports.small_report("offline_batch")) for _ in range(2))

    assert first == second


def test_every_golden_file_is_of_a_built_in_scenario():
    assert sorted(file.stem for file in reports.FOLDER.glob("*.json")) == builtin_names()


def test_digits_beyond_those_that_processors_agree_on_are_dropped():
    assert reports.rounded({"a": [1.23456789, 7], "b": None}) == {"a": [1.23457, 7], "b": None}
