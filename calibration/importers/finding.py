"""What a file says of acceptance, in one form, whatever tool wrote it; and the block of a scenario that says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibration.importers.intervals import (
    Interval,
    requests_interval,
    spread_over_requests,
)
from simulator.errors import ScenarioError
from simulator.outcome.interval import steps_interval, wilson
from simulator.physics.curves import survival_of_histogram

DIGITS = 4
"""Decimals of a share in a scenario."""
FIT, HELD_OUT = "fit", "held_out"
"""Halves of the requests of a run of one's own: what may be fitted to, and what judges the fit."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Verify steps of one request, or of all together."""

    accepted: dict[int, int]
    """Steps that accepted exactly 0, 1, … draft tokens."""
    drafted: dict[int, int] | None = None
    """Steps that proposed exactly 0, 1, … draft tokens; None: not told."""
    drafted_tokens: int | None = None
    """Draft tokens proposed; None: not told."""


@dataclass(frozen=True, slots=True)
class AcceptanceFinding:
    """Acceptance as a file has it."""

    format: str
    engine: str
    tokens_per_step: float
    """Bonus token included."""
    interval: Interval | None
    """95 % interval of tokens_per_step."""
    method: str
    """How the interval was found; why there is none."""
    draft_tokens: int | None
    """Draft tokens K; None: the file does not say."""
    averaged_over: str = "steps"
    """steps or requests."""
    steps: int | None = None
    accepted_tokens: int | None = None
    drafted_tokens: int | None = None
    requests: int | None = None
    tokens_per_step_by_request: float | None = None
    """Mean over requests, of those that took a verify step."""
    histogram: dict[int, int] | None = None
    survival: tuple[float, ...] | None = None
    survival_intervals: tuple[Interval, ...] | None = None
    drafted: dict[int, int] | None = None
    """Steps that proposed exactly 0, 1, … draft tokens; None: always K, or not told."""
    spread: float | None = None
    spread_interval: Interval | None = None
    notes: tuple[str, ...] = ()

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted ÷ drafted tokens [0 to 1]."""
        known = self.accepted_tokens is not None and self.drafted_tokens
        return self.accepted_tokens / self.drafted_tokens if known else None  # type: ignore[operator]

    def with_notes(self, *notes: str) -> "AcceptanceFinding":
        """The same with more to say."""
        return replace(self, notes=(*self.notes, *notes))

    def block(self) -> dict[str, Any]:
        """What goes into `drafts.<name>.acceptance.<class>` of a scenario."""
        if self.histogram is not None:
            said: dict[str, Any] = {"histogram": dict(self.histogram)}
        elif self.survival is not None:
            said = {"survival": [round(share, DIGITS) for share in self.survival]}
        elif self.draft_tokens is None:
            raise ScenarioError(
                "tokens per step mean nothing without the draft tokens they were measured at: add --draft-tokens K"
            )
        else:
            said = {"tokens_per_step": round(self.tokens_per_step, DIGITS), "at": self.draft_tokens}
            said |= {"averaged_over": "requests"} if self.averaged_over == "requests" else {}
        if self.drafted is not None:
            said["drafted"] = dict(self.drafted)
        if self.spread:
            said["spread"] = self.spread
        return said


def held_out_error(parts: Mapping[str, AcceptanceFinding]) -> float | None:
    """Tokens per step of the held-out half as the other half predicts it, relative error; None without both."""
    if not {FIT, HELD_OUT} <= parts.keys():
        return None
    return parts[FIT].tokens_per_step / parts[HELD_OUT].tokens_per_step - 1.0


def from_counts(
    format: str, engine: str, requests: Sequence[RequestCounts], draft_tokens: int | None, pooled: bool = False
) -> AcceptanceFinding:
    """A finding from histograms, one a request; `pooled`: the only one is of many requests."""
    deepest = max(max(one.accepted) for one in requests)
    k = max(draft_tokens or 0, deepest, *(max(one.drafted or {0: 0}) for one in requests))
    histogram = {j: sum(one.accepted.get(j, 0) for one in requests) for j in range(k + 1)}
    steps = sum(histogram.values())
    if steps == 0:
        raise ScenarioError("no verify step was counted: nothing was drafted while the file was written")
    accepted = sum(j * n for j, n in histogram.items())
    drafted = _pooled_drafts(requests, k)
    reach = None if drafted is None else [sum(n for d, n in drafted.items() if d >= i) / steps for i in range(1, k + 1)]
    alone = pooled or len(requests) < 2
    padded = [{j: one.accepted.get(j, 0) for j in range(k + 1)} for one in requests]
    spread = None if alone else spread_over_requests(padded, reach)
    told = [one.drafted_tokens for one in requests]
    return AcceptanceFinding(
        format=format,
        engine=engine,
        tokens_per_step=1.0 + accepted / steps,
        interval=steps_interval(histogram) if alone else requests_interval(padded),
        method="scatter of the steps, each taken for itself; too narrow where requests differ"
        if alone
        else f"{len(requests)} requests drawn anew with replacement",
        draft_tokens=k if draft_tokens is not None or drafted is not None else None,
        steps=steps,
        accepted_tokens=accepted,
        drafted_tokens=sum(t for t in told if t is not None) if None not in told else None,
        requests=None if pooled else len(requests),
        tokens_per_step_by_request=None if pooled else _by_request(requests),
        histogram=histogram,
        survival=survival_of_histogram(histogram) if k else (),
        survival_intervals=tuple(
            wilson(sum(n for j, n in histogram.items() if j >= i), steps) for i in range(1, k + 1)
        ),
        drafted=None if drafted is None or drafted == {k: steps} else drafted,
        spread=None if spread is None else spread[0],
        spread_interval=None if spread is None else spread[1],
    )


def _by_request(requests: Sequence[RequestCounts]) -> float:
    means = [1.0 + sum(j * n for j, n in one.accepted.items()) / sum(one.accepted.values()) for one in requests]
    return sum(means) / len(means)


def _pooled_drafts(requests: Sequence[RequestCounts], k: int) -> dict[int, int] | None:
    if any(one.drafted is None for one in requests):
        return None
    pooled = {d: sum((one.drafted or {}).get(d, 0) for one in requests) for d in range(k + 1)}
    return {d: n for d, n in pooled.items() if n or d == k}


def from_rate(format: str, engine: str, accepted: int, drafted: int, draft_tokens: int | None) -> AcceptanceFinding:
    """A finding from accepted and drafted tokens alone: every step is taken to propose K."""
    if draft_tokens is None:
        raise ScenarioError(
            f"{accepted:,} of {drafted:,} draft tokens were accepted, but not in how many steps: add --draft-tokens K"
        )
    low, high = wilson(accepted, drafted)
    return AcceptanceFinding(
        format=format,
        engine=engine,
        tokens_per_step=1.0 + draft_tokens * accepted / drafted,
        interval=(1.0 + draft_tokens * low, 1.0 + draft_tokens * high),
        method="Wilson interval of accepted ÷ drafted, each draft token taken for itself: too narrow",
        draft_tokens=draft_tokens,
        steps=round(drafted / draft_tokens),
        accepted_tokens=accepted,
        drafted_tokens=drafted,
        notes=(f"steps are taken to propose {draft_tokens} draft tokens each",),
    )


def from_mean(
    format: str, engine: str, tokens_per_step: float, draft_tokens: int | None, averaged_over: str = "steps"
) -> AcceptanceFinding:
    """A finding from tokens per step alone."""
    if draft_tokens is not None and tokens_per_step > draft_tokens + 1:
        raise ScenarioError(
            f"{tokens_per_step:g} tokens per step, but {draft_tokens} draft tokens commit at most {draft_tokens + 1}"
        )
    return AcceptanceFinding(
        format, engine, tokens_per_step, None, "none: the file holds the mean alone", draft_tokens, averaged_over
    )
