"""One of several drafts for each sequence: chosen by its prompt, or by what was accepted of late.

Which draft proposes never depends on tokens to come, so that the output stays the target's.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.drafters.interface import Draft, Drafter
from engine.drafters.ngram import NgramDraft
from engine.errors import DraftError
from engine.kv_cache import KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState

RECENT_WEIGHT = 0.2
"""Weight of the last step in the running mean of accepted draft tokens (as SGLang's adaptive steps)."""

PROBE_EVERY = 16
"""So many steps of a sequence apart, the draft that has waited longest is tried again; a choice, not a measurement."""


class Router(Protocol):
    """Says which draft serves a sequence."""

    by_prompt: bool
    """Whether the choice is final: then the other drafts never see the sequence."""

    def choose(self, sequence: SequenceState) -> str:
        """Name of the draft for the next step."""

    def release(self, sequence: SequenceState) -> None:
        """Forget a sequence."""


class ByLikelihood:
    """The draft whose table finds the prompt likeliest."""

    by_prompt = True

    def __init__(self, drafters: Mapping[str, Drafter]) -> None:
        self._tables = {name: d.table for name, d in drafters.items() if isinstance(d, NgramDraft)}
        if len(self._tables) != len(drafters):
            others = ", ".join(name for name in drafters if name not in self._tables)
            raise DraftError(f"router likelihood: {others} has no table that could score a prompt; use: recent")
        self._chosen: dict[int, str] = {}

    def choose(self, sequence: SequenceState) -> str:
        """See Router."""
        if sequence.number not in self._chosen:
            scores = {n: table.log_likelihood(sequence.request.prompt) for n, table in self._tables.items()}
            self._chosen[sequence.number] = max(scores, key=scores.__getitem__)
        return self._chosen[sequence.number]

    def release(self, sequence: SequenceState) -> None:
        """See Router."""
        self._chosen.pop(sequence.number, None)


@dataclass(slots=True)
class _Recent:
    """What is known of one sequence."""

    means: dict[str, float] = field(default_factory=dict)
    """By draft: running mean of accepted draft tokens per step."""
    used_at: dict[str, int] = field(default_factory=dict)
    """By draft: verify steps that the sequence had taken when it last proposed."""
    last: str = ""


class ByRecent:
    """The draft of which most was accepted of late in this sequence; each is tried once first."""

    by_prompt = False

    def __init__(self, drafters: Mapping[str, Drafter]) -> None:
        self._names = tuple(drafters)
        self._known: dict[int, _Recent] = {}

    def choose(self, sequence: SequenceState) -> str:
        """See Router."""
        known = self._known.setdefault(sequence.number, _Recent())
        if known.last and known.used_at[known.last] < sequence.steps:
            self._learn(known, sequence.rounds[-1][1])
        known.last = self._best(known, sequence.steps)
        known.used_at[known.last] = sequence.steps
        return known.last

    def release(self, sequence: SequenceState) -> None:
        """See Router."""
        self._known.pop(sequence.number, None)

    @staticmethod
    def _learn(known: _Recent, accepted: int) -> None:
        before = known.means.get(known.last, float(accepted))
        known.means[known.last] = before + RECENT_WEIGHT * (accepted - before)

    def _best(self, known: _Recent, steps: int) -> str:
        untried = [name for name in self._names if name not in known.used_at]
        if untried:
            return untried[0]
        if steps % PROBE_EVERY == 0:
            return min(self._names, key=lambda name: known.used_at[name])
        return max(self._names, key=lambda name: known.means.get(name, 0.0))


ROUTERS: dict[str, Callable[[Mapping[str, Drafter]], Router]] = {"likelihood": ByLikelihood, "recent": ByRecent}


class Routed:
    """Several drafts of which one proposes for each sequence in each step."""

    def __init__(self, drafters: Mapping[str, Drafter], router: str) -> None:
        """router: a name in ROUTERS."""
        self.drafters = dict(drafters)
        self._router = ROUTERS[router](self.drafters)
        self.taken: Counter[str] = Counter()
        """By draft: proposals so far."""

    def attach(self, target: Model, store: KvStore) -> None:
        """See Drafter."""
        for drafter in self.drafters.values():
            drafter.attach(target, store)

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See Drafter."""
        for name, drafter in self.drafters.items():
            drafter.prefill(
                [c for c in chunks if not self._router.by_prompt or self._router.choose(c.sequence) == name]
            )

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        chosen = [self._router.choose(sequence) for sequence in sequences]
        self.taken.update(chosen)
        drafts: dict[int, Draft] = {}
        for name, drafter in self.drafters.items():
            places = [place for place, choice in enumerate(chosen) if choice == name]
            if places:
                found = drafter.propose([sequences[p] for p in places], [counts[p] for p in places])
                drafts.update(zip(places, found, strict=True))
        return [drafts[place] for place in range(len(sequences))]

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self._router.release(sequence)
        for drafter in self.drafters.values():
            drafter.release(sequence)
