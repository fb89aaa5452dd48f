"""How several drafts of a deployment work together: which of them serves a request, and how they share the GPU."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Fraction, Name, NotNegative, Positive, Spec


class SingleDraft(Spec):
    """One draft serves all requests."""

    kind: Literal["single"] = "single"


class DraftRouter(Spec):
    """The small model that says which draft serves a request; it runs once, with the prompt."""

    parameters: Positive
    """Its weights, in bf16 [count]."""
    latency_s: NotNegative
    """What it adds to the step that computes the prompt [s]."""


class Routed(Spec):
    """A router picks one draft for each request."""

    kind: Literal["routed"]
    routes: dict[Name, Name]
    """Class of the workload → the draft that is right for it; `all` stands for every class that is not named."""
    accuracy: dict[Name, Fraction]
    """Class → share of its requests that get that draft; `all` as above. The others get the fallback."""
    fallback: Name
    """Draft of requests that were sent astray."""
    router: DraftRouter


class RecursiveRejection(Spec):
    """Acceptance of a union from that of its drafts, tried one after the other against what the target has left."""

    correlation: Fraction
    """How alike the drafts' rejections are: of its own acceptance a later draft keeps 1 − correlation where those
    before it were rejected. 1: what the first misses, all miss; 0: independent, an optimistic case to be chosen."""
    order: tuple[Name, ...] | None = None
    """In which order drafts are tried (default: by class, the best first)."""


class Union(Spec):
    """All drafts propose, and one tree of their chains is verified."""

    kind: Literal["union"]
    survival: dict[Name, tuple[Fraction, ...]] | None = None
    """By class: measured chance that position 1, 2, … is accepted from any of the drafts."""
    recursive_rejection: RecursiveRejection | None = None
    """Or the drafts' own acceptance, put together by a stated law."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.survival is None) == (self.recursive_rejection is None):
            raise ValueError(
                "a union's acceptance is never assumed: give its measured survival by class, or recursive_rejection "
                "with the correlation of its drafts"
            )
        for name, curve in (self.survival or {}).items():
            if not curve or any(after > before for before, after in pairwise(curve)):
                raise ValueError(f"survival of class {name}: at least one position, and it never rises")
        return self


class Series(Spec):
    """Drafts take their turns."""

    kind: Literal["series"] = "series"


class ParallelStreams(Spec):
    """Drafts run at the same time on streams of their own."""

    kind: Literal["parallel"]
    contention: Annotated[float, Field(strict=True, ge=0, le=1)]
    """0: as long as the longest alone; 1: as long as all one after the other. Measure it."""
