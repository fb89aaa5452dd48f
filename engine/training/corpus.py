"""What a target says, and what it thinks while it does: tokens, last hidden states, and what it expects behind each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from engine.batch import Span
from engine.kv_cache import BlockPool, BlockTable
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.scheduler import Limits
from engine.sequence import Request

BLOCK_TOKENS = 16
SEQUENCES = 8
"""Requests that are generated side by side."""


class Text(NamedTuple):
    """A prompt and the target's own continuation."""

    tokens: list[int]
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Thought:
    """A text as the target computes it."""

    tokens: Tensor
    """[tokens]"""
    prompt_tokens: int
    hidden: Tensor
    """[tokens, hidden] last states, before the final norm."""
    normaliser: Tensor
    """[tokens] logarithm of the sum of all exponentials of the logits behind each token."""
    best: Tensor
    """[tokens] the target's most likely token behind each."""


def said(target: Model, requests: Sequence[Request], longest: int, more_time: Callable[[], bool]) -> list[Text]:
    """Greedy continuations, in order of the requests; when the time is up, as far as they have come."""
    blocks = SEQUENCES * -(-(longest + 1) // BLOCK_TOKENS)
    engine = Engine(target, EngineOptions(blocks, Limits(longest, SEQUENCES, 512), BLOCK_TOKENS))
    for request in requests:
        engine.submit(request)
    while more_time() and not engine.scheduler.idle():
        engine.step()
    begun = (s for s in engine.sequences if s.num_output > 0)
    return [Text(s.tokens, len(s.request.prompt)) for s in begun]


def thought(target: Model, text: Text) -> Thought:
    """Compute a text anew, in one pass."""
    pool, table = BlockPool(-(-len(text.tokens) // BLOCK_TOKENS), BLOCK_TOKENS), BlockTable()
    pool.extend(table, len(text.tokens))
    store = target.new_store(pool.num_blocks, BLOCK_TOKENS)
    store.keep_hidden(target.architecture.hidden_size)
    logits = target.forward(target.batch([Span(text.tokens, 0, table, len(text.tokens))], store), store)
    assert store.hidden is not None
    return Thought(
        torch.tensor(text.tokens),
        text.prompt_tokens,
        store.hidden[: len(text.tokens)].clone(),
        logits.logsumexp(-1).clone(),
        logits.argmax(-1).clone(),
    )


def frequent_tokens(texts: Sequence[Text], vocabulary: int, count: int) -> Tensor:
    """The most frequent tokens of texts, in ascending order: [count]."""
    seen = torch.bincount(torch.tensor([token for text in texts for token in text.tokens]), minlength=vocabulary)
    return seen.argsort(descending=True, stable=True)[:count].sort().values
