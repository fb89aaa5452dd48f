"""Results of a benchmark as its client would save them, made from what was predicted."""

from typing import Any

from simulator.spec.prediction import BenchFigures, BenchLoad, Prediction, StepFactors

LATENCY = {"mean": 0.02, "p50": 0.018, "p90": 0.03, "p95": 0.04, "p99": 0.05}


def prediction(**changes: Any) -> Prediction:
    """A prediction of 100 requests."""
    made: dict[str, Any] = {
        "kind": "specfleet-prediction", "schema_version": 1, "scenario": "chat", "deployment": "spec", "engine": "vllm",
        "gpu": "h200-sxm", "gpus": 2, "profile": "h200-sxm-vllm", "version": "0.1.0", "acceptance": (0.8, 0.6),
        "load": BenchLoad(requests=100, prompt_tokens=50_000, output_tokens=20_000),
        "figures": BenchFigures(
            ttft_s={name: 10 * value for name, value in LATENCY.items()},
            tpot_s=dict(LATENCY), e2e_s={name: 200 * value for name, value in LATENCY.items()},
            req_per_s=2.0, output_tokens_per_s=400.0, tokens_per_step=2.4,
        ),
        "factors": StepFactors(tpot=1.2, ttft=1.5, basis="30 left-out rows"),
    }  # fmt: skip
    return Prediction(**made | changes)


def result(of: Prediction, slower: float = 1.0, **changes: Any) -> dict[str, Any]:
    """What `vllm bench serve` saves when every latency is longer than predicted by a factor."""
    found: dict[str, Any] = {
        "date": "20261128-101010", "backend": "openai", "completed": of.load.requests, "failed": 0,
        "total_input_tokens": of.load.prompt_tokens, "total_output_tokens": of.load.output_tokens,
        "request_throughput": of.figures.req_per_s, "output_throughput": of.figures.output_tokens_per_s,
    }  # fmt: skip
    for name, theirs in (("ttft_s", "ttft"), ("tpot_s", "tpot"), ("e2e_s", "e2el")):
        for statistic, value in getattr(of.figures, name).items():
            found[f"{statistic}_{theirs}_ms"] = None if value is None else value * slower * 1e3
    if of.figures.tokens_per_step is not None:
        found["spec_decode_acceptance_length"] = of.figures.tokens_per_step
    return found | changes
