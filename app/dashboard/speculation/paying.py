"""When one draft pays: the reader's own point on the surface, and the surface as rows. Knows nothing of pages."""

from typing import Any, NamedTuple

import numpy as np

from app.dashboard.curves import grid_of
from app.dashboard.speculation_inputs import View
from app.format import plural, times
from simulator.physics.acceptance import constant_acceptance
from simulator.planning import speculation_gain as gain
from simulator.planning.when import ACCEPTANCES, LATENCY_RATIOS, Surface, break_even
from simulator.spec.scenario import Scenario


class Point(NamedTuple):
    """The reader's own point, and what is true there."""

    sequences: float
    acceptance: float
    """Alike at every position, with as many tokens per step as the reader's at the reader's K."""
    speedup: float
    """With the best K; NaN where there is no place."""
    best: int
    break_even: float
    """NaN: at no acceptance."""


def point_of(asked: Scenario, view: View) -> Point:
    """What the surface is at the reader's own point, computed there, not read off the map.

    asked: the scenario with the reader's draft alone.
    """
    k, sequences = view.choice.draft_tokens, view.sequences
    tokens = float(gain.tokens_by_draft(view.choice.survival)[k])
    alpha = float(constant_acceptance(tokens, k))
    here = grid_of(asked, view.name).at(np.array([sequences]))
    by_k = gain.tokens_by_draft(gain.survival_by_change(alpha, 1.0, gain.MOST_DRAFT_TOKENS))
    known = np.nan_to_num(gain.speedup(here, by_k)[0, 1:], nan=-np.inf)
    best = int(known.argmax())
    speedup = float(known[best]) if np.isfinite(known[best]) else float("nan")
    return Point(sequences, alpha, speedup, best + 1, float(break_even(here)[0]))


def sentence(own: Point) -> str:
    """The reader's own point in words."""
    where = f"With {plural(int(own.sequences), 'sequence')} in flight and an acceptance of {own.acceptance:.2f}"
    if not np.isfinite(own.speedup):
        return f"{where} there is no place for a draft's tokens."
    found = f"{where} drafting is {times(own.speedup)} plain decoding with the best K, {own.best}"
    if np.isnan(own.break_even):
        return f"{found}; at this batch it pays at no acceptance."
    return f"{found}; at this batch it pays from an acceptance of {own.break_even:.2f} on."


def rows_of(found: Surface) -> list[dict[str, Any]]:
    """A row for each cost of a draft, acceptance and batch, unrounded."""
    return [
        {
            "latency_ratio": name,
            "latency_ratio_here": float(found.latency_ratios[place, column]),
            "acceptance": alpha,
            "sequences": float(sequences),
            "speedup": float(found.speedup[place, row, column]),
            "best_draft_tokens": float(found.best_draft_tokens[place, row, column]),
            "break_even_acceptance": float(found.break_even[place, column]),
        }
        for place, name in enumerate((*LATENCY_RATIOS, "own"))
        for row, alpha in enumerate(ACCEPTANCES)
        for column, sequences in enumerate(found.sequences)
    ]
