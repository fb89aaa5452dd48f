"""Measure the engine: plain and speculative speed, steps by phase, acceptance by position and domain.

Everything that is compared is measured in turns in the same run. The last line of stdout is one JSON object.
"""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from engine.commands.machine import about_machine
from engine.commands.measurements import by_domain, by_shape, plain_speed
from engine.commands.setup import add_batch_flags, add_draft_flags, add_model_flags, workbench
from engine.texts import DOMAINS

EXAMPLE = "example: python -m engine bench --threads 2 --prompts 2 --tokens 64"


def add_flags(command: argparse.ArgumentParser) -> None:
    """Flags of this command."""
    command.add_argument("--prompts", type=int, default=4, help="prompts of each domain (default 4)")
    command.add_argument("--domain", action="append", choices=list(DOMAINS), help="only this one; several times")
    command.add_argument("--prompt-tokens", type=int, default=256, help="longest prompt of a domain (default 256)")
    command.add_argument("--tokens", type=int, default=128, help="output tokens of each prompt (default 128)")
    command.add_argument("--batches", default="1,4,8", help="sequences in a step (default 1,4,8)")
    command.add_argument("--rows", default="1,2,4,6,8", help="tokens of a sequence in a step (default 1,2,4,6,8)")
    command.add_argument("--pairs", type=int, default=3, help="runs of each side against transformers (default 3)")
    command.add_argument("--no-peer", action="store_true", help="leave transformers out")
    add_model_flags(command)
    add_draft_flags(command, default="lookup")
    add_batch_flags(command)


def run(flags: argparse.Namespace) -> None:
    """Measure and report."""
    bench = workbench(flags)
    say = sys.stderr.write if flags.json else sys.stdout.write
    report: dict[str, Any] = {
        "model": flags.model,
        "machine": about_machine(bench.target, flags.clock),
        "load_s": bench.load_s,
    }
    say(f"{flags.model} on {report['machine']}\n")
    report["plain"] = plain_speed(bench, flags)
    say(plain_lines(report["plain"]))
    if bench.codec is not None and flags.draft != "none":
        report["domains"] = _with_lines(
            by_domain(bench, flags), domain_line, f"draft {flags.draft}, K = {bench.options.draft_tokens}", say
        )
    report["shapes"] = _with_lines(by_shape(bench, flags), shape_line, "steps, milliseconds at the median", say)
    report["machine_after"] = about_machine(bench.target, flags.clock)
    sys.stdout.write(json.dumps(report) + "\n")


def _with_lines(
    rows: list[dict[str, Any]], line: Callable[[dict[str, Any]], str], title: str, say: Callable[[str], int]
) -> list[dict[str, Any]]:
    say(f"\n{title}\n" + "".join(map(line, rows)))
    return rows


def plain_lines(plain: dict[str, Any]) -> str:
    """Plain decoding, beside transformers where that is installed."""
    text = f"plain decoding: {plain['tokens_per_s']:.2f} tokens/s, host {plain['host_fraction']:.1%} of the steps\n"
    if plain.get("transformers_tokens_per_s"):
        text += (
            f"transformers {plain['transformers']}: {plain['transformers_tokens_per_s']:.2f} tokens/s,"
            f" so ours is {plain['ratio']:.2f}x (pairs: {' '.join(f'{r:.2f}' for r in plain['ratios'])})\n"
        )
    return text


def domain_line(row: dict[str, Any]) -> str:
    """One domain."""
    survival = " ".join(f"{s:.2f}" for s in row["survival"])
    return (
        f"  {row['domain']:9} plain {row['plain_tokens_per_s']:6.2f}  speculative {row['tokens_per_s']:6.2f} tokens/s"
        f"  {row['speedup']:.2f}x  tokens_per_step {row['tokens_per_step']:.2f}  survival {survival}"
        f"  host {row['host_fraction']:.1%}  identical {row['identical']}/{row['prompts']}\n"
    )


def shape_line(row: dict[str, Any]) -> str:
    """One shape of step."""
    phases = "  ".join(f"{name.removesuffix('_s')} {1e3 * row[name]:.2f}" for name in PHASES)
    return f"  batch {row['sequences']:3} × {row['rows']:2} tokens: {phases}\n"


PHASES = ("draft_s", "verify_s", "sampling_s", "schedule_s", "overhead_s", "total_s")
