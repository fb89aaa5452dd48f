import json
from pathlib import Path

import pytest
import yaml

from tests.app import toys

SAMPLES = Path(__file__).parents[1] / "data" / "traces"
NAMES = ["azure.csv", "burstgpt.csv", "mooncake.jsonl", "plain.jsonl"]
ARRIVALS = [
    "{kind: poisson, rate_per_s: 4}",
    "{kind: constant, rate_per_s: 4}",
    "{kind: gamma, rate_per_s: 4, cv: 2}",
    "{kind: bursty, rate_per_s: 4, burst_factor: 2, on_s: 2, off_s: 4}",
    "{kind: diurnal, rate_per_s: 4, period_s: 15, peak_to_mean: 1.5}",
    "{kind: closed_loop, concurrency: 4}",
    "{kind: queued_at_once}",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_shown(name):
    result = toys.call("import", "trace", str(SAMPLES / name))

    assert result.exit_code == 0, result.stderr
    assert f"{name.partition('.')[0]} trace" in " ".join(result.stdout.split())


def test_a_fitted_workload_is_yaml():
    result = toys.call("import", "trace", str(SAMPLES / "azure.csv"), "--fit")

    workload = yaml.safe_load(result.stdout[result.stdout.index("workload:") :])["workload"]
    assert workload["lengths"]["kind"] == "quantiles"


def test_the_json_is_pure():
    result = toys.call("import", "trace", str(SAMPLES / "mooncake.jsonl"), "--fit", "--json")

    found = json.loads(result.stdout)
    assert found["summary"]["block_tokens"] == 512
    assert found["workload"]["arrivals"]["kind"]


@pytest.mark.parametrize("name", NAMES)
def test_a_written_scenario_runs(name, tmp_path):
    out = tmp_path / "fitted.yaml"

    written = toys.call("import", "trace", str(SAMPLES / name), "--fit", "--out", str(out))

    assert written.exit_code == 0, written.stderr
    ran = toys.call("run", str(out), "--out", str(tmp_path / "runs"), "--jobs", "1", "--seeds", "1", "--json")
    assert ran.exit_code in (0, 3), ran.stderr
    assert json.loads(ran.stdout)["rows"]


def test_a_file_that_is_there_is_kept(tmp_path):
    out = tmp_path / "fitted.yaml"
    out.write_text("mine")

    result = toys.call("import", "trace", str(SAMPLES / "azure.csv"), "--fit", "--out", str(out))

    assert (result.exit_code, out.read_text()) == (2, "mine")
    assert "is there already" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "nowhere.csv: no such trace"),
        ((str(SAMPLES / "azure.csv"), "--out", "x.yaml"), "add --fit"),
    ],
)
def test_a_mistake_is_bad_input(arguments, message):
    result = toys.call("import", "trace", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr


def scenario_with(tmp_path: Path, arrivals: str, lengths: str | None = None) -> str:
    text = toys.SMALL.replace("{kind: poisson, rate_per_s: 4}", arrivals)
    text = text.replace("{kind: fixed, prompt_tokens: 200, output_tokens: 20}", lengths) if lengths else text
    file = tmp_path / "scenario.yaml"
    file.write_text(text.replace("max_model_len: 4096", "max_model_len: 16384"))
    return str(file)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("command", ["run", "estimate"])
def test_every_kind_of_arrivals_runs_and_is_estimated(command, arrivals, tmp_path):
    options = ("--out", str(tmp_path / "runs"), "--jobs", "1", "--seeds", "1") if command == "run" else ()

    result = toys.call(command, scenario_with(tmp_path, arrivals), *options, "--json")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows"][0]["output_tokens_per_s"] > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["run", "estimate"])
def test_every_kind_of_trace_runs_and_is_estimated(command, name, tmp_path):
    file = scenario_with(tmp_path, f"{{kind: trace, file: {SAMPLES / name}}}", "{kind: trace}")
    options = ("--out", str(tmp_path / "runs"), "--jobs", "1", "--seeds", "1") if command == "run" else ()

    result = toys.call(command, file, *options, "--json")

    assert result.exit_code in (0, 3), result.stderr
    assert json.loads(result.stdout)["rows"][0]["output_tokens_per_s"] > 0


def test_an_estimate_says_that_bursts_are_not_in_it(tmp_path):
    result = toys.call("estimate", scenario_with(tmp_path, ARRIVALS[3]), "--json")

    assert "without bursts of 2 times the mean rate" in json.loads(result.stdout)["rows"][0]["capacity_note"]


def test_a_broken_trace_is_told_before_anything_runs(tmp_path):
    broken = tmp_path / "t.jsonl"
    broken.write_text('{"arrival_s": 0, "prompt_tokens": 5, "output_tokens": 5}\n{"arrival_s": 1}\n')

    file = scenario_with(tmp_path, "{kind: trace, file: t.jsonl}", "{kind: trace}")
    result = toys.call("run", file, "--out", str(tmp_path / "runs"))

    assert result.exit_code == 2
    assert f"{broken}:2: 'prompt_tokens' is missing" in result.stderr
    assert not (tmp_path / "runs").exists()
