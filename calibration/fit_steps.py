"""From measured steps to a step surface: a table for each cause, fitted on medians, judged on steps that were kept out.

Every cause is fitted by itself, its residuals as fractions of the whole step, so that no effort goes into what does not
matter. Costs that physics makes grow are fitted by their rises, which are not negative.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from calibration.nonnegative import Floats, hats, never_falling, robust_fit, thinned
from calibration.robust import digits
from simulator.errors import ProfileError

KNOT_RATIO = 1.3
"""Knots of tables by rows lie at least this far apart."""
CAUSES = ("linear", "attention", "prefill_attention", "sampling", "overhead", "draft")
LEAST_SHAPES = 20
"""Shapes below which nothing is fitted."""
FALL = 0.05
"""Fall of a curve by rows, between neighbouring knots, below which it is never taken for the device's."""
FALL_IN_NOISE = 3.0
"""The same in units of the noise: what one visit differs from the next by."""
SHAPE = (0, 1, 3, 4, 6)
"""Columns of a stored step that make its shape: sequences, rows, prompts, their tokens, draft tokens."""
ALONE = 0.1
"""Weight of the head measured alone, beside whole steps: it splits the layers' constant from the head's, no more."""
_US = 1e6


class Steps(NamedTuple):
    """Medians of measured steps, one entry a shape."""

    sequences: Floats
    verify_tokens: Floats
    context: Floats
    prompts: Floats
    prefill_tokens: Floats
    pairs: Floats
    draft_tokens: Floats
    seconds: Floats
    """[shapes, causes]"""
    drafted: Floats
    """1 where the engine had its draft."""
    held_out: Floats
    """1 where the shape is kept from the fit."""

    @property
    def rows(self) -> Floats:
        """Rows of the layers."""
        return self.verify_tokens + self.prefill_tokens

    @property
    def logits(self) -> Floats:
        """Rows of the head."""
        return self.verify_tokens + self.prompts

    @property
    def total(self) -> Floats:
        """Seconds of the whole step."""
        return np.asarray(self.seconds.sum(axis=1))

    def only(self, which: Any) -> "Steps":
        """A part of the shapes."""
        return Steps(*(column[which] for column in self))


def read_steps(data: Mapping[str, Any]) -> tuple[Steps, float]:
    """Medians of all shapes of a file of measurements, and the gap between two steps [s]."""
    rows: list[list[float]] = []
    gaps: list[float] = []
    by_point: dict[str, list[Any]] = {}
    for key, visits in data["visits"].items():
        by_point.setdefault(key.removeprefix("reference-"), []).extend(visits)
    for key, visits in by_point.items():
        shapes: dict[tuple[float, ...], list[Floats]] = {}
        for visit in visits:
            taken = np.array(visit, dtype=np.float64)
            gaps += [gap for gap in taken[:, 13] if gap > 0.0]
            for shape in np.unique(taken[:, SHAPE], axis=0):
                same = taken[(taken[:, SHAPE] == shape).all(axis=1)]
                shapes.setdefault(tuple(shape), []).append(np.median(same, axis=0))
        for found in shapes.values():
            middle = np.median(np.array(found), axis=0)
            rows.append([*_told_apart(middle[:13]), float(key.startswith("draft")), float(key.endswith("-held"))])
    if len(rows) < LEAST_SHAPES:
        raise ProfileError(f"{len(rows)} shapes of steps were measured; a fit takes {LEAST_SHAPES} or more: measure on")
    table = np.array(rows)
    t = table.T
    steps = Steps(t[0], t[1], t[2], t[3], t[4], t[5], t[6], table[:, 7:13], t[13], t[14])
    return steps, float(np.median(gaps)) if gaps else 0.0


def _told_apart(step: Floats) -> Floats:
    """A step whose attention, joining its outputs included, all belongs to the only kind of sequence that is there."""
    told = step.copy()
    if step[4] == 0.0:
        told[8], told[9] = step[8] + step[9], 0.0
    elif step[0] == 0.0:
        told[8], told[9] = 0.0, step[8] + step[9]
    return told


def fit_tables(steps: Steps, head: Floats, gap_s: float, noise: float = 0.0) -> dict[str, Any]:
    """The tables of a step surface (without names), from the shapes of the fit.

    head: [n, 2] rows and seconds of the output head alone: it tells the head's constant from the layers'.
    noise: median difference between two visits to the same step, as a fraction.
    """
    fit = steps.only(steps.held_out == 0.0)
    layers, head_table = _fit_linear(fit, head, max(FALL, FALL_IN_NOISE * noise))
    return {
        "layers": layers,
        "head": head_table,
        "decode": _fit_decode(fit, fit.seconds[:, 1], fit.draft_tokens + 1.0),
        "prompts": _fit_prompts(fit, fit.seconds[:, 2]),
        "sampling": _fit_rows(fit.logits, fit.seconds[:, 3], 1.0 / fit.total, 2.0),
        "host": _fit_host(fit, gap_s),
    }


def fit_draft(steps: Steps) -> dict[str, Any] | None:
    """Tables of the draft; None where no draft was measured."""
    fit = steps.only((steps.held_out == 0.0) & (steps.drafted == 1.0))
    if not len(fit.rows):
        return None
    decoding = fit.only((fit.prompts == 0.0) & (fit.draft_tokens > 0.0))
    passes = _fit_decode(decoding, decoding.seconds[:, 5], decoding.draft_tokens)
    prompts = fit.only((fit.prompts > 0.0) & (fit.sequences == 0.0))
    found = {"passes": passes}
    if len(prompts.rows) >= 2:
        found["prompts"] = _fit_prompts(prompts, prompts.seconds[:, 5])
    return found


def _fit_linear(fit: Steps, head: Floats, fall: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Layers by rows and head by logit rows, together; the head alone was measured, too, and holds them apart."""
    knots, head_knots = thinned(fit.rows, KNOT_RATIO), thinned(np.append(head[:, 0], 1.0), 1.9)
    layers, logits = hats(fit.rows, knots), hats(fit.logits, head_knots)
    alone = np.concatenate([np.zeros((len(head), len(knots))), hats(head[:, 0], head_knots)], axis=1)
    free = np.concatenate([np.concatenate([layers, logits], axis=1), alone])
    rises = np.concatenate([never_falling(free[:, : len(knots)]), never_falling(free[:, len(knots) :])], axis=1)
    seconds = np.append(fit.seconds[:, 0], head[:, 1])
    weights = np.append(1.0 / fit.total, ALONE / np.maximum(head[:, 1], fit.total.min()))
    risen = robust_fit(rises, seconds, weights)
    level = robust_fit(free, seconds, weights)
    falls = bool((np.diff(level[: len(knots)]) < -fall * level[: len(knots) - 1]).any())
    kept = level if falls else np.concatenate([np.cumsum(risen[: len(knots)]), np.cumsum(risen[len(knots) :])])
    return (
        _rows_table(knots, kept[: len(knots)], falls=falls),
        _rows_table(head_knots, np.maximum.accumulate(kept[len(knots) :])),
    )


def _rows_table(knots: Floats, seconds: Floats, *, falls: bool = False) -> dict[str, Any]:
    us = [digits(s * _US, 5) for s in seconds]
    table: dict[str, Any] = {"rows": [int(k) for k in knots], "us": us}
    return table | ({"falls": True} if falls else {})


def _fit_rows(rows: Floats, seconds: Floats, weights: Floats, ratio: float) -> dict[str, Any]:
    """One curve by rows that never falls."""
    knots = thinned(rows, ratio)
    found = robust_fit(never_falling(hats(rows, knots)), seconds, weights)
    return _rows_table(knots, np.cumsum(found))


def _fit_decode(fit: Steps, seconds: Floats, tokens: Floats) -> dict[str, Any]:
    """Constant + per sequence + per position of context, each a curve by the tokens of a sequence that never falls.

    The slope has knots, in tokens and in sequences, where several contexts were measured; between them it is linear.
    """
    some = fit.sequences > 0.0
    n, context, tokens, wanted = fit.sequences[some], fit.context[some], tokens[some], seconds[some]
    knots = np.unique(tokens)
    knots = knots if len(knots) > 1 else np.append(knots, knots[-1] + 1.0)
    sequences = np.unique(n)
    sequences = sequences if len(sequences) > 1 else np.append(sequences, sequences[-1] + 1.0)
    basis = never_falling(hats(tokens, knots))
    bends, crowds = _with_contexts(tokens, context / n), _with_contexts(n, context / n)
    slopes = [never_falling(hats(tokens, bends)) * (context * share)[:, None] for share in hats(n, crowds).T]
    design = np.concatenate([basis, basis * n[:, None], *slopes], axis=1)
    found = robust_fit(design, wanted, 1.0 / fit.total[some])
    constant, each = (np.cumsum(part) * _US for part in np.split(found[: 2 * len(knots)], 2))
    rises = found[2 * len(knots) :].reshape(len(crowds), len(bends))
    slope = hats(sequences, crowds) @ np.cumsum(rises, axis=1) @ hats(knots, bends).T * _US
    return {
        "sequences": [int(count) for count in sequences],
        "tokens": [int(k) for k in knots],
        "floor_us": [[digits(v, 5) for v in constant + each * count] for count in sequences],
        "per_token_us": [[digits(v, 5) for v in row] for row in slope],
        "max_context": int((context / n).max()),
    }


def _with_contexts(values: Floats, context: Floats) -> Floats:
    """Values at which contexts were measured that differ fourfold or more; all of them where there are none."""
    every = np.unique(values)
    spread = [context[values == v].max() >= 4.0 * context[values == v].min() for v in every]
    return np.asarray(every[spread] if any(spread) else every)


def _fit_prompts(fit: Steps, seconds: Floats) -> dict[str, Any]:
    """Base by prompt tokens, never falling, and seconds per pair of a token and a position."""
    some = fit.prefill_tokens > 0.0
    tokens, pairs = fit.prefill_tokens[some], fit.pairs[some]
    knots = thinned(tokens, 1.9)
    knots = knots if len(knots) > 1 else np.append(knots, knots[-1] + 1.0)
    design = np.concatenate([never_falling(hats(tokens, knots)), pairs[:, None]], axis=1)
    found = robust_fit(design, seconds[some], 1.0 / fit.total[some])
    return {
        "base": _rows_table(knots, np.cumsum(found[:-1])),
        "per_million_pairs_us": digits(float(found[-1]) * _US * 1e6, 5),
        "max_prompt": int(tokens.max()),
    }


def _fit_host(fit: Steps, gap_s: float) -> dict[str, float]:
    """Constant, per sequence, per row; the gap to the next step belongs to the constant."""
    design = np.stack([np.ones_like(fit.rows), fit.sequences, fit.rows], axis=1)
    step, sequence, row = robust_fit(design, fit.seconds[:, 4], 1.0 / fit.total)
    return {
        "step_us": digits((step + gap_s) * _US, 5),
        "sequence_us": digits(sequence * _US, 5),
        "row_us": digits(row * _US, 5),
    }
