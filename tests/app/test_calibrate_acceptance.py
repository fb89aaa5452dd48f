"""`specfleet calibrate acceptance`: what it prints and leaves behind, and what it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app import toys

pytest.importorskip("torch", reason="the engine needs torch")

RECORD = {
    "request": 0,
    "half": "fit",
    "prompt_tokens": 9,
    "spec_decode_acceptance": {
        "engine": "specfleet",
        "acceptance_histogram": {"0": 3, "1": 1, "2": 2},
        "num_accepted_draft_tokens": 5,
        "num_draft_tokens": 8,
        "num_spec_steps": 6,
        "num_spec_tokens": 2,
        "per_step_accepted": [0, 0, 0, 1, 2, 2],
        "per_step_drafted": [0, 0, 2, 2, 2, 2],
    },
}


@pytest.fixture
def measured(monkeypatch):
    """The engine's part is over: these are its records."""
    from calibration import acceptance_run

    records = {"code": [RECORD, RECORD | {"half": "held_out"}]}
    monkeypatch.setattr(acceptance_run, "measure", lambda plan, folder, tell, force: records)


def test_a_run_leaves_a_block_presets_and_figures(measured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = toys.call("calibrate", "acceptance", "--draft-tokens", "2", "--domain", "code")

    assert result.exit_code == 0, result.stderr
    assert "1.83 (1.83 to 1.83)" in result.stdout
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {
        "specfleet-catalog/measured/acceptance-smollm2-lookup-k2/acceptance.json",
        "specfleet-catalog/measured/acceptance-smollm2-lookup-k2/scenario-block.yaml",
        "specfleet-catalog/acceptance/smollm2-lookup-k2-code.yaml",
    }


def test_a_preset_that_was_measured_can_be_named(measured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toys.call("calibrate", "acceptance", "--draft-tokens", "2", "--domain", "code")
    draft = "{abstract: {flops_ratio: 0.01, latency_ratio: 0.02, weights_gb: 0, kv_bytes_per_token: 0}, acceptance: "
    named = draft + "{all: {preset: smollm2-lookup-k2-code}}}"
    text = toys.SMALL + f"    speculation: {{kind: drafts, drafts: {{d: {named}}}, propose: {{draft_tokens: 2}}}}\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")

    code = "from app.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "estimate", "mine.yaml", "--json"], capture_output=True, text=True, check=False
    )

    row = json.loads(done.stdout)["rows"][0]
    assert row["draft_tokens_mean"] == pytest.approx(8 / 6)
    assert row["tokens_per_step"] == pytest.approx(11 / 6, rel=0.05)


def test_each_k_is_measured_for_itself_and_shown(measured, tmp_path):
    result = toys.call(
        "calibrate", "acceptance", "--draft-tokens", "2", "--draft-tokens", "4", "--out", str(tmp_path), "--json"
    )

    assert [one["plan"]["draft_tokens"] for one in json.loads(result.stdout)["measured"]] == [2, 4]
    assert {path.name for path in (tmp_path / "acceptance").iterdir()} == {
        "smollm2-lookup-k2-code.yaml",
        "smollm2-lookup-k4-code.yaml",
    }


def test_without_a_k_those_of_the_check_are_measured(monkeypatch, tmp_path):
    from calibration import acceptance_run

    seen = []
    monkeypatch.setattr(acceptance_run, "measure", lambda plan, folder, tell, force: seen.append(plan.draft_tokens))
    monkeypatch.setattr(acceptance_run, "findings", lambda records, plan: {})
    monkeypatch.setattr("app.commands.calibrate_acceptance._written", lambda *found: {})
    toys.call("calibrate", "acceptance", "--out", str(tmp_path), "--json")

    assert seen == [3, 5]


def test_figures_are_json(measured, tmp_path):
    result = toys.call("calibrate", "acceptance", "--draft-tokens", "2", "--out", str(tmp_path), "--json")

    code = json.loads(result.stdout)["measured"][0]["classes"]["code"]
    assert code["block"]["drafted"] == {"0": 4, "2": 8}
    assert code["held_out_error"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--draft", "oracle"], "--draft oracle: known: head, lookup, model"),
        (["--draft", "union"], "--draft union: name its drafts"),
        (["--draft", "ngram", "--ngram", "code", "--router", "luck"], "--router: invalid choice: 'luck'"),
        (["--draft", "noisy_target", "--tree", "2,x"], "--tree 2,x: children of the root"),
        (["--draft", "noisy_target", "--tree", "2,1", "--draft-tokens", "3"], "--draft-tokens 3: a tree says itself"),
        (["--domain", "poetry"], "--domain poetry: known: code, prose"),
        (["--text", "nowhere"], "nowhere: No such file"),
        (["--model", "nowhere/model"], "nowhere/model"),
    ],
)
def test_what_cannot_be_run_is_one_message(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = toys.call("calibrate", "acceptance", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(Path().iterdir()) == []
