import json

import pytest

from app.tables.memory import bar, memory_blocks
from tests.app import toys

FLAGS = ("memory", "--gpu", "h100-sxm", "--model", "llama-3.1-8b", "--weights", "bf16", "--max-model-len", "16000")
ROW_FIELDS = {
    "deployment",
    "role",
    "hbm_bytes",
    "usable_bytes",
    "target_weights_bytes",
    "draft_weights_bytes",
    "activation_bytes",
    "runtime_bytes",
    "kv_budget_bytes",
    "kv_bytes_per_token",
    "kv_tokens",
    "max_sequences_at",
    "fits",
    "shortfall_bytes",
    "reason",
}


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(toys.SMALL)
    return path


def ledger(**changes):
    row = json.loads(toys.call(*FLAGS, "--json").stdout)["rows"][0]
    return row | changes


def test_flags_alone_describe_a_deployment():
    result = toys.call(*FLAGS)

    assert result.exit_code == 0
    assert "✓ fits" in result.stdout
    assert "sequences of 128K" in result.stdout


def test_json_has_every_field_of_the_design():
    result = toys.call(*FLAGS, "--json")

    assert set(json.loads(result.stdout)["rows"][0]) >= ROW_FIELDS
    assert result.stderr == ""


def test_what_does_not_fit_is_a_result_with_exit_code_three():
    result = toys.call("memory", "--gpu", "h100-sxm", "--model", "llama-3.3-70b", "--json")

    row = json.loads(result.stdout)["rows"][0]
    assert result.exit_code == 3
    assert not row["fits"]
    assert row["shortfall_bytes"] > 0


def test_parts_that_a_checkpoint_keeps_in_bf16_are_larger():
    flags = ("memory", "--gpu", "h100-sxm", "--model", "llama-3.1-405b-kv16", "--weights", "fp8", "--tp", "8")
    kept = ("--unquantised", "attention", "--unquantised", "first_and_last_mlp")

    row = json.loads(toys.call(*flags, *kept, "--json").stdout)["rows"][0]

    assert row["target_weights_bytes"] / 2**30 == pytest.approx(57.752, abs=0.5)


def test_one_deployment_of_a_file_that_does_not_fit_is_enough(small):
    result = toys.call("memory", small, "--set", toys.TOO_LARGE)

    assert result.exit_code == 3
    assert "✗ does not fit" in result.stdout


def test_a_sweep_that_leaves_memory_alone_is_told_once(small):
    result = toys.call("memory", small, "--set", "sweep={seed: [1, 2, 3]}", "--json")

    rows = json.loads(result.stdout)["rows"]
    assert [row["point"] for row in rows] == ["base"]


def test_a_sweep_that_changes_memory_is_told_at_each_point(small):
    result = toys.call("memory", small, "--set", "sweep={deployments.plain.target.kv: [bf16, fp8]}")

    assert "plain at deployments.plain.target.kv=fp8" in result.stdout


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--gpu", "h100-sxm"), "give a scenario file, or --gpu and --model"),
        ((), "give a scenario file, or --gpu and --model"),
        (("--gpu", "h1000", "--model", "llama-3.1-8b"), "--gpu: no GPU 'h1000'"),
        (("--gpu", "h100-sxm", "--model", "llama-9"), "--model: no model 'llama-9'"),
        (("--gpu", "h100-sxm", "--model", "llama-3.1-8b", "--policy", "tgi"), "--policy: no engine policy 'tgi'"),
        (("--gpu", "h100-sxm", "--model", "llama-3.1-8b", "--unquantised", "head"), "--unquantised"),
        (("--gpu", "h100-sxm", "--model", "llama-3.1-8b", "--weights", "fp9"), "--weights"),
        (("--gpu", "h100-sxm", "--model", "llama-3.1-8b", "--tp", "3"), "--tp"),
        (("--gpu", "h100-sxm", "--model", "llama-3.1-8b", "--memory-fraction", "2"), "--memory-fraction"),
    ],
)
def test_wrong_flags_are_named(flags, said):
    result = toys.call("memory", *flags)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_flag_beside_a_file_is_refused_not_ignored(small):
    result = toys.call("memory", small, "--tp", "2")

    assert result.exit_code == 2
    assert "change it by --set" in result.stderr


def test_a_set_without_a_file_is_refused_not_ignored():
    assert toys.call(*FLAGS, "--set", "seed=1").exit_code == 2


def test_the_bar_is_as_wide_as_asked_and_shows_every_part():
    text = bar(ledger(draft_weights_bytes=5 * 10**9), 60).plain

    assert len(text) == 60
    assert set("█▓▒■·") <= set(text)


def test_the_bar_of_what_is_too_large_goes_beyond_the_memorys_end():
    text = bar(ledger(target_weights_bytes=140 * 10**9, kv_budget_bytes=0, fits=False), 60).plain

    assert text.index("│") < 60
    assert text.rstrip("▒░").endswith("█")


def test_many_deployments_are_shown_four_to_a_table():
    rows = [ledger(deployment=f"d{number}") for number in range(7)]

    text = toys.rendered(*memory_blocks(rows, 120))

    assert text.count("memory shown by CUDA") == 2
    assert max(len(line) for line in text.splitlines()) <= 120


def test_a_drafts_share_of_the_kv_is_told():
    rows = [ledger(kv_bytes_per_token={"target": 3000, "draft": 1000})]

    assert "3,000 + 1,000 draft (25 %)" in toys.rendered(*memory_blocks(rows, 120))


def test_several_drafts_stand_below_one_another_and_a_single_one_does_not():
    one = ledger(draft_weights_bytes=2 * 10**9, draft_weights_bytes_by_draft={"small": 2 * 10**9})
    several = {"code": 2 * 10**9, "math": 10**9}
    two = ledger(deployment="two", draft_weights_bytes_by_draft=several, router_weights_bytes=3 * 10**8)

    text = toys.rendered(*memory_blocks([one, two], 120))

    names = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and " GB (" in line]
    assert names[-3:] == ["code", "math", "(router)"]
    assert "small" not in text


def test_the_table_tells_both_tiers_and_what_a_window_holds():
    table = toys.call(*FLAGS, "--kv-host-gb", "50").stdout

    assert "room for KV on the host" in table
    assert "50.0 GB" in table
    assert "of the target's KV on the host" in table
