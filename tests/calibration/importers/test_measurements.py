"""Results of benchmarks become rows that `validate` takes."""

import json
import subprocess
import sys

import pytest

from calibration.importers.measurements import csv_text, read_benchmarks
from calibration.serving_csv import read_serving
from simulator.errors import ScenarioError
from tests.calibration.importers import samples

STATED = {"gpu": "h200-sxm", "model": "llama-3.3-70b", "precision": "fp8", "tp": 2, "engine": "vllm"}


@pytest.fixture
def rows(tmp_path):
    """Rows of files of these contents, read as `validate` reads them."""

    def read(*contents, **stated):
        paths = []
        for number, content in enumerate(contents):
            paths.append(tmp_path / f"run{number}.json")
            paths[-1].write_text(json.dumps(content), encoding="utf-8")
        written = tmp_path / "rows.csv"
        written.write_text(csv_text(read_benchmarks(paths, STATED | stated)), encoding="utf-8")
        return read_serving(written)

    return read


def test_vllm_bench_is_a_closed_loop(rows):
    (row,) = rows(samples.BENCH)

    assert (row.isl, row.osl, row.load, row.concurrency) == (1024, 256, "closed_loop", 16)
    assert (row.ttft_ms, row.tpot_ms, row.output_tokens_per_s_per_gpu) == (210.5, 28.25, 256.0)
    assert (row.engine, row.measured_on, row.id) == ("vllm", "2026-11-28", "run0")


def test_vllm_bench_without_a_limit_is_queued_at_once(rows):
    (row,) = rows(samples.BENCH | {"max_concurrency": None})

    assert row.load == "queued_at_once"


def test_aiperf_says_its_units(rows):
    (row,) = rows(samples.AIPERF | {"time_to_first_token": {"unit": "s", "avg": 0.15}})

    assert (row.isl, row.osl, row.concurrency) == (1000, 200, 8)
    assert (row.ttft_ms, row.tpot_ms, row.output_tokens_per_s_per_gpu) == (150.0, 20.0, 200.0)


def test_guidellm_has_a_row_for_each_benchmark(rows):
    one = samples.GUIDELLM["benchmarks"][0]
    alone = {**one, "config": {"strategy": {"type_": "synchronous"}}}

    two = rows(samples.GUIDELLM | {"benchmarks": [one, alone]})

    assert [row.concurrency for row in two] == [4, 1]
    assert [(row.isl, row.osl, row.ttft_ms, row.tpot_ms) for row in two] == [(256, 128, 80.0, 12.0)] * 2


def test_several_files_and_a_sweep_give_all_their_runs(rows):
    assert len(rows([samples.BENCH, samples.BENCH], samples.AIPERF)) == 3


def test_what_is_stated_goes_before_the_file(rows):
    (row,) = rows(samples.BENCH, isl=900, concurrency=8)

    assert (row.isl, row.concurrency) == (900, 8)


def test_all_that_is_missing_is_one_error(rows, tmp_path):
    with pytest.raises(
        ScenarioError, match="do not say gpu, model, precision, tp: add --gpu, --model, --precision, --tp"
    ):
        rows(samples.BENCH, gpu=None, model=None, precision=None, tp=None)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (samples.BENCH | samples.SPEC, "the run speculated"),
        (samples.AIPERF | samples.AIPERF_SPEC, "the run speculated"),
        (samples.BENCH | {"request_rate": 4.0}, "4 requests/s: arrivals at a rate"),
        (
            samples.AIPERF | {"is_complete": False, "incomplete_reason": "cancelled"},
            r"is_complete is false \(cancelled",
        ),
        (samples.AIPERF | {"inter_token_latency": {"unit": "min", "avg": 1}}, "inter_token_latency is in 'min'"),
        (samples.BENCH | {"completed": 0}, "no request was completed"),
        ({"hello": 1}, "no result of a benchmark that is known"),
    ],
)
def test_what_validate_cannot_replay_is_refused(rows, content, told):
    with pytest.raises(ScenarioError, match=told):
        rows(content)


def test_importers_need_neither_torch_nor_the_engine():
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['engine'] = None\n"
        "import calibration.importers.read, calibration.importers.measurements"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
