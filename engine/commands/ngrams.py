"""Count an n-gram table from text, or from what the target itself writes, and keep it in a file.

A table of the target's own outputs predicts it better than one of human text in the same domain.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.commands.setup import Workbench, add_batch_flags, add_draft_flags, add_model_flags, workbench
from engine.commands.tables import LONGEST_TEXT, PROMPT_TEXTS, TABLE_TEXTS, texts_named
from engine.errors import DraftError
from engine.ngrams import LONGEST_ORDER, table_of, write_table
from engine.sequence import Request
from engine.texts import DOMAINS, prompts

EXAMPLE = (
    "example: python -m engine ngrams code --out tables/code.json\n"
    "         python -m engine ngrams dialogue --own-tokens 128 --out tables/dialogue.json"
)


def add_flags(command: argparse.ArgumentParser) -> None:
    """Flags of this command."""
    command.add_argument("text", help=f"{', '.join(DOMAINS)}, or a text file")
    command.add_argument("--out", type=Path, required=True, help="file of the table (.json)")
    command.add_argument("--order", type=int, default=LONGEST_ORDER, help="tokens of the longest context (default 3)")
    command.add_argument("--contexts", type=int, default=200_000, help="most contexts kept (default 200000)")
    command.add_argument(
        "--own-tokens",
        type=int,
        default=0,
        help="let the target go on behind each text by so many tokens,\nand count these (default 0: the text alone)",
    )
    add_model_flags(command)
    add_draft_flags(command, default="lookup")
    add_batch_flags(command)


def run(flags: argparse.Namespace) -> None:
    """Count and write."""
    if flags.out.suffix != ".json":
        raise DraftError(f"--out {flags.out}: a table's file ends in .json")
    bench = workbench(flags)
    codec = bench.text()
    counted = [codec.encode(text[:LONGEST_TEXT]) for text in texts_named(flags.text)]
    if flags.own_tokens:
        counted += own_outputs(bench, _prompts(bench, flags.text), flags.own_tokens)
    table = table_of(
        counted,
        vocab_size=bench.target.architecture.vocab_size,
        name=flags.out.stem,
        order=flags.order,
        contexts=flags.contexts,
    )
    write_table(table, flags.out)
    report = {"out": str(flags.out), "tokens": sum(map(len, counted)), "contexts": len(table.followers)}
    sys.stdout.write(json.dumps(report) + "\n" if flags.json else CARD.format(**report))


CARD = "{tokens} tokens counted, {contexts} contexts kept: {out}\n"


def _prompts(bench: Workbench, text: str) -> list[tuple[int, ...]]:
    """What the target goes on behind: prompts of a domain that are not for measuring, or pieces of a file."""
    codec = bench.text()
    if text in DOMAINS:
        return prompts(text, PROMPT_TEXTS + TABLE_TEXTS, codec.encode, codec.chat)[PROMPT_TEXTS:]
    return [tuple(codec.encode(piece)[:96]) for piece in texts_named(text)]


def own_outputs(bench: Workbench, asked: Sequence[tuple[int, ...]], tokens: int) -> list[list[int]]:
    """Prompts and what the target writes behind them, greedily."""
    engine = bench.engine(speculative=bench.options.draft_tokens > 0)
    longest = max(bench.options.limits.max_model_len - tokens, 1)
    stops = bench.text().stop_tokens
    sequences = [engine.submit(Request(prompt[:longest], tokens, stop_tokens=stops)) for prompt in asked]
    list(engine.run())
    return [sequence.tokens for sequence in sequences]
