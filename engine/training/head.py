"""Distil a head from a target's own outputs: `python -m engine.training.head --target smollm2 --minutes 10 --out FILE`.

Texts of odd number are held out. The last line of stdout is one JSON object.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import torch
from torch import Tensor

from engine.errors import EngineError, ModelFileError
from engine.loading import Loaded, load
from engine.loading.head_file import save_head
from engine.model import Model
from engine.sequence import Request
from engine.texts import DOMAINS, prompts
from engine.training.corpus import Text, frequent_tokens, said, thought
from engine.training.lesson import PIECES, ROWS, Lesson, figures, first_head, learn
from engine.weights import Weights

CLOCKS: dict[str, Callable[[], float]] = {"wall": perf_counter, "cpu": process_time}
"""What the minutes are: of the wall, or of the CPU, for one thread on a busy machine."""

SHARE_SAYING = 0.35
"""Of the time: letting the target speak."""


def add_flags(command: argparse.ArgumentParser) -> None:
    """Flags of this command."""
    command.add_argument("--target", default="smollm2", help="as --model of the engine (default smollm2)")
    command.add_argument("--minutes", type=float, default=10.0, help="time in all (default 10)")
    command.add_argument("--clock", choices=sorted(CLOCKS), default="wall", help="of which clock (default wall)")
    command.add_argument("--out", type=Path, required=True, help="file for the head (safetensors)")
    command.add_argument("--prompts", type=int, default=48, help="prompts of each domain, half held out (default 48)")
    command.add_argument("--prompt-tokens", type=int, default=96, help="longest prompt of a domain (default 96)")
    command.add_argument("--tokens", type=int, default=128, help="output tokens of a prompt (default 128)")
    command.add_argument(
        "--vocabulary", type=int, default=4096, help="tokens that the head knows; 0: all (default 4096)"
    )
    command.add_argument("--passes", type=int, default=3, help="draft tokens that are learnt (default 3)")
    command.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    command.add_argument("--seed", type=int, default=0, help="of what is drawn (default 0)")


def run(flags: argparse.Namespace) -> dict[str, Any]:
    """Let the target speak, learn, judge, write."""
    torch.set_num_threads(flags.threads)
    generator = torch.Generator().manual_seed(flags.seed)
    loaded = load(flags.target, generator=generator)
    clock = CLOCKS[flags.clock]
    start: float = clock()
    seconds: float = 60.0 * flags.minutes

    def left(until: float, since: float = 0.0) -> float:
        return (until - (clock() - start) / seconds) / (until - since)

    texts = spoken(loaded, flags, lambda: left(SHARE_SAYING) > 0.0)
    lesson, vocabulary = lesson_of(loaded.weights, texts, flags)
    began = min((clock() - start) / seconds, 0.9)
    head, steps = learn(lesson, first_head(loaded.weights, vocabulary, generator), generator, lambda: left(0.97, began))
    report = {
        "target": flags.target,
        "texts": len(lesson.learning),
        "tokens": sum(len(text.tokens) for text in lesson.learning),
        "steps": steps,
        "token_visits": steps * PIECES * ROWS,
        "learnt": figures(lesson, head, lesson.learning[: len(lesson.held_out)]),
        "held_out": figures(lesson, head, lesson.held_out),
        "seconds": clock() - start,
    }
    save_head(flags.out, head, {"target": flags.target, "training": report})
    return report


def spoken(loaded: Loaded, flags: argparse.Namespace, more_time: Callable[[], bool]) -> list[Text]:
    """Outputs over all domains in turns, so that little time cuts all of them alike."""
    if loaded.codec is None:
        raise ModelFileError(f"{flags.target}: random weights have no text to learn from; a head needs a real target")
    codec, target = loaded.codec(), Model(loaded.weights)
    by_domain = [prompts(name, flags.prompts, codec.encode, codec.chat, flags.prompt_tokens) for name in DOMAINS]
    longest = max(len(prompt) for column in by_domain for prompt in column) + flags.tokens
    requests = [
        Request(column[place], flags.tokens, stop_tokens=codec.stop_tokens)
        for place in range(flags.prompts)
        for column in by_domain
        if place < len(column)
    ]
    return said(target, requests, longest + 1, more_time)


def lesson_of(target: Weights, texts: Sequence[Text], flags: argparse.Namespace) -> tuple[Lesson, Tensor | None]:
    """Texts in turns of one per domain: every second turn is held out. And the tokens that the head will know."""
    turns = [place // len(DOMAINS) for place in range(len(texts))]
    learning = [text for text, turn in zip(texts, turns, strict=True) if turn % 2 == 0]
    held_out = [text for text, turn in zip(texts, turns, strict=True) if turn % 2]
    size = target.architecture.vocab_size
    vocabulary = frequent_tokens(learning, size, flags.vocabulary) if 0 < flags.vocabulary < size else None
    if not held_out or max(len(text.tokens) for text in learning) <= ROWS:
        raise ModelFileError("too little was said in the time: give more --minutes, or fewer --tokens")
    model = Model(target)
    lesson = Lesson(target, [thought(model, t) for t in learning], [thought(model, t) for t in held_out], flags.passes)
    return lesson, vocabulary


def card(report: dict[str, Any]) -> str:
    """The report for a person."""
    lines = [
        f"{report['texts']} texts, {report['tokens']} tokens, {report['steps']} steps in {report['seconds']:.0f} s"
    ]
    for name in ("learnt", "held_out"):
        sampled, greedy = (" ".join(f"{x:.2f}" for x in report[name][key]) for key in report[name])
        lines.append(f"{name.replace('_', ' '):9} conditional acceptance {sampled}, greedy survival {greedy}")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Train; 0 ok, 2 bad input."""
    command = argparse.ArgumentParser(
        prog="python -m engine.training.head", description=(__doc__ or "").splitlines()[0]
    )
    add_flags(command)
    try:
        report = run(command.parse_args(arguments))
    except EngineError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(card(report) + json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
