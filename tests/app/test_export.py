"""`specfleet export`, and `specfleet validate` of what its script measures."""

import json

import pytest
import yaml

from simulator.spec.prediction import Prediction
from tests.app import toys
from tests.app.export import examples
from tests.calibration import benchmarked


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    document = yaml.safe_load(toys.SMALL)
    made = {"engineering_weeks": 2.0, "usd_per_week": 5000.0}
    document["deployments"]["spec"] = {"extends": "plain", "speculation": examples.MODEL, "economics": made}
    document["deployments"]["copied"] = {"extends": "plain", "speculation": examples.NGRAM}
    path = tmp_path_factory.mktemp("export") / "small.yaml"
    path.write_text(yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False))
    return path


@pytest.fixture(scope="module")
def folder(file, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "bench"
    result = toys.call("export", file, "--out", out, "--requests", "30")
    assert result.exit_code == 0, result.stderr
    return out, result


def test_every_deployment_is_shown_with_its_command_and_its_schedule(file):
    result = toys.call("export", file)

    assert result.exit_code == 0, result.stderr
    assert "plain — vLLM, 1 replica of 1 × h200-sxm" in result.stdout
    assert "Draft tokens by sequences in flight and context" in result.stdout
    assert "num_speculative_tokens_per_batch_size" in result.stdout
    assert "Placement" in result.stdout


def test_a_command_is_not_broken_by_a_narrow_terminal(file):
    result = toys.call("export", file, "--deployment", "spec")

    line = next(line for line in result.stdout.splitlines() if "--speculative-config" in line)
    assert json.loads(line.split("--speculative-config ")[1].strip("'"))["num_speculative_tokens"] == 3


def test_json_is_pure_and_holds_all_of_it(file):
    found = json.loads(toys.call("export", file, "--engine", "sglang", "--json").stdout)

    assert [one["deployment"] for one in found["deployments"]] == ["plain", "spec", "copied"]
    assert {one["engine"] for one in found["deployments"]} == {"sglang"}
    assert found["deployments"][1]["draft_schedule"]["policy"]["kind"] == "by_batch"
    assert found["unfit"] == {}


def test_a_schedule_goes_into_the_flags_when_it_is_asked_for(file):
    found = json.loads(toys.call("export", file, "--deployment", "spec", "--schedule", "--json").stdout)["deployments"][
        0
    ]

    assert json.dumps(found["draft_schedule_for_engine"]["num_speculative_tokens_per_batch_size"]) in found["text"]


def test_files_lie_by_deployment_and_a_script_can_be_run(folder):
    out, result = folder

    assert sorted(path.name for path in (out / "spec").iterdir()) == [
        "bench.sh", "predicted.json", "requests.jsonl", "values.yaml",
    ]  # fmt: skip
    assert (out / "spec" / "bench.sh").stat().st_mode & 0o100
    assert not (out / "copied" / "bench.sh").exists()
    assert "copies from the text" in " ".join(result.stdout.split())


def test_what_the_script_measures_is_held_against_the_prediction(folder, tmp_path):
    prediction = Prediction.model_validate_json((folder[0] / "spec" / "predicted.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(benchmarked.result(prediction, slower=1.1)))

    shown = toys.call("validate", tmp_path / "result.json", "--against", folder[0] / "spec" / "predicted.json")

    assert shown.exit_code == 0, shown.stderr
    assert "TPOT mean" in shown.stdout
    assert "-9.1 %" in shown.stdout
    assert "spec of small: one replica, 1 × h200-sxm, vllm" in shown.stdout


def test_the_comparison_is_json_too(folder, tmp_path):
    against = folder[0] / "plain" / "predicted.json"
    prediction = Prediction.model_validate_json(against.read_text())
    (tmp_path / "result.json").write_text(json.dumps(benchmarked.result(prediction)))

    found = json.loads(toys.call("validate", tmp_path / "result.json", "--against", against, "--json").stdout)

    assert found["prediction"]["deployment"] == "plain"
    assert {round(row["error"], 9) for row in found["rows"]} == {0.0}


def test_a_page_is_not_drawn_of_one_benchmark(folder, tmp_path):
    against = folder[0] / "plain" / "predicted.json"

    result = toys.call("validate", "result.json", "--against", against, "--out", tmp_path / "p.html")

    assert result.exit_code == 2
    assert "many measurements" in result.stderr


def test_files_that_are_there_are_kept(folder, file):
    result = toys.call("export", file, "--out", folder[0], "--requests", "30")

    assert result.exit_code == 2
    assert "is there already" in result.stderr


def test_what_does_not_fit_is_told_and_nothing_else_is_code_3(file):
    tight = toys.call("export", file, "--set", toys.TOO_LARGE, "--deployment", "plain", "--json")

    assert tight.exit_code == 3
    assert "lacks" in json.loads(tight.stdout)["unfit"]["plain"]


def test_what_fits_is_asked_of_the_engine_that_is_exported_to(file):
    budget = "deployments.plain.engine.hbm_budget_gb=23"

    asked = ("--deployment", "plain", "--set", budget, "--json")
    own, other = (toys.call("export", file, *asked, *engine) for engine in ((), ("--engine", "sglang")))

    assert (own.exit_code, other.exit_code) == (0, 3)
    assert "lacks" in json.loads(other.stdout)["unfit"]["plain"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--deployment", "spek"), "--deployment spek: the scenario has plain, spec, copied"),
        (("--engine", "tgi"), "tgi is no engine to export to"),
        (("--requests", "30"), "add --out DIR"),
    ],
)
def test_a_mistake_is_bad_input(file, options, says):
    result = toys.call("export", file, *options)

    assert result.exit_code == 2
    assert says in result.stderr


def test_the_project_s_own_engine_is_exported_as_another():
    assert toys.call("export", "cpu_smollm2").exit_code == 2


def test_two_gpu_types_are_told_at_which_price_ratio_they_tie():
    result = toys.call("export", "h200_vs_b200_chat", "--deployment", "h200-spec", "--deployment", "b200-plain")

    assert result.exit_code == 0, result.stderr
    assert "while a GPU-hour of" in " ".join(result.stdout.split())


def test_drafts_that_cost_something_say_when_they_have_paid_back(file):
    result = toys.call("export", file, "--deployment", "spec")

    assert "Pays back" in result.stdout
