"""How fast the simulation is: three loads with all metrics, beside what a plain SimPy loop does in the same process.

The first load is also served with a union of four drafts, and with draft GPUs that four replicas share each.

Prints a card for people; the very last line is one JSON object. CPU seconds, because wall time is the machine's mood.
"""

import argparse
import json
import resource
import sys
import time
from typing import Any

import simpy

from simulator.outcome.report import replication_row
from simulator.planning.context import row_context
from simulator.run import simulate_once, step_model_of
from simulator.spec.scenario import Scenario

LOADS = {
    "512/128 at 160/s": (512, 128, 160.0, 20_000),
    "512/1024 at 100/s": (512, 1024, 100.0, 5_000),
    "512/1024 at 8/s": (512, 1024, 8.0, 2_000),
}
"""Name -> prompt tokens, output tokens, requests per second over 8 replicas, goal [requests per CPU-second]."""

UNION_GOAL = 10_000
"""Requests per CPU-second of the first load with a union of four drafts."""
GOODPUT_GOAL = 3.0
"""CPU time of the first load with the goodput policy ÷ that with fixed K."""
TIMEOUTS = 300_000

DRAFT = {
    "model": "llama-3.2-1b",
    "weights": "fp8",
    "kv": "fp8",
    "acceptance": {"all": {"survival": tuple(0.7**i for i in range(1, 5))}},
}
"""A 1B draft with independent acceptance of 0.7."""
SINGLE = {"kind": "drafts", "drafts": {"d": DRAFT}, "propose": {"draft_tokens": 4}}
POOLED = {**SINGLE, "placement": {"kind": "dedicated", "link": "nvlink", "shared_by": 4}}
POOLED_GOAL = 5_000
"""Requests per CPU-second of the first load with shared draft GPUs, whose replicas are simulated step by step."""


UNION = {
    "kind": "drafts",
    "drafts": dict.fromkeys(("code", "math", "prose", "chat"), DRAFT),
    "propose": {"draft_tokens": 4},
    "combine": {"kind": "union", "recursive_rejection": {"correlation": 0.5}},
}


def scenario(
    prompt_tokens: int, output_tokens: int, rate_per_s: float, requests: int, speculation: dict[str, Any] = SINGLE
) -> Scenario:
    """Eight replicas of a 70B model that speculate, by default with a 1B draft."""
    deployment = {
        "gpu": "b200-sxm",
        "replicas": 8,
        "price": 5.5,
        "target": {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8", "tensor_parallel": 8},
        "engine": {"policy": "vllm", "max_model_len": 8192},
        "speculation": speculation,
    }
    workload = {
        "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s},
        "lengths": {"kind": "fixed", "prompt_tokens": prompt_tokens, "output_tokens": output_tokens},
        "horizon": {"requests": requests, "warmup_requests": requests // 20},
    }
    return Scenario.model_validate(
        {"schema_version": 1, "name": "bench", "seed": 1, "replications": 1, "workload": workload,
         "slo": {"ttft_s": {"p95": 1.0}, "tpot_s": {"p95": 0.05}}, "deployments": {"bench": deployment}}
    )  # fmt: skip


def plain_timeouts_per_cpu_s() -> float:
    """Timeouts of one SimPy process that does nothing else."""

    def ticking(env: simpy.Environment) -> Any:
        while True:
            yield env.timeout(1.0)

    env = simpy.Environment()
    env.process(ticking(env))
    begin = time.process_time()
    env.run(until=TIMEOUTS)
    return TIMEOUTS / (time.process_time() - begin)


def measure(
    prompt_tokens: int, output_tokens: int, rate_per_s: float, requests: int, speculation: dict[str, Any] = SINGLE
) -> dict[str, float]:
    """One run with every figure of a report row."""
    spec = scenario(prompt_tokens, output_tokens, rate_per_s, requests, speculation)
    model = step_model_of(spec.deployments["bench"])
    wall, cpu = time.perf_counter(), time.process_time()
    records = simulate_once(spec, "bench", 0)
    row = replication_row(records, row_context(spec, "bench", "base"), 0, model=model, offered_req_per_s=rate_per_s)
    seconds = time.process_time() - cpu
    steps = int(records.steps.num_steps.sum())
    return {
        "requests": requests,
        "simulated_requests": records.requests.arrival_s.size,
        "requests_per_cpu_s": requests / seconds,
        "steps_per_cpu_s": steps / seconds,
        "cpu_s": seconds,
        "wall_s": time.perf_counter() - wall,
        "mean_batch": row["mean_batch"],
    }


def seconds_per_request(run: dict[str, float]) -> float:
    """CPU seconds of each simulated request: those that arrive while the measured ones end are many in a short run."""
    return run["cpu_s"] / run["simulated_requests"]


def peak_rss_bytes() -> int:
    """Largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Run all loads and print the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, help="requests of each load")
    requests = parser.parse_args().requests
    say = sys.stdout.write
    timeouts = plain_timeouts_per_cpu_s()
    say(f"plain SimPy loop: {timeouts:,.0f} timeouts per CPU-second\n")
    found: dict[str, dict[str, float]] = {}
    for name, (prompt, output, rate, goal) in LOADS.items():
        at = found[name] = measure(prompt, output, rate, requests)
        at["timeouts_per_step"] = timeouts / at["steps_per_cpu_s"]
        say(f"{name}: {at['requests_per_cpu_s']:,.0f} requests per CPU-second (goal {goal:,}), "
            f"{at['steps_per_cpu_s']:,.0f} steps per CPU-second = 1/{at['timeouts_per_step']:.1f} of the plain loop, "
            f"batch {at['mean_batch']:.1f}, {at['cpu_s']:.1f} s\n")  # fmt: skip
    first = next(iter(found.values()))
    prompt, output, rate, _ = next(iter(LOADS.values()))
    small = min(seconds_per_request(measure(prompt, output, rate, 1000)) for _ in range(5))
    union = measure(prompt, output, rate, requests, UNION)
    say(f"the first load with a union of four drafts: {union['requests_per_cpu_s']:,.0f} requests per CPU-second "
        f"(goal {UNION_GOAL:,})\n")  # fmt: skip
    pooled = measure(prompt, output, rate, requests, POOLED)
    say(f"the first load with draft GPUs shared by 4: {pooled['requests_per_cpu_s']:,.0f} requests per CPU-second "
        f"(goal {POOLED_GOAL:,})\n")  # fmt: skip
    goodput = measure(prompt, output, rate, requests, SINGLE | {"policy": {"kind": "goodput"}})
    dearer = goodput["cpu_s"] / first["cpu_s"]
    say(f"the first load with K by goodput: {goodput['requests_per_cpu_s']:,.0f} requests per CPU-second, "
        f"{dearer:.1f}x the CPU time of fixed K (goal {GOODPUT_GOAL:g}x)\n")  # fmt: skip
    growth = seconds_per_request(first) / small
    say(f"cost of a simulated request, {requests:,} against 1,000: {growth:.2f}x\n")
    last = {key: first[key] for key in ("requests_per_cpu_s", "steps_per_cpu_s", "wall_s")}
    last["union_requests_per_cpu_s"] = union["requests_per_cpu_s"]
    last["pooled_requests_per_cpu_s"] = pooled["requests_per_cpu_s"]
    last["goodput_cpu_ratio"] = dearer
    say(json.dumps({**last, "peak_rss_bytes": peak_rss_bytes(), "cost_growth": growth, "loads": found}) + "\n")


if __name__ == "__main__":
    main()
