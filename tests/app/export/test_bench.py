"""The benchmark: a script that a shell takes, requests that are the simulation's own, no secret."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

from app.export.exported import exported
from app.export.files import bench_files, flag_files, why_no_bench
from app.export.llm_d import values
from app.export.requests import requests_of, trace_text
from scenarios.load import load_scenario
from simulator.cluster.traces import read_trace
from simulator.cluster.traffic import request_chunks
from simulator.errors import ScenarioError
from tests.app.export import examples
from tests.app.export.engine_flags import check_speculative_config, parse

GOLDEN = Path(__file__).parent / "golden"
SECRETS = re.compile(r"hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9]{8,}|(?i:password|api_key|bearer)|\w*(?:TOKEN|KEY|SECRET)=")
STUB = '#!/bin/sh\nfor word in "$@"; do printf \'%s\\0\' "$word"; done\nenv | grep ACC >&2\nexit 0\n'
ENGINES = {"vllm": ("vllm", examples.MODEL), "sglang": ("python", examples.head("eagle3")), "trtllm": ("trtllm-serve", examples.MODEL)}  # fmt: skip


def files_of(engine, speculation, **changes):
    scenario = examples.scenario(speculation, **changes)
    return bench_files(exported(scenario, "plain", engine), scenario, requests=30)


@pytest.fixture(scope="module", params=list(ENGINES))
def engine_files(request):
    return request.param, files_of(request.param, ENGINES[request.param][1])


def run_stubbed(tmp_path, files, argument, *programs):
    for name in programs:
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(STUB)
        stub.chmod(0o755)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DRAFT": "my/draft", "MODEL": "my/model"}
    return subprocess.run(
        ["bash", str(tmp_path / "bench.sh"), *argument], capture_output=True, text=True, env=environment, check=False
    )


def test_a_shell_takes_the_script(engine_files, tmp_path):
    (tmp_path / "bench.sh").write_text(engine_files[1]["bench.sh"])

    subprocess.run(["bash", "-n", str(tmp_path / "bench.sh")], check=True)


def test_no_secret_is_in_any_file(engine_files):
    assert {name: SECRETS.findall(text) for name, text in engine_files[1].items() if SECRETS.search(text)} == {}


def test_the_engine_is_started_with_flags_that_it_takes(engine_files, tmp_path):
    engine, files = engine_files
    program = ENGINES[engine][0]

    found = run_stubbed(tmp_path, files, ["serve"], program)

    flags = parse(engine, [program, *found.stdout.split("\0")[:-1]])
    assert found.returncode == 0
    assert "my/model" in found.stdout
    assert flags.port == 8000


def test_vllm_accepts_at_the_predicted_rates(tmp_path):
    files = files_of("vllm", examples.MODEL)

    words = run_stubbed(tmp_path, files, ["serve"], "vllm").stdout.split("\0")[:-1]
    config = parse("vllm", ["vllm", *words]).speculative_config

    check_speculative_config(config)
    assert config["model"] == "my/draft"
    assert config["synthetic_acceptance_rates"] == json.loads(files["predicted.json"])["acceptance"]


@pytest.mark.parametrize(
    ("engine", "variable"), [("sglang", "SGLANG_SIMULATE_ACC_LEN=2.8"), ("trtllm", "ACCEPTED_TOKENS=1.8")]
)
def test_other_engines_accept_as_many_in_the_mean(engine, variable, tmp_path):
    program, speculation = ENGINES[engine]

    found = run_stubbed(tmp_path, files_of(engine, speculation), ["serve"], program)

    assert variable in found.stderr


def test_a_configuration_is_written_where_the_engine_looks_for_it(tmp_path):
    run_stubbed(tmp_path, files_of("trtllm", examples.MODEL), ["serve"], "trtllm-serve")

    written = yaml.safe_load((tmp_path / "trtllm.yaml").read_text())
    assert written["speculative_config"]["speculative_model"] == "my/draft"


def test_the_client_replays_the_requests_beside_the_script(engine_files, tmp_path):
    found = run_stubbed(tmp_path, engine_files[1], ["run"], "vllm")

    flags = parse("bench", ["vllm", *found.stdout.split("\0")[:-1]])
    assert (flags.num_prompts, flags.dataset_path, flags.self_timed) == (30, "requests.jsonl", True)
    assert flags.base_url == "http://127.0.0.1:8000"


def test_without_an_argument_the_script_says_what_it_does(engine_files, tmp_path):
    found = run_stubbed(tmp_path, engine_files[1], [])

    assert found.returncode == 2
    assert "./bench.sh serve" in found.stdout
    assert "#" not in found.stdout


def test_a_closed_loop_has_the_clients_of_one_replica(tmp_path):
    workload = {"arrivals": {"kind": "closed_loop", "concurrency": 8}}

    files = files_of("vllm", None, workload=workload, deployment={"replicas": 2})
    found = run_stubbed(tmp_path, files, ["run"], "vllm")

    flags = parse("bench", ["vllm", *found.stdout.split("\0")[:-1]])
    assert (flags.max_concurrency, flags.num_prompts, flags.no_self_timed) == (4, 40, True)
    assert json.loads(files["predicted.json"])["load"]["clients"] == 4


def test_a_model_without_a_checkpoint_has_to_be_named(tmp_path):
    files = files_of("vllm", None, target={"weights": "nvfp4"}, deployment={"gpu": "b200-sxm"})

    (tmp_path / "bench.sh").write_text(text := files["bench.sh"])
    asked = subprocess.run(["bash", str(tmp_path / "bench.sh")], capture_output=True, text=True, env={}, check=False)

    assert (asked.returncode, asked.stderr) == (2, ""), "what the script does is told before anything has to be set"
    assert 'MODEL="${MODEL:?set it to a checkpoint of meta-llama/Meta-Llama-3.1-8B in nvfp4}"' in text


def test_requests_are_those_that_a_replica_is_sent():
    scenario = examples.scenario(
        deployment={"replicas": 4}, workload={"arrivals": {"kind": "poisson", "rate_per_s": 8}}
    )
    served = exported(scenario, "plain").served

    rows = requests_of(served, scenario.workload, scenario.seed, 200)
    drawn = next(request_chunks(scenario.workload, scenario.seed, 0, 2.0)).arrival_s[:200]

    assert [row.arrival_s for row in rows] == pytest.approx((drawn - drawn[0]).tolist())
    assert [len(row.blocks) for row in rows] == [1] * 200
    assert len({row.blocks for row in rows}) == 200


def test_a_shared_prompt_is_shared_and_the_rest_is_not(tmp_path):
    scenario = examples.scenario(workload={"prefix": {"shared_tokens": 1100}})
    rows = requests_of(exported(scenario, "plain").served, scenario.workload, 1, 3)
    (tmp_path / "t.jsonl").write_text(trace_text(rows))

    table = read_trace(tmp_path / "t.jsonl")

    blocks = [table.blocks(request).tolist() for request in range(3)]
    assert [row[:2] for row in blocks] == [blocks[0][:2]] * 3
    assert len({row[2] for row in blocks}) == 3
    assert np.all(table.prompt_tokens == 1300)


def test_what_no_engine_takes_is_never_sent():
    lengths = {"kind": "uniform", "prompt_tokens": [3000, 5000], "output_tokens": [900, 1200]}
    scenario = examples.scenario(workload={"lengths": lengths})

    rows = requests_of(exported(scenario, "plain").served, scenario.workload, 1, 50)

    assert max(row.prompt_tokens for row in rows) < 4096
    assert max(row.prompt_tokens + row.output_tokens for row in rows) <= 4096


def test_a_workload_of_which_hardly_anything_fits_says_so():
    lengths = {"kind": "uniform", "prompt_tokens": [2000, 900000], "output_tokens": [1, 1]}
    scenario = examples.scenario(workload={"lengths": lengths})

    with pytest.raises(ScenarioError, match="no prompt is within the 4,095 tokens that the engine takes"):
        requests_of(exported(scenario, "plain").served, scenario.workload, 2, 1)


@pytest.mark.parametrize(
    ("speculation", "changes", "why"),
    [
        (examples.NGRAM, {}, "copies from the text"),
        (None, {"workload": {"prefix": {"turns": 3}}}, "next turn waits"),
        (None, {"engine": {"preemption": "swap"}}, "vllm cannot be told all of it"),
    ],
)
def test_what_cannot_be_checked_says_why(speculation, changes, why):
    scenario = examples.scenario(speculation, **changes)

    assert why in why_no_bench(exported(scenario, "plain"), scenario)


def test_values_for_llm_d_hold_flags_replicas_and_gpus():
    scenario = examples.scenario(examples.MODEL, deployment={"replicas": 3}, target={"tensor_parallel": 2})

    found = yaml.safe_load(values(exported(scenario, "plain").served))

    container = found["decode"]["containers"][0]
    assert (found["decode"]["replicas"], found["decode"]["parallelism"]) == (3, {"tensor": 2, "data": 1})
    assert found["modelArtifacts"]["uri"] == "hf://meta-llama/Meta-Llama-3.1-8B"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "2"}
    assert not {"--tensor-parallel-size", "--port", "serve"} & set(container["args"])
    assert "$" not in " ".join(container["args"])


@pytest.mark.parametrize("name", ["h200-spec"])
def test_the_files_of_the_built_in_chat_are_as_they_were(name, golden):
    scenario = load_scenario("h200_vs_b200_chat").points[0].scenario
    one = exported(scenario, name)

    golden(GOLDEN / f"{name}.txt", one.text + "\n")
    golden(GOLDEN / f"{name}.values.yaml", flag_files(one)["values.yaml"])
    golden(GOLDEN / f"{name}.bench.sh", bench_files(one, scenario, requests=20)["bench.sh"])
