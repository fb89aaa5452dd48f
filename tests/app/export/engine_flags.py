"""Flags that engines take, as far as they are exported: by hand, from their sources.

vLLM: `vllm/engine/arg_utils.py`, `vllm/config/speculative.py`, `vllm/v1/spec_decode/dynamic/utils.py`,
`vllm/benchmarks/serve.py`, dataset `timed_trace`. SGLang: `python/sglang/srt/server_args.py`. TensorRT-LLM:
`tensorrt_llm/commands/serve.py`, `tensorrt_llm/llmapi/llm_args.py`.
"""

import argparse
import json
from itertools import pairwise
from typing import Any


def _parser(*, values: dict[str, Any], switches: tuple[str, ...]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    for name, kind in values.items():
        parser.add_argument(name, **({"choices": kind} if isinstance(kind, list) else {"type": kind}))
    for name in switches:
        parser.add_argument(name, action="store_true")
    return parser


VLLM = _parser(
    values={
        "--port": int,
        "--tensor-parallel-size": int,
        "--data-parallel-size": int,
        "--dtype": ["auto", "bfloat16", "float16", "float32"],
        "--quantization": ["fp8"],
        "--kv-cache-dtype": ["auto", "fp8", "fp8_e4m3", "fp8_e5m2", "bfloat16"],
        "--max-model-len": int,
        "--max-num-seqs": int,
        "--max-num-batched-tokens": int,
        "--block-size": int,
        "--gpu-memory-utilization": float,
        "--scheduling-policy": ["fcfs", "priority"],
        "--compilation-config": json.loads,
        "--speculative-config": json.loads,
    },
    switches=("--enable-expert-parallel", "--enable-prefix-caching", "--no-enable-prefix-caching", "--enforce-eager"),
)
BENCH = _parser(
    values={
        "--backend": ["openai", "vllm"],
        "--base-url": str,
        "--model": str,
        "--dataset-name": ["timed_trace"],
        "--dataset-path": str,
        "--timed-trace-chunk-hash-size": int,
        "--timed-trace-sec-multiplier": float,
        "--request-rate": float,
        "--max-concurrency": int,
        "--num-prompts": int,
        "--percentile-metrics": str,
        "--metric-percentiles": str,
        "--result-filename": str,
    },
    switches=(
        "--self-timed",
        "--no-self-timed",
        "--no-oversample",
        "--disable-shuffle",
        "--ignore-eos",
        "--save-result",
    ),
)
SGLANG = _parser(
    values={
        "--model-path": str,
        "--port": int,
        "--tp-size": int,
        "--dp-size": int,
        "--ep-size": int,
        "--dtype": ["auto", "bfloat16", "float32"],
        "--quantization": ["fp8"],
        "--kv-cache-dtype": ["auto", "fp8_e4m3", "fp8_e5m2", "bfloat16"],
        "--context-length": int,
        "--max-running-requests": int,
        "--chunked-prefill-size": int,
        "--page-size": int,
        "--mem-fraction-static": float,
        "--cuda-graph-max-bs": int,
        "--speculative-algorithm": ["EAGLE", "EAGLE3", "STANDALONE", "NGRAM"],
        "--speculative-draft-model-path": str,
        "--speculative-draft-model-quantization": ["fp8"],
        "--speculative-num-steps": int,
        "--speculative-eagle-topk": int,
        "--speculative-num-draft-tokens": int,
        "--speculative-ngram-max-bfs-breadth": int,
        "--speculative-adaptive-config": str,
    },
    switches=(
        "--enable-dp-attention",
        "--disable-radix-cache",
        "--disable-cuda-graph",
        "--enable-priority-scheduling",
        "--schedule-low-priority-values-first",
        "--speculative-adaptive",
    ),
)
TRTLLM = _parser(
    values={
        "--port": int,
        "--backend": ["pytorch"],
        "--tp_size": int,
        "--ep_size": int,
        "--max_seq_len": int,
        "--max_batch_size": int,
        "--max_num_tokens": int,
        "--extra_llm_api_options": str,
    },
    switches=(),
)
TRTLLM_KEYS = {
    "kv_cache_config", "scheduler_config", "enable_chunked_prefill", "enable_attention_dp", "cuda_graph_config",
    "batch_wait_timeout_iters", "batch_wait_max_tokens_ratio", "speculative_config",
}  # fmt: skip
SPECULATIVE_KEYS = {
    "method", "model", "num_speculative_tokens", "draft_tensor_parallel_size", "quantization", "kv_cache_dtype",
    "parallel_drafting", "num_speculative_tokens_per_batch_size", "rejection_sample_method",
    "synthetic_acceptance_rates",
}  # fmt: skip


def check_speculative_config(config: dict[str, Any]) -> None:
    """The rules of vLLM's `SpeculativeConfig` and of its schedule."""
    assert set(config) <= SPECULATIVE_KEYS
    tokens = config["num_speculative_tokens"]
    assert tokens > 0
    if config["method"] not in ("ngram", "mtp"):
        assert "model" in config
    if (rates := config.get("synthetic_acceptance_rates")) is not None:
        assert config["rejection_sample_method"] == "synthetic"
        assert len(rates) == tokens
        assert all(0.0 <= rate <= 1.0 for rate in rates)
        assert all(after <= before for before, after in pairwise(rates))
    ends = [0]
    for first, last, k in config.get("num_speculative_tokens_per_batch_size", []):
        assert first == ends[-1] + 1
        assert first <= last
        assert 0 <= k <= tokens
        ends.append(last)


PARSERS = {"vllm": (VLLM, 3), "bench": (BENCH, 3), "sglang": (SGLANG, 3), "trtllm": (TRTLLM, 2)}
"""Engine → its parser, and how many words come before the flags."""


def parse(engine: str, words: list[str]) -> argparse.Namespace:
    """The flags of a command; `program`: the words before them."""
    parser, before = PARSERS[engine]
    found = parser.parse_args(words[before:])
    found.program = words[:before]
    return found
