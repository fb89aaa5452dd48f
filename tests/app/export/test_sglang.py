"""Flags of SGLang."""

import json

import pytest

from app.export import sglang
from tests.app.export import examples
from tests.app.export.engine_flags import parse


def parsed(one):
    return parse("sglang", examples.filled(one))


def test_every_limit_is_written_out():
    flags = parsed(examples.export("sglang"))

    assert flags.program == ["python", "-m", "sglang.launch_server"]
    assert (flags.context_length, flags.max_running_requests, flags.chunked_prefill_size) == (4096, 256, 8192)
    assert flags.speculative_algorithm is None


def test_the_static_memory_is_what_the_ledger_leaves_to_weights_and_kv():
    flags = parsed(examples.export("sglang"))

    assert flags.mem_fraction_static == pytest.approx((139.8 - 13.0 - 0.125) / 139.8, abs=1e-3)


def test_data_parallel_attention_counts_all_gpus_as_one_group():
    target = {"model": "deepseek-v3", "weights": "fp8_block", "data_parallel": 8, "expert_parallel": 8}

    flags = parsed(examples.export("sglang", target=target))

    assert (flags.tp_size, flags.dp_size, flags.ep_size, flags.max_running_requests) == (8, 8, 8, 256)
    assert flags.enable_dp_attention


@pytest.mark.parametrize(
    ("speculation", "algorithm", "rows"),
    [
        (examples.MODEL, "STANDALONE", 4),
        (examples.head("eagle"), "EAGLE", 4),
        (examples.head("eagle3"), "EAGLE3", 4),
        (examples.head("mtp"), "EAGLE", 4),
        (examples.head("eagle3", **examples.DYNAMIC_TREE), "EAGLE3", 7),
        (examples.NGRAM, "NGRAM", 4),
    ],
)
def test_every_kind_of_draft_has_its_algorithm_and_verifies_the_root_too(speculation, algorithm, rows):
    flags = parsed(examples.export("sglang", speculation))

    assert (flags.speculative_algorithm, flags.speculative_num_draft_tokens) == (algorithm, rows)


def test_a_module_of_the_target_needs_no_checkpoint():
    assert parsed(examples.export("sglang", examples.head("mtp"))).speculative_draft_model_path is None


def test_a_schedule_is_one_candidate_from_each_batch_size_on():
    one = examples.export("sglang", examples.head("eagle3") | {"policy": examples.BY_BATCH})

    found = json.loads(one.configurations["adaptive.json"])

    assert {size: entry["candidate_steps"] for size, entry in found.items()} == {"1": [3], "9": [1], "65": [0]}
    assert parsed(one).speculative_adaptive_config == "adaptive.json"


def test_a_policy_by_acceptance_keeps_its_rules():
    policy = {"kind": "per_request", "candidates": [1, 3], "ema": 0.3, "every_steps": 7}

    found = json.loads(
        examples.export("sglang", examples.head("eagle3") | {"policy": policy}).configurations["adaptive.json"]
    )

    assert (found["1"]["candidate_steps"], found["ema_alpha"], found["update_interval"]) == ([1, 3], 0.3, 7)


def test_synthetic_acceptance_is_a_mean_with_the_bonus_token():
    one = examples.export("sglang", examples.head("eagle3"))

    command = sglang.command(one.served, synthetic=True)

    assert command.environment["SGLANG_SIMULATE_ACC_LEN"] == "2.8"
    assert one.command.environment == {}
