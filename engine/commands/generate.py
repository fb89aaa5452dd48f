"""Stream text with speculation, then time the same request without it.

Accepted draft tokens are shown in green on a terminal, or between « and » with --show marks.
"""

import argparse
import json
import sys
from dataclasses import replace
from typing import Any

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
from engine.drafters.asynchronous import AsynchronousDraft
from engine.drafters.routed import Routed
from engine.loading.tokenizer import TextStream, number_codec
from engine.loop import Engine
from engine.sequence import Emission, Request, SequenceState
from engine.summary import acceptance, decode_tokens_per_s, host_fraction

EXAMPLE = """examples:
  python -m engine generate --prompt "def fibonacci(n):" --draft lookup --draft-tokens 5
  python -m engine generate --prompt "def fibonacci(n):" --draft union --of lookup --of ngram --ngram code
  python -m engine generate --prompt "Why is the sky blue?" --draft ngram --ngram code --ngram prose --router likelihood
  python -m engine generate --prompt "Once upon" --draft noisy_target --dynamic-tree 4,3,12"""

MARKS = {"color": ("\x1b[32m", "\x1b[0m"), "marks": ("«", "»"), "none": ("", "")}
"""What stands around accepted draft tokens."""


def add_flags(command: argparse.ArgumentParser) -> None:
    """Flags of this command."""
    command.add_argument("--prompt", required=True, help="text to go on with; '-' reads it from stdin")
    command.add_argument("--chat", action="store_true", help="put the prompt into the model's chat template")
    command.add_argument("--max-tokens", type=int, default=128, help="output tokens at most (default 128)")
    command.add_argument("--show", choices=["auto", *MARKS], default="auto", help="how accepted tokens are shown")
    command.add_argument("--no-compare", action="store_true", help="leave out the plain run")
    add_model_flags(command)
    add_draft_flags(command, default="lookup")
    add_sampling_flags(command)
    add_batch_flags(command)


def run(flags: argparse.Namespace) -> None:
    """Generate, compare, report."""
    bench = workbench(flags)
    bench = replace(bench, codec=bench.codec or number_codec(bench.target.architecture.vocab_size))
    codec = bench.text()
    prompt = sys.stdin.read() if flags.prompt == "-" else flags.prompt
    text = codec.chat(prompt) if flags.chat else prompt
    request = Request(tuple(codec.encode(text)), flags.max_tokens, sampling(flags), stop_tokens=codec.stop_tokens)
    warm_up(bench, request)
    speculative = bench.engine(speculative=flags.draft != "none", forced=forced(flags))
    sequence = stream(speculative, request, bench, flags)
    report = {
        "model": flags.model,
        "draft": flags.draft,
        "draft_tokens": bench.options.draft_tokens,
        "synthetic": flags.synthetic,
        "lossless": bench.options.typical is None and flags.synthetic is None,
        **measured(speculative, sequence),
    }
    if isinstance(speculative.drafter, Routed):
        report["routes"] = dict(speculative.drafter.taken)
    if isinstance(speculative.drafter, AsynchronousDraft):
        report["asynchronous"] = speculative.drafter.summary()
        speculative.drafter.close()
    if flags.draft != "none" and not flags.no_compare:
        report |= compared(bench, request, sequence, report)
    if flags.json:
        report["text"] = codec.decode(sequence.output)
        sys.stdout.write(json.dumps(report) + "\n")
    else:
        sys.stdout.write(card(report))


def warm_up(bench: Workbench, request: Request) -> None:
    """Let libraries choose their kernels before anything is timed."""
    for speculative in {False, bench.options.draft_tokens > 0}:
        engine = bench.engine(speculative=speculative)
        engine.submit(replace(request, max_tokens=4, stop_tokens=frozenset()))
        list(engine.run())


def stream(engine: Engine, request: Request, bench: Workbench, flags: argparse.Namespace) -> SequenceState:
    """Serve the request, writing its text as it comes; times are the steps' own, without the writing."""
    sequence = engine.submit(request)
    show = flags.show if flags.show != "auto" else "color" if sys.stdout.isatty() else "none"
    out = TextStream(bench.text())
    for emission in engine.run():
        if not flags.json:
            sys.stdout.write(marked(out, emission, *MARKS[show]))
            sys.stdout.flush()
    return sequence


def marked(out: TextStream, emission: Emission, start: str, end: str) -> str:
    """Text of an emission, its accepted draft tokens between two marks."""
    accepted = out.push(emission.tokens[: emission.accepted]) if emission.accepted else ""
    rest = out.push(emission.tokens[emission.accepted :])
    return (f"{start}{accepted}{end}" if accepted else "") + rest


def measured(engine: Engine, sequence: SequenceState) -> dict[str, Any]:
    """Counts and speed of one run."""
    prompt_s = sum(row.cost.total_s for row in engine.steps if row.shape.prefill_tokens)
    return {
        "prompt_tokens": len(sequence.request.prompt),
        "output_tokens": sequence.num_output,
        "prompt_s": prompt_s,
        "tokens_per_s": decode_tokens_per_s(engine.steps),
        "host_fraction": host_fraction(engine.steps),
        "backend": engine.target.backend,
        **acceptance([sequence]),
    }


def compared(bench: Workbench, request: Request, sequence: SequenceState, report: dict[str, Any]) -> dict[str, Any]:
    """The same request without drafts: its speed, and whether its output is the same."""
    plain = bench.engine(speculative=False)
    if sequence.request is not request:
        request = replace(request, stop_tokens=frozenset(), max_tokens=sequence.max_tokens)
    other = plain.submit(request)
    list(plain.run())
    plain_speed, speed = decode_tokens_per_s(plain.steps), report["tokens_per_s"]
    comparable = request.sampling.greedy and report["synthetic"] is None
    return {
        "plain_tokens_per_s": plain_speed,
        "speedup": speed / plain_speed if speed and plain_speed else None,
        "identical": other.output == sequence.output if comparable else None,
    }


def card(report: dict[str, Any]) -> str:
    """The report for a person."""
    lines = [
        "",
        f"{report['prompt_tokens']} prompt tokens in {report['prompt_s']:.2f} s,"
        f" {report['output_tokens']} output tokens in {report['steps']} steps ({report['backend']})",
    ]
    if report["draft_tokens"]:
        survival = " ".join(f"{s:.2f}" for s in report["survival"]) or "nothing was drafted"
        lines += [
            f"draft {report['draft']}, K = {report['draft_tokens']}:"
            f" tokens_per_step {_number(report['tokens_per_step'])},"
            f" acceptance_rate {_number(report['acceptance_rate'])}, survival by position {survival}",
        ]
    if report.get("routes"):
        lines.append("steps drafted by " + ", ".join(f"{name}: {count}" for name, count in report["routes"].items()))
    if report.get("asynchronous"):
        lines.append(away_line(report["asynchronous"]))
    speeds = f"{_number(report['tokens_per_s'])} tokens/s"
    if report.get("plain_tokens_per_s"):
        speeds += f", plain {_number(report['plain_tokens_per_s'])} tokens/s: speedup {_number(report['speedup'])}x"
    lines.append(f"{speeds} (decoding); host {report['host_fraction']:.1%} of the steps")
    if report.get("identical") is not None:
        lines.append("output is " + ("the plain engine's, token for token" if report["identical"] else DIFFERS))
    if not report["lossless"] and not report["synthetic"]:
        lines.append(LOSSY)
    if report["synthetic"]:
        lines.append("acceptance was forced: the output is not the target's")
    return "\n".join(lines) + "\n"


def away_line(away: dict[str, Any]) -> str:
    """What drafting ahead came to.

    >>> away_line({"hits": 32, "asked": 80, "hidden_share": 0.76})
    'drafted in its own process: 32 of 80 drafts begun ahead, 76% of their time hidden'
    >>> away_line({"hits": 32, "asked": 80, "hidden_share": -0.21}).partition("ahead, ")[2]
    'none of their time hidden: the target waited 21% longer than they took'
    """
    share = away["hidden_share"]
    hidden = "nothing" if share is None else f"{share:.0%}"
    said = f"{hidden} of their time hidden"
    if share is not None and share < 0:
        said = f"none of their time hidden: the target waited {-share:.0%} longer than they took"
    return f"drafted in its own process: {away['hits']} of {away['asked']} drafts begun ahead, {said}"


DIFFERS = (
    "not the plain engine's: in single precision, two tokens that are almost equally likely can change places"
    " (python -m tests.engine.lossless_smollm2 lists such places)"
)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
