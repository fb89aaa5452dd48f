"""Messages between a target and drafts on GPUs of their own."""

from typing import NamedTuple

from simulator.physics.communication import transfer_s

ID_BYTES = 4.0
"""Bytes of a token's id."""
PROBABILITY_BYTES = 2.0
"""Bytes of a probability (fp16)."""


class Hops(NamedTuple):
    """What goes over the link in a round."""

    latency_s: float
    bytes_per_s: float
    draft_tokens: int
    """Draft tokens K of a sequence; at most as many ids are told of what was committed."""
    vocabulary: int | None = None
    """Entries of the distribution that comes with each draft token; None: ids alone."""

    def ask_s(self, sequences: int) -> float:
        """Seconds of the ids of what was committed, for so many sequences."""
        return self._s(ID_BYTES * self.draft_tokens * sequences)

    def answer_s(self, sequences: int) -> float:
        """Seconds of the draft tokens, with their distributions where they come along.

        >>> ids = Hops(5e-6, 50e9, draft_tokens=5)
        >>> whole = ids._replace(vocabulary=128_000)
        >>> round(ids.answer_s(64) * 1e6, 1), round(whole.answer_s(64) * 1e3, 2)
        (5.0, 1.64)
        """
        each = ID_BYTES + PROBABILITY_BYTES * (self.vocabulary or 0)
        return self._s(each * self.draft_tokens * sequences)

    def both_s(self, sequences: int) -> float:
        """Seconds of asking and answer."""
        return self.ask_s(sequences) + self.answer_s(sequences)

    def prompts_s(self, tokens: int) -> float:
        """Seconds of the ids of prompts, a message of their own that needs no answer."""
        return self._s(ID_BYTES * tokens) if tokens > 0 else 0.0

    def _s(self, message_bytes: float) -> float:
        return transfer_s(message_bytes, self.latency_s, self.bytes_per_s)
