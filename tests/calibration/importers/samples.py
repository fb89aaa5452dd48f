"""Files as the tools write them, small enough to work out by hand."""

import json

METRICS = """\
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 1000.0
# TYPE vllm:spec_decode_num_drafts_created gauge
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.781341706e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 3000.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 1500.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 800.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 500.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="2"} 200.0
vllm:generation_tokens_total{engine="0",model_name="m"} 3050.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 30.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 20.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} NaN
"""

TRTLLM = """\
trtllm_spec_decode_num_draft_tokens_total{engine_type="trtllm",model_name="m"} 4000.0
trtllm_spec_decode_num_accepted_tokens_total{engine_type="trtllm",model_name="m"} 2400.0
trtllm_spec_decode_acceptance_length{engine_type="trtllm",model_name="m"} 2.9
"""

SGLANG = """\
sglang:spec_accept_rate{dp_rank="0",engine_type="unified",model_name="m",tp_rank="0"} 0.55
sglang:spec_accept_length{dp_rank="0",engine_type="unified",model_name="m",tp_rank="0"} 2.65
"""

BENCH = {
    "date": "20261128-101010",
    "endpoint_type": "vllm",
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.3-70B-Instruct",
    "num_prompts": 100,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 16,
    "duration": 50.0,
    "completed": 100,
    "failed": 0,
    "total_input_tokens": 102400,
    "total_output_tokens": 25600,
    "request_throughput": 2.0,
    "request_goodput": None,
    "output_throughput": 512.0,
    "total_token_throughput": 2560.0,
    "mean_ttft_ms": 210.5,
    "median_ttft_ms": 190.0,
    "p99_ttft_ms": 800.0,
    "mean_tpot_ms": 28.25,
    "mean_itl_ms": 27.5,
}
SPEC = {
    "spec_decode_acceptance_rate": 50.0,
    "spec_decode_acceptance_length": 2.5,
    "spec_decode_num_drafts": 1000,
    "spec_decode_draft_tokens": 3000,
    "spec_decode_accepted_tokens": 1500,
    "spec_decode_per_position_acceptance_rates": [0.8, 0.5, 0.2],
}

AIPERF = {
    "schema_version": "1.4",
    "aiperf_version": "0.13.0",
    "benchmark_id": "b",
    "is_complete": True,
    "input_config": {"loadgen": {"concurrency": 8, "request_rate": None}},
    "start_time": "2026-11-28T10:10:10",
    "time_to_first_token": {"unit": "ms", "avg": 150.0, "p50": 140.0},
    "inter_token_latency": {"unit": "ms", "avg": 20.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 400.0},
    "input_sequence_length": {"unit": "tokens", "avg": 1000.4},
    "output_sequence_length": {"unit": "tokens", "avg": 200.0},
}
AIPERF_SPEC = {
    "pooled_spec_decode_acceptance_histogram": {"0": 2, "1": 3, "2": 2, "3": 3, "4": 1},
    "total_spec_decode_steps": {"unit": "count", "avg": 11.0},
    "total_accepted_draft_tokens": {"unit": "tokens", "avg": 20.0},
    "total_draft_tokens": {"unit": "tokens", "avg": 44.0},
    "spec_decode_overall_draft_acceptance_rate": {"unit": "%", "avg": 45.4545},
    "spec_decode_token_weighted_acceptance_length": {"unit": "ratio", "avg": 2.81818},
    "spec_decode_acceptance_length": {"unit": "ratio", "avg": 2.9},
}


def _by_status(mean):
    return {"successful": {"mean": mean, "median": mean, "count": 10}, "incomplete": None, "errored": None}


GUIDELLM = {
    "metadata": {"version": 2, "guidellm_version": "0.6"},
    "config": {},
    "benchmarks": [
        {
            "type_": "generative_benchmark",
            "config": {"strategy": {"type_": "concurrent", "streams": 4}},
            "metrics": {
                "prompt_token_count": _by_status(256.0),
                "output_token_count": _by_status(128.0),
                "time_to_first_token_ms": _by_status(80.0),
                "inter_token_latency_ms": _by_status(12.0),
                "output_tokens_per_second": _by_status(320.0),
                "output_tokens_per_iteration": _by_status(1.9),
            },
        }
    ],
}


def vllm_response(histogram, drafted=None, **changes):
    """A response with the statistics of its request."""
    steps, accepted = sum(histogram), sum(j * n for j, n in enumerate(histogram))
    k = len(histogram) - 1
    of = {
        "mean_acceptance_length": 1 + accepted / steps,
        "draft_acceptance_rate": accepted / (k * steps),
        "acceptance_histogram": histogram,
        "num_spec_steps": steps,
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": k * steps,
        "num_spec_tokens": k,
    }
    return {"id": "cmpl-1", "choices": [{"text": "…"}], "metrics": {"speculative_decoding": of | changes}}


def sglang_response(histogram, **changes):
    """The same of SGLang: in meta_info, under its own names."""
    steps, accepted = sum(histogram), sum(j * n for j, n in enumerate(histogram))
    meta = {
        "completion_tokens": steps + accepted + 1,
        "spec_verify_ct": steps,
        "spec_accept_length": 1 + accepted / steps,
        "spec_accept_token_num": accepted,
        "spec_draft_token_num": (len(histogram) - 1) * steps,
        "spec_accept_histogram": histogram,
    }
    return {"text": "…", "meta_info": meta | changes}


def iteration(drafted, accepted, requests):
    """One of TensorRT-LLM's iterations."""
    return {
        "iter": 1,
        "iterLatencyMS": 30.0,
        "specDecodingStats": {
            "numDraftTokens": drafted,
            "numAcceptedTokens": accepted,
            "numRequestsWithDraftTokens": requests,
            "acceptanceLength": 1 + accepted / requests if requests else 0.0,
            "draftOverhead": 0.2,
        },
    }


def lines(records):
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)
