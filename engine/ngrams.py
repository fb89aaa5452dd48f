"""Tables of what follows what in a text: contexts of up to three tokens, each with its most frequent followers.

A table is a draft without weights, and a judge of which domain a prompt belongs to. It is built from text, or from
outputs of the target itself, which it predicts better.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from engine.errors import DraftError

FORMAT = "specfleet-ngrams-1"

LONGEST_ORDER = 3
"""Most tokens of a context."""

BACKOFF = 0.4
"""Factor on the share of a follower for each token that its context is shorter (Brants et al. 2007, "stupid backoff",
EMNLP-CoNLL, p. 858)."""

Followers = tuple[tuple[int, int], ...]
"""(token, count), the most frequent first."""


@dataclass(frozen=True, slots=True)
class NgramTable:
    """Followers by context; the empty context holds the most frequent tokens of all."""

    name: str
    order: int
    vocab_size: int
    followers: dict[tuple[int, ...], Followers]
    totals: dict[tuple[int, ...], int]
    """By context, how often anything followed."""

    def candidates(self, tokens: Sequence[int], count: int) -> list[tuple[int, float]]:
        """The likeliest next tokens and their shares: those behind the longest known context first.

        >>> table_of([[1, 2, 3, 1, 2, 4, 1, 2, 3]], order=2, vocab_size=9).candidates([1, 2], 2)
        [(3, 0.6666666666666666), (4, 0.3333333333333333)]
        """
        found: dict[int, float] = {}
        weight = 1.0
        for length in range(min(self.order, len(tokens)), 0, -1):
            context = tuple(tokens[len(tokens) - length :])
            for token, times in self.followers.get(context, ()):
                found.setdefault(token, weight * times / self.totals[context])
            if len(found) >= count:
                break
            weight *= BACKOFF
        return sorted(found.items(), key=lambda pair: -pair[1])[:count]

    def log_likelihood(self, tokens: Sequence[int]) -> float:
        """Mean logarithm of a token's share behind its context, shorter contexts at a discount [nats per token]."""
        scores = [log(self._share(tokens, end)) for end in range(len(tokens))]
        return sum(scores) / max(len(scores), 1)

    def _share(self, tokens: Sequence[int], end: int) -> float:
        weight = 1.0
        for length in range(min(self.order, end), -1, -1):
            context = tuple(tokens[end - length : end])
            times = dict(self.followers.get(context, ())).get(tokens[end])
            if times:
                return weight * times / self.totals[context]
            weight *= BACKOFF
        return weight / self.vocab_size


def table_of(
    texts: Iterable[Sequence[int]],
    *,
    vocab_size: int,
    name: str = "",
    order: int = LONGEST_ORDER,
    contexts: int = 200_000,
    followers: int = 8,
) -> NgramTable:
    """Count texts, given as tokens.

    contexts: most contexts that are kept, the most frequent ones.
    followers: most followers of a context that are kept; of the empty context, as many as there are contexts.
    """
    if not 1 <= order <= LONGEST_ORDER:
        raise DraftError(f"n-gram table: order {order} is not from 1 to {LONGEST_ORDER}")
    counts: dict[tuple[int, ...], Counter[int]] = {}
    for text in texts:
        tokens = tuple(text)
        for end, token in enumerate(tokens):
            for length in range(min(order, end) + 1):
                counts.setdefault(tokens[end - length : end], Counter())[token] += 1
    totals = {context: counter.total() for context, counter in counts.items()}
    kept = sorted(totals, key=lambda context: (-totals[context], len(context)))[:contexts]
    if () not in kept:
        raise DraftError(f"n-gram table {name}: the text is empty")
    most = {context: followers if context else contexts for context in kept}
    return NgramTable(
        name,
        order,
        vocab_size,
        {context: tuple(counts[context].most_common(most[context])) for context in kept},
        {context: totals[context] for context in kept},
    )


def write_table(table: NgramTable, path: Path) -> None:
    """Write a table as JSON, whole or not at all."""
    rows = [[list(context), table.totals[context], listed] for context, listed in table.followers.items()]
    document = {"format": FORMAT, "name": table.name, "order": table.order, "vocab_size": table.vocab_size}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(document | {"contexts": rows}, separators=(",", ":")), encoding="utf-8")
    part.replace(path)


def read_table(path: Path) -> NgramTable:
    """A table from its file."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DraftError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise DraftError(f"{path}: not an n-gram table ({error}); write one with: python -m engine ngrams") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DraftError(f"{path}: not an n-gram table of format {FORMAT}; write one with: python -m engine ngrams")
    rows = document["contexts"]
    return NgramTable(
        document["name"],
        document["order"],
        document["vocab_size"],
        {tuple(context): tuple((token, times) for token, times in listed) for context, _, listed in rows},
        {tuple(context): total for context, total, _ in rows},
    )
