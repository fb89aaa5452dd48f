"""What a user says beside a file: what it leaves open."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Answers to what a file may leave open."""

    draft_tokens: int | None = None
    """Draft tokens K per step, where the file does not say."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the engine that is meant, among several."""
    add_engines: bool = False
    """Whether the counters of several engines are added up."""
    lookup: bool = False
    """Whether the draft is a look-up, which does not propose in every step."""
