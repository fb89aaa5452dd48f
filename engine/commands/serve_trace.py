"""Serve a trace of requests as it arrives, and write what each step and each request took.

The trace is a CSV with arrival_s, prompt_tokens, output_tokens (and label), or an Azure or Mooncake file.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from engine.arrivals import Arrival, read_arrivals
from engine.commands.machine import about_machine
from engine.commands.setup import (
    LOSSY,
    Workbench,
    add_batch_flags,
    add_draft_flags,
    add_model_flags,
    add_sampling_flags,
    forced,
    sampling,
    workbench,
)
from engine.errors import RequestError
from engine.loading.tokenizer import TextCodec
from engine.loop import Engine
from engine.sampling import Sampling
from engine.sequence import Request
from engine.serving import clock_from_now, serve, settled_heap
from engine.summary import acceptance, host_fraction, latencies
from engine.texts import DOMAINS
from engine.trace import write_trace

EXAMPLE = (
    "example: python -m engine serve-trace arrivals.csv --draft lookup --draft-tokens 3 --out runs/trace\n"
    "         python -m engine serve-trace AzureLLMInferenceTrace_conv.csv --limit 20 --time-scale 4 --length-scale 0.1"
)


def add_flags(command: argparse.ArgumentParser) -> None:
    """Flags of this command."""
    command.add_argument("trace", type=Path, help="file of requests")
    command.add_argument("--limit", type=int, help="the first so many requests only")
    command.add_argument(
        "--time-scale", type=float, default=1.0, help="factor on the times between arrivals (default 1)"
    )
    command.add_argument("--length-scale", type=float, default=1.0, help="factor on prompts and outputs (default 1)")
    command.add_argument(
        "--text", choices=["random", *DOMAINS], default="code", help="what prompts hold (default code)"
    )
    command.add_argument("--out", type=Path, help="folder for steps.csv, requests.csv and about.json")
    add_model_flags(command)
    add_draft_flags(command)
    add_sampling_flags(command)
    add_batch_flags(command)


def run(flags: argparse.Namespace) -> None:
    """Serve, write, report."""
    arrivals = read_arrivals(flags.trace, flags.limit)
    if not arrivals:
        raise RequestError(f"{flags.trace}: no requests")
    bench = workbench(flags)
    rng = np.random.default_rng(flags.seed)
    tokens = [] if flags.text == "random" or bench.codec is None else text_tokens(flags.text, bench.codec)
    requests = [
        as_request(arrival, flags, tokens, bench.target.architecture.vocab_size, rng, sampling(flags))
        for arrival in arrivals
    ]
    engine = bench.engine(speculative=flags.draft != "none", forced=forced(flags))
    with settled_heap():
        engine.clock = clock_from_now()
        for _ in serve(engine, requests):
            pass
    report = summary(engine, flags)
    if flags.out is not None:
        write_trace(flags.out, engine.steps, engine.sequences, about(bench, flags))
        report["out"] = str(flags.out)
    sys.stdout.write(json.dumps(report) + "\n" if flags.json else card(report))


def text_tokens(domain: str, codec: TextCodec) -> list[int]:
    """Tokens of a domain's texts, end to end."""
    return list(chain.from_iterable(codec.encode(text[:20_000]) for text in islice(DOMAINS[domain](), 12)))


def as_request(
    arrival: Arrival,
    flags: argparse.Namespace,
    tokens: Sequence[int],
    vocabulary: int,
    rng: np.random.Generator,
    how: Sampling,
) -> Request:
    """A request of the trace's lengths: a stretch of the text, or random tokens; no stop token ends it."""
    length = max(round(arrival.prompt_tokens * flags.length_scale), 1)
    start = int(rng.integers(0, max(len(tokens), 1)))
    prompt = islice(cycle(tokens), start, start + length) if tokens else rng.integers(0, vocabulary, length).tolist()
    return Request(
        tuple(prompt),
        max(round(arrival.output_tokens * flags.length_scale), 1),
        how,
        arrival_s=arrival.arrival_s * flags.time_scale,
        label=arrival.label,
    )


def summary(engine: Engine, flags: argparse.Namespace) -> dict[str, Any]:
    """What the run took."""
    last = max(s.finish_s for s in engine.sequences)
    return {
        "model": flags.model,
        "draft": flags.draft,
        "lossless": engine.options.typical is None and engine.forced is None,
        "typical": engine.options.typical,
        "requests": len(engine.sequences),
        "seconds": last,
        "output_tokens_per_s": sum(s.num_output for s in engine.sequences) / last,
        "steps_taken": len(engine.steps),
        "preemptions": sum(s.preemptions for s in engine.sequences),
        "host_fraction": host_fraction(engine.steps),
        **latencies(engine.sequences),
        **acceptance(engine.sequences),
    }


def about(bench: Workbench, flags: argparse.Namespace) -> dict[str, Any]:
    """What the trace was taken with."""
    shown = {
        key: str(value) if isinstance(value, Path) else value for key, value in vars(flags).items() if key != "run"
    }
    return {"flags": shown, "machine": about_machine(bench.target, flags.clock), "kv_blocks": bench.options.kv_blocks}


def card(report: dict[str, Any]) -> str:
    """The report for a person."""
    lines = [
        f"{report['requests']} requests in {report['seconds']:.1f} s:"
        f" {report['output_tokens_per_s']:.1f} output tokens/s,"
        f" {report['steps_taken']} steps, {report['preemptions']} preemptions, host {report['host_fraction']:.1%}",
    ]
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        if name in report:
            spread = report[name]
            lines.append(f"{name:7} mean {spread['mean']:.3f}  p50 {spread['p50']:.3f}  p95 {spread['p95']:.3f}")
    if report["draft"] != "none" and report["steps"]:
        survival = " ".join(f"{s:.2f}" for s in report["survival"])
        lines.append(f"tokens_per_step {report['tokens_per_step']:.2f}, survival by position {survival}")
    if report["typical"]:
        lines.append(LOSSY)
    if "out" in report:
        lines.append(f"written: {report['out']}/steps.csv, requests.csv, about.json")
    return "\n".join(lines) + "\n"
