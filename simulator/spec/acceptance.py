"""What a target accepts of a draft's tokens, as a user knows it."""

import json
from contextlib import suppress
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simulator.spec.base import Count, CountOrZero, Fraction, Name, NotNegative, Positive, Spec, Text


def _written(key: Any) -> Any:
    """A number that is written as a text, as JSON writes every key."""
    if isinstance(key, str):
        with suppress(ValueError):
            return json.loads(key)
    return key


Tokens = Annotated[CountOrZero, BeforeValidator(_written)]
Temperature = Annotated[NotNegative, BeforeValidator(_written)]


class Uplift(Spec):
    """A gain of acceptance that somebody measured."""

    factor: Positive
    """On the conditional acceptance of each position; none goes above 1."""
    source: Annotated[Text, Field(min_length=1)]
    """Where it was measured, and on what."""


class Acceptance(Spec):
    """What the target keeps of a draft's tokens, for one class of requests; given in exactly one way."""

    survival: tuple[Fraction, ...] | None = None
    """Chance that draft position 1, 2, … is accepted at all (vLLM's per-position acceptance rate). Never rises."""
    tokens_per_step: Annotated[float, Field(strict=True, ge=1, le=1000)] | None = None
    """Mean committed tokens per step, bonus token included (vLLM's acceptance length); needs `at`."""
    at: Count | None = None
    """Draft tokens K at which tokens_per_step was measured."""
    histogram: dict[Tokens, CountOrZero] | None = None
    """Steps that accepted exactly 0, 1, … draft tokens."""
    preset: Name | None = None
    """Name of a measured acceptance curve in the catalog."""
    drafted: dict[Tokens, CountOrZero] | None = None
    """Steps that proposed exactly 0, 1, … draft tokens, where a draft does not always propose all K (a look-up)."""
    averaged_over: Literal["steps", "requests"] = "steps"
    """Whether tokens_per_step is a mean over steps (engine counters) or over requests."""
    spread: Annotated[float, Field(strict=True, ge=0, le=3)] = 0.0
    """Standard deviation of a request's own log-odds of acceptance around its class; 0: all requests alike."""
    decay: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    """Factor from each position's conditional acceptance to the next one's, with tokens_per_step; default 1."""
    branches: tuple[Fraction, ...] | None = None
    """For trees: chance that the 1st, 2nd, … child of a node is the one that is kept, given that the node was. At each
    position the first has the position's own acceptance; the others share what it leaves in the proportions given."""
    of: Literal["chain", "tree"] = "chain"
    """tree: the figures are of the very tree that is proposed, by depth, as engine counters give them; no branches."""
    by_temperature: dict[Temperature, Positive] | None = None
    """Sampling temperature → factor on the conditional acceptance, linear between those measured."""
    by_context: dict[Tokens, Positive] | None = None
    """Prompt tokens → factor on the conditional acceptance, linear between those measured."""
    uplift: Uplift | None = None
    """What training the draft on the target's outputs was measured to bring on top; never assumed."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [n for n in ("survival", "tokens_per_step", "histogram", "preset") if getattr(self, n) is not None]
        if len(ways) != 1:
            raise ValueError(
                "acceptance is never assumed: give exactly one of survival, tokens_per_step (with at), histogram, "
                f"preset; got {', '.join(ways) or 'none'}"
            )
        if (self.at is None) != (self.tokens_per_step is None):
            raise ValueError("tokens_per_step and at belong together")
        if self.averaged_over == "requests" and self.tokens_per_step is None:
            raise ValueError("averaged_over: requests goes with tokens_per_step only")
        if self.decay is not None and (self.tokens_per_step is None or self.drafted is not None):
            raise ValueError("decay goes with tokens_per_step (without drafted): the other ways say how positions fall")
        return self._check_values()

    def _check_values(self) -> Self:
        if self.survival is not None:
            if not self.survival:
                raise ValueError("survival needs at least one position")
            for before, after in zip(self.survival, self.survival[1:], strict=False):
                if after > before:
                    raise ValueError(f"survival never rises from one position to the next, but {before:g} → {after:g}")
        if self.tokens_per_step is not None and self.at is not None and self.tokens_per_step > self.at + 1:
            raise ValueError(f"{self.at} draft tokens commit at most {self.at + 1} tokens a step")
        if self.histogram is not None and sum(self.histogram.values()) == 0:
            raise ValueError("the histogram holds no step")
        self._check_factors()
        return self._check_drafted()

    def _check_factors(self) -> None:
        if self.branches is not None and (not self.branches or sum(self.branches) > 1 + 1e-9 or not self.branches[0]):
            raise ValueError(
                f"branches are chances of exclusive events, the first above 0: they sum to {sum(self.branches):g}"
            )
        if self.branches is not None and self.of == "tree":
            raise ValueError("of: tree says what the whole tree accepts; branches are for the acceptance of a chain")
        for name in ("by_temperature", "by_context"):
            if getattr(self, name) is not None and not getattr(self, name):
                raise ValueError(f"{name} holds no factor; leave it out, or give what was measured")

    def _check_drafted(self) -> Self:
        """What is accepted was drafted; shares are compared to the third decimal, as they are printed."""
        if self.drafted is None:
            return self
        if self.preset is not None:
            raise ValueError(
                "a preset says itself what it drafts: drafted goes with survival, histogram, tokens_per_step"
            )
        if sum(self.drafted.values()) == 0:
            raise ValueError("drafted holds no step")
        if self.tokens_per_step is not None and self.at is not None:
            most = 1.0 + sum(self.reach(i) for i in range(1, self.at + 1))
            if self.tokens_per_step > most + 1e-3:
                raise ValueError(f"{self.tokens_per_step:g} tokens per step, but drafts as in drafted allow {most:.4g}")
        for position, share in enumerate(self._accepted_shares(), start=1):
            if share > self.reach(position) + 1e-3:
                raise ValueError(
                    f"position {position} is accepted in {share:.4g} of the steps, but drafted in "
                    f"{self.reach(position):.4g} of them"
                )
        return self

    def _accepted_shares(self) -> tuple[float, ...]:
        """Survival, where it is given by position."""
        if self.histogram is None:
            return self.survival or ()
        steps, most = sum(self.histogram.values()), max(self.histogram)
        return tuple(sum(n for j, n in self.histogram.items() if j >= i) / steps for i in range(1, most + 1))

    def reach(self, position: int) -> float:
        """Share of steps that propose a draft token at this position [0 to 1]."""
        if self.drafted is None:
            return 1.0
        return sum(n for tokens, n in self.drafted.items() if tokens >= position) / sum(self.drafted.values())
