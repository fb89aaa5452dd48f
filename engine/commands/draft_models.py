"""Flags of drafts that compute: a head, a subset of experts, a draft model's cache, window and process."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import torch

from engine.architecture import Architecture
from engine.drafters import DraftSetup
from engine.drafters.away import PAYLOADS, Away
from engine.errors import DraftError
from engine.loading.head_file import load_head
from engine.loading.tokenizer import TextCodec
from engine.quantised import ELEMENTS
from engine.texts import DOMAINS
from engine.weights import Weights
from engine.window import Window

RANDOM = "random"
"""Name of a text of random tokens, for models without a tokenizer."""

USAGE_TOKENS = 512
"""Tokens of a text that expert usage is counted on."""

FLAGS = {
    "head": ("head",),
    "resident_experts": ("moe_subset",),
    "active_experts": ("moe_subset",),
    "expert_text": ("moe_subset",),
    "own_kv": ("moe_subset",),
    "draft_kv": ("head", "model", "moe_subset", "noisy_target"),
    "draft_window": ("model", "moe_subset", "noisy_target"),
    "draft_process": ("model", "noisy_target"),
    "draft_core": ("model", "noisy_target"),
    "draft_device": ("model", "noisy_target"),
}
"""Which drafts each flag is for."""


def add_computing_flags(command: argparse.ArgumentParser) -> None:
    """Heads, experts, caches, processes."""
    command.add_argument("--head", type=Path, help="file that `python -m engine.training.head` wrote, for --draft head")
    command.add_argument("--resident-experts", type=int, help="experts of a layer, for --draft moe_subset")
    command.add_argument("--active-experts", type=int, help="experts of them that a token uses")
    command.add_argument(
        "--expert-text",
        choices=[*DOMAINS, RANDOM],
        help="text whose most used experts are resident\n(default: the first so many)",
    )
    command.add_argument("--own-kv", action="store_true", help="--draft moe_subset with a cache of its own")
    command.add_argument("--draft-kv", choices=sorted(ELEMENTS), help="a draft's cache in eight bits")
    command.add_argument("--draft-window", help="what a draft model looks at: first and latest tokens, like 4,256")
    command.add_argument(
        "--draft-process", choices=PAYLOADS, help="draft ahead in a process of its own, and what it hands over"
    )
    command.add_argument("--draft-core", type=int, help="CPU core of that process; the target\nleaves it that core")
    command.add_argument("--draft-device", help="device of that process, like cuda:1")


def with_computing_flags(
    flags: argparse.Namespace, setup: DraftSetup, target: Weights, codec: TextCodec | None
) -> DraftSetup:
    """The setup with what these flags add.

    target: for the number of its experts, and its vocabulary.
    """
    _check(flags)
    experts = target.architecture.mixture
    return replace(
        setup,
        max_num_seqs=flags.max_num_seqs,
        draft_tokens=flags.draft_tokens,
        kv=flags.draft_kv or "same",
        window=_window(flags),
        away=_away(flags),
        head=None if flags.head is None else load_head(flags.head),
        resident_experts=_given(flags.resident_experts, 0 if experts is None else -(-experts.num_experts // 2)),
        active_experts=_given(flags.active_experts, 0 if experts is None else -(-experts.top_k // 2)),
        usage_tokens=_usage_tokens(flags, target.architecture, codec, setup.generator),
        shares_kv=not flags.own_kv,
    )


def _given(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _check(flags: argparse.Namespace) -> None:
    """Refuse what would have no effect."""
    methods = {flags.draft, *getattr(flags, "of", ())}
    for name, drafts in FLAGS.items():
        if getattr(flags, name) not in (None, False) and not methods & set(drafts):
            raise DraftError(f"--{name.replace('_', '-')} is for --draft {', '.join(drafts)}, not {flags.draft}")
    if flags.draft_kv and "moe_subset" in methods and not flags.own_kv:
        raise DraftError("--draft-kv: a subset of experts uses the target's cache; give it one with --own-kv")
    if (flags.draft_core is not None or flags.draft_device) and not flags.draft_process:
        raise DraftError("--draft-core and --draft-device are of a drafter's own process: say --draft-process ids")
    if flags.draft_process and getattr(flags, "clock", "wall") == "cpu":
        raise DraftError("--clock cpu does not see what a drafter's own process computes: use --clock wall")


def _window(flags: argparse.Namespace) -> Window | None:
    if flags.draft_window is None:
        return None
    try:
        sinks, recent = (int(part) for part in flags.draft_window.split(","))
    except ValueError:
        raise DraftError(f"--draft-window {flags.draft_window}: first and latest tokens, like 4,256") from None
    return Window(sinks, recent)


def _away(flags: argparse.Namespace) -> Away | None:
    if flags.draft_process is None:
        return None
    return Away(flags.draft_process, flags.draft_core, flags.draft_device)


def _usage_tokens(
    flags: argparse.Namespace, a: Architecture, codec: TextCodec | None, generator: torch.Generator | None
) -> tuple[int, ...]:
    """Tokens of the text that expert usage is counted on."""
    if flags.expert_text is None:
        return ()
    if flags.expert_text == RANDOM:
        return tuple(torch.randint(a.vocab_size, (USAGE_TOKENS,), generator=generator).tolist())
    if codec is None:
        raise DraftError(f"--expert-text {flags.expert_text}: random weights have no tokenizer; use: {RANDOM}")
    encode: Callable[[str], list[int]] = codec.encode
    texts = (encode(text[:4000]) for text in DOMAINS[flags.expert_text]())
    return tuple(islice(chain.from_iterable(texts), USAGE_TOKENS))
