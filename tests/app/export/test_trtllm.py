"""Flags and YAML of TensorRT-LLM."""

import pytest
import yaml

from app.export import trtllm
from tests.app.export import examples
from tests.app.export.engine_flags import TRTLLM_KEYS, parse


def config_of(one):
    found = yaml.safe_load(one.configurations["trtllm.yaml"])
    assert set(found) <= TRTLLM_KEYS
    return found


def test_every_limit_is_written_out():
    flags = parse("trtllm", examples.filled(examples.export("trtllm")))

    assert (flags.max_seq_len, flags.max_batch_size, flags.max_num_tokens, flags.tp_size) == (4096, 2048, 8192, 1)


def test_the_yaml_says_what_no_flag_says():
    engine = {"admission": "max_utilisation", "batch_wait": {"steps": 20, "budget_share": 0.9}}

    found = config_of(examples.export("trtllm", engine=engine, target={"kv": "fp8"}))

    assert found["kv_cache_config"]["dtype"] == "fp8"
    assert found["scheduler_config"] == {"capacity_scheduler_policy": "MAX_UTILIZATION"}
    assert (found["batch_wait_timeout_iters"], found["batch_wait_max_tokens_ratio"]) == (20, 0.9)
    assert found["enable_chunked_prefill"] is False


@pytest.mark.parametrize(
    ("speculation", "kind"),
    [
        (examples.MODEL, "Draft_Target"),
        (examples.head("eagle3"), "Eagle3"),
        (examples.head("mtp"), "MTP"),
        (examples.NGRAM, "NGram"),
    ],
)
def test_every_kind_of_draft_has_its_decoding_type(speculation, kind):
    found = config_of(examples.export("trtllm", speculation))["speculative_config"]

    assert (found["decoding_type"], found["max_draft_len"]) == (kind, 3)


def test_a_dynamic_tree_has_its_nodes():
    found = config_of(examples.export("trtllm", examples.head("eagle3", **examples.DYNAMIC_TREE)))["speculative_config"]

    assert (found["max_draft_len"], found["dynamic_tree_max_topK"], found["max_total_draft_tokens"]) == (3, 2, 6)


def test_a_schedule_ends_at_batch_sizes_and_begins_with_the_longest():
    one = examples.export("trtllm", examples.MODEL | {"policy": examples.BY_BATCH})

    found = config_of(one)["speculative_config"]

    assert found["draft_len_schedule"] == {8: 3, 64: 1, 2048: 0}
    assert found["draft_len_schedule"][8] == found["max_draft_len"]


def test_synthetic_acceptance_leaves_the_bonus_token_out():
    one = examples.export("trtllm", examples.MODEL)

    found = trtllm.command(one.served, synthetic=True).environment

    assert found == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "1.8"}
