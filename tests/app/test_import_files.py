"""`specfleet import acceptance` and `import benchmark`: from a file to a run, from a file to a validation."""

import json

import yaml

from tests.app import toys
from tests.calibration.importers import samples

DRAFT = {"flops_ratio": 0.01, "latency_ratio": 0.02, "weights_gb": 0.1, "kv_bytes_per_token": 0}


def test_pasted_counters_become_a_scenario_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics.txt").write_text(samples.METRICS, encoding="utf-8")

    imported = toys.call("import", "acceptance", "metrics.txt", "--class", "chat", "--lookup", "--out", "block.yaml")
    scenario = yaml.safe_load(toys.SMALL)
    scenario["workload"]["classes"] = {"chat": 1.0}
    block = yaml.safe_load((tmp_path / "block.yaml").read_text())
    scenario["deployments"]["plain"]["speculation"] = {
        "kind": "drafts", "drafts": {"lookup": {"abstract": DRAFT, **block}}, "propose": {"draft_tokens": 3},
    }  # fmt: skip
    (tmp_path / "chat.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
    ran = toys.call("run", "chat.yaml", "--json")

    assert imported.exit_code == 0, imported.stderr
    assert ran.exit_code == 0, ran.stderr
    row = next(row for row in json.loads(ran.stdout)["rows"] if row["replication"] == "all")
    assert row["draft_tokens_mean"] == 2.0
    assert 1.7 < row["tokens_per_step"] < 2.3


def test_the_finding_is_json(tmp_path):
    path = tmp_path / "metrics.txt"
    path.write_text(samples.METRICS, encoding="utf-8")

    found = json.loads(toys.call("import", "acceptance", str(path), "--json").stdout)

    assert found["tokens_per_step"] == 2.5
    assert found["survival_intervals"][0][0] < 0.8 < found["survival_intervals"][0][1]
    assert found["block"] == {"acceptance": {"all": {"histogram": {"0": 200, "1": 300, "2": 300, "3": 200}}}}


def test_the_finding_is_told_with_what_to_mind(tmp_path):
    path = tmp_path / "metrics.txt"
    path.write_text(samples.METRICS, encoding="utf-8")

    told = toys.call("import", "acceptance", str(path)).stdout

    assert "position 3: 0.200  (0.176 to 0.226)" in told
    assert "note: counts since the server's start" in told
    assert yaml.safe_load(told[told.index("acceptance:\n") :])["acceptance"]["all"]["histogram"][0] == 200


def test_a_benchmark_is_validated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c16.json").write_text(json.dumps(samples.BENCH), encoding="utf-8")
    stated = ("--gpu", "h200-sxm", "--model", "llama-3.3-70b", "--precision", "fp8", "--tp", "2")

    written = toys.call("import", "benchmark", "c16.json", *stated, "--out", "rows.csv")
    validated = toys.call("validate", "rows.csv", "--json")

    assert written.exit_code == 0, written.stderr
    overall = json.loads(validated.stdout)["overall"]
    assert overall["count"] == 1
    assert overall["share_predicted"] == 1.0


def test_rows_go_to_the_screen_without_a_file(tmp_path):
    path = tmp_path / "c16.json"
    path.write_text(json.dumps(samples.BENCH), encoding="utf-8")
    stated = ("--gpu", "h200-sxm", "--model", "llama-3.3-70b", "--precision", "fp8", "--tp", "2")

    shown = toys.call("import", "benchmark", str(path), *stated).stdout.splitlines()

    assert shown[0].startswith("id,source,engine,")
    assert len(shown) == 2
