"""The measurements of `bench`."""

import argparse
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from engine.commands.setup import Workbench
from engine.drafters import Draft
from engine.loading import load
from engine.loop import Engine
from engine.sequence import Request, SequenceState
from engine.summary import acceptance, decode_tokens_per_s, host_fraction, phases_s
from engine.texts import DOMAINS, prompts
from engine.trace import StepRow

CONTEXT_TOKENS = 128
"""Prompt of the sequences whose steps are timed by shape."""

STEPS_PER_SHAPE = 9


def plain_speed(bench: Workbench, flags: argparse.Namespace) -> dict[str, Any]:
    """Plain decoding of one sequence, in turns with `generate` of transformers on the same weights, if it is there."""
    prompt = _a_prompt(bench)
    _plain_run(bench, prompt, 4)
    wanted = not flags.no_peer and bench.codec is not None and find_spec("transformers") is not None
    other = _transformers(bench, flags) if wanted else None
    if other is not None:
        other(prompt, 4)
    steps: list[StepRow] = []
    ours, theirs = [], []
    for _ in range(flags.pairs):
        engine = _plain_run(bench, prompt, flags.tokens)
        steps += engine.steps
        ours.append(sum(row.cost.total_s for row in engine.steps))
        if other is not None:
            theirs.append(other(prompt, flags.tokens))
    result: dict[str, Any] = {"tokens_per_s": decode_tokens_per_s(steps), "host_fraction": host_fraction(steps)}
    if theirs:
        ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
        result |= {
            "transformers": _version(),
            "transformers_tokens_per_s": flags.tokens / median(theirs),
            "end_to_end_tokens_per_s": flags.tokens / median(ours),
            "ratios": ratios,
            "ratio": median(ratios),
        }
    return result


def _a_prompt(bench: Workbench) -> tuple[int, ...]:
    if bench.codec is None:
        rng = np.random.default_rng(bench.seed)
        return tuple(rng.integers(0, bench.target.architecture.vocab_size, 64).tolist())
    return prompts("code", 1, bench.codec.encode, bench.codec.chat)[0]


def _plain_run(bench: Workbench, prompt: tuple[int, ...], tokens: int) -> Engine:
    engine = bench.engine(speculative=False)
    engine.submit(Request(prompt, tokens))
    list(engine.run())
    return engine


def _version() -> str:
    import transformers

    return str(transformers.__version__)


def _transformers(bench: Workbench, flags: argparse.Namespace) -> Any:
    """A function (prompt, tokens) -> seconds of transformers' greedy generate on the same weights."""
    from engine.commands.peer import peer_generate

    return peer_generate(load(flags.model).weights, bench.clock)


def by_domain(bench: Workbench, flags: argparse.Namespace) -> list[dict[str, Any]]:
    """Plain and speculative decoding of each domain's prompts, prompt by prompt in turns."""
    return [_domain(bench, flags, domain) for domain in flags.domain or DOMAINS]


def _domain(bench: Workbench, flags: argparse.Namespace, domain: str) -> dict[str, Any]:
    codec = bench.text()
    plain_steps: list[StepRow] = []
    steps: list[StepRow] = []
    sequences: list[SequenceState] = []
    identical = 0
    taken = prompts(domain, flags.prompts, codec.encode, codec.chat, flags.prompt_tokens)
    for prompt in taken:
        pair = []
        for speculative, into in ((False, plain_steps), (True, steps)):
            engine = bench.engine(speculative=speculative)
            pair.append(engine.submit(Request(prompt, flags.tokens, stop_tokens=codec.stop_tokens, label=domain)))
            list(engine.run())
            into += engine.steps
        identical += pair[0].output == pair[1].output
        sequences.append(pair[1])
    plain, speed = decode_tokens_per_s(plain_steps) or 0.0, decode_tokens_per_s(steps) or 0.0
    return {
        "domain": domain,
        "prompts": len(taken),
        "plain_tokens_per_s": plain,
        "tokens_per_s": speed,
        "speedup": speed / plain if plain else None,
        "identical": identical,
        "host_fraction": host_fraction(steps),
        **acceptance(sequences),
    }


class _Nothing:
    """A drafter that costs nothing; forced acceptance fills its drafts up."""

    def prefill(self, chunks: object) -> None:
        """Nothing to do."""

    def propose(self, sequences: list[SequenceState], counts: list[int]) -> list[Draft]:
        """No tokens."""
        return [Draft([]) for _ in sequences]

    def release(self, sequence: SequenceState) -> None:
        """Nothing to do."""


def by_shape(bench: Workbench, flags: argparse.Namespace) -> list[dict[str, Any]]:
    """Median step of each (sequences, rows), acceptance forced to none, so that the context hardly grows."""
    batches, rows = ([int(n) for n in text.split(",")] for text in (flags.batches, flags.rows))
    return [_shape(bench, sequences, count) for sequences in batches for count in rows]


def _shape(bench: Workbench, sequences: int, rows: int) -> dict[str, Any]:
    engine = bench.engine(speculative=False)
    if rows > 1:
        engine.drafter, engine.forced = _Nothing(), lambda request, nth, drafted: 0  # type: ignore[assignment]
    vocabulary = bench.target.architecture.vocab_size
    rng = np.random.default_rng(bench.seed)
    for _ in range(sequences):
        prompt = tuple(rng.integers(0, vocabulary, CONTEXT_TOKENS).tolist())
        engine.submit(Request(prompt, STEPS_PER_SHAPE + 2, draft_tokens=rows - 1))
    list(engine.run())
    steps = [row for row in engine.steps if not row.shape.prefill_tokens and row.shape.sequences == sequences]
    middle = sorted(steps, key=lambda row: row.cost.total_s)[len(steps) // 2]
    return {"sequences": sequences, "rows": rows, "steps": len(steps), **phases_s([middle])}
