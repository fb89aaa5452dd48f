"""Flags of vLLM."""

import json

import pytest

from app.export import vllm
from tests.app.export import examples
from tests.app.export.engine_flags import check_speculative_config, parse


def parsed(one):
    return parse("vllm", examples.filled(one))


def config_of(speculation, **changes):
    found = parsed(examples.export("vllm", speculation, **changes)).speculative_config
    check_speculative_config(found)
    return found


def test_every_limit_is_written_out():
    flags = parsed(examples.export("vllm"))

    assert flags.program == ["vllm", "serve", "meta-llama/Meta-Llama-3.1-8B"]
    assert (flags.max_model_len, flags.max_num_seqs, flags.max_num_batched_tokens) == (4096, 256, 8192)
    assert (flags.block_size, flags.gpu_memory_utilization, flags.kv_cache_dtype) == (16, 0.9, "auto")
    assert flags.enable_prefix_caching
    assert flags.speculative_config is None


def test_what_the_deployment_states_goes_before_defaults():
    engine = {"max_num_seqs": 64, "memory_fraction": 0.8, "prefix_cache": False, "scheduler": "priority"}

    flags = parsed(examples.export("vllm", engine=engine, target={"weights": "fp8", "kv": "fp8", "tensor_parallel": 2}))

    assert (flags.max_num_seqs, flags.gpu_memory_utilization, flags.scheduling_policy) == (64, 0.8, "priority")
    assert (flags.quantization, flags.kv_cache_dtype, flags.tensor_parallel_size) == ("fp8", "fp8", 2)
    assert flags.no_enable_prefix_caching


def test_a_budget_is_a_share_of_the_memory():
    flags = parsed(examples.export("vllm", engine={"hbm_budget_gb": 60.0}))

    assert flags.gpu_memory_utilization == pytest.approx(60e9 / (139.8 * 2**30), abs=1e-4)


@pytest.mark.parametrize(("tokens", "flag"), [(0, "enforce_eager"), (128, "compilation_config")])
def test_graphs_are_bounded_where_the_deployment_says_so(tokens, flag):
    assert getattr(parsed(examples.export("vllm", engine={"cuda_graph_max_tokens": tokens})), flag)


def test_ranks_have_their_share_of_the_batch():
    target = {"model": "deepseek-v3", "weights": "fp8_block", "data_parallel": 8, "expert_parallel": 8}

    flags = parsed(examples.export("vllm", target=target))

    assert (flags.data_parallel_size, flags.max_num_seqs, flags.max_num_batched_tokens) == (8, 32, 1024)
    assert flags.enable_expert_parallel


def test_a_draft_model_is_loaded_beside_the_target():
    draft = {"model": "llama-3.2-1b", "weights": "fp8", "kv": "fp8", "acceptance": examples.ACCEPTED}

    found = config_of(examples.MODEL | {"drafts": {"small": draft}}, target={"tensor_parallel": 2})

    assert found == {
        "method": "draft_model", "model": "meta-llama/Llama-3.2-1B", "draft_tensor_parallel_size": 1,
        "quantization": "fp8", "kv_cache_dtype": "fp8", "num_speculative_tokens": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("speculation", "method"),
    [
        (examples.head("eagle"), "eagle"),
        (examples.head("eagle3"), "eagle3"),
        (examples.head("mtp"), "mtp"),
        (examples.head("parallel"), "eagle3"),
        (examples.NGRAM, "ngram"),
    ],
)
def test_every_kind_of_draft_has_its_method(speculation, method):
    found = config_of(speculation)

    assert (found["method"], found["num_speculative_tokens"]) == (method, 3)


def test_a_parallel_head_says_so():
    assert config_of(examples.head("parallel"))["parallel_drafting"]


def test_a_schedule_goes_into_the_configuration():
    found = config_of(examples.MODEL | {"policy": examples.BY_BATCH})

    assert found["num_speculative_tokens_per_batch_size"] == examples.BANDS


def test_synthetic_acceptance_is_the_deployment_s_own_by_position():
    one = examples.export("vllm", examples.MODEL)

    found = vllm.speculative_config(one.served, synthetic=True)

    check_speculative_config(found)
    assert found["synthetic_acceptance_rates"] == [0.8, 0.6, 0.4]


def test_random_text_holds_nothing_that_a_look_up_could_accept():
    one = examples.export("vllm", examples.NGRAM)

    assert "rejection_sample_method" not in vllm.speculative_config(one.served, synthetic=True)


def test_the_command_is_one_option_a_line():
    text = examples.export("vllm", examples.MODEL).text

    assert text.startswith("vllm serve meta-llama/Meta-Llama-3.1-8B \\\n  --port 8000 \\\n")
    config = text.rpartition("--speculative-config ")[2]
    assert json.loads(config.strip("'"))["method"] == "draft_model"
