"""Errors of predicted speed-ups by group, choices of K and of trees, and what was not predicted: `validate --json`."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isfinite, log
from statistics import fmean, median
from typing import Any

from calibration.scores import score
from calibration.speculation_choices import regrets, tree_pairs
from calibration.speculation_validation import SpeculationOutcome, SpeculationValidation, predicted

GROUP = ("engine", "gpu", "target", "draft", "method")
WORST = 10


def names_of(one: SpeculationOutcome) -> dict[str, str]:
    """The group of a row that was predicted."""
    assert one.case is not None
    engine, gpu, target = one.case.unit
    draft = one.row.draft.split("/")[-1] or "unknown"
    return dict(zip(GROUP, (engine, gpu, target, draft, one.case.method), strict=True))


def speedup_score(outcomes: Iterable[SpeculationOutcome], of: Callable[[SpeculationOutcome], float]) -> dict[str, Any]:
    """Errors of one kind of prediction, and the share of rows where gain and loss are told apart."""
    pairs = [(of(one), one.row.speedup) for one in outcomes if isfinite(of(one))]
    right = [(ours > 1.0) == (measured > 1.0) for ours, measured in pairs]
    return score(ours / measured for ours, measured in pairs) | {"sign_right": fmean(right) if right else None}


def scores(outcomes: Sequence[SpeculationOutcome]) -> dict[str, Any]:
    """Count, error of the predictions, and of the trivial one beside them."""
    return {
        "count": len(outcomes),
        "speedup": speedup_score(outcomes, lambda one: one.speedup),
        "baseline": speedup_score(outcomes, lambda one: one.baseline),
    }


def by_group(outcomes: Iterable[SpeculationOutcome]) -> list[dict[str, Any]]:
    """Scores by engine, GPU, target, draft and method, in alphabetical order."""
    groups: dict[tuple[str, ...], list[SpeculationOutcome]] = {}
    for one in outcomes:
        groups.setdefault(tuple(names_of(one).values()), []).append(one)
    return [dict(zip(GROUP, group, strict=True)) | scores(groups[group]) for group in sorted(groups)]


def summary(validation: SpeculationValidation) -> dict[str, Any]:
    """All that `validate --json` prints of a file of speed-ups."""
    done = predicted(validation)
    own = [one for one in done if not borrowed(one)]
    count = len(validation.outcomes)
    return {
        "file": validation.path,
        "overall": scores(done) | {"share_predicted": len(done) / count if count else None},
        "own_accepted_length": scores(own),
        "in_sample_baseline": _in_sample(done),
        "groups": by_group(done),
        "best_draft_tokens": regrets(done),
        "trees": tree_pairs(done),
        "assumed": dict(Counter(text for one in done if one.case for text in one.case.assumed)),
        "worst": [plain(one) for one in worst(done)],
        "unpredicted": [
            {"id": one.row.id, "line": one.row.line, "reason": one.reason} for one in validation.outcomes if one.reason
        ],
        "rows": [plain(one) for one in done],
    }


def borrowed(one: SpeculationOutcome) -> bool:
    """Whether its accepted length is that of another method."""
    return one.case is not None and any("that of" in text for text in one.case.assumed)


def _in_sample(done: Sequence[SpeculationOutcome]) -> dict[str, Any]:
    """The trivial prediction with its constant from the very rows that it predicts, by GPU."""
    found = {}
    for gpu in sorted({one.case.plain.gpu for one in done if one.case}):
        gains = [one.row.speedup / one.case.tokens_per_step for one in done if one.case and one.case.plain.gpu == gpu]
        constant = median(gains)
        found[gpu] = {"constant": constant, **score(constant / gain for gain in gains)}
    return found


def worst(done: Sequence[SpeculationOutcome], most: int = WORST) -> list[SpeculationOutcome]:
    """The rows furthest off, by ratio in either direction."""
    return sorted(done, key=lambda one: (-abs(log(one.speedup / one.row.speedup)), one.row.line))[:most]


def plain(one: SpeculationOutcome) -> dict[str, Any]:
    """A row with its predictions beside its measurement."""
    assert one.case is not None
    assert one.times is not None
    assert one.shipped_times is not None
    return {
        "id": one.row.id,
        "line": one.row.line,
        **names_of(one),
        "dataset": one.row.dataset,
        "sequences": one.case.sequences,
        "draft_tokens": one.case.speculative.speculation.draft_tokens,
        "tokens_per_step": one.case.tokens_per_step,
        "speedup": {"predicted": one.speedup, "measured": one.row.speedup},
        "baseline": one.baseline,
        "as_shipped": one.shipped_times.speedup,
        "plain_step_s": one.times.plain.step.total_s,
        "speculative_step_s": one.times.speculative.step.total_s,
        "draft_s": one.times.speculative.step.draft_s,
        "assumed": list(one.case.assumed),
    }
