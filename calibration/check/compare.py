"""A point predicted, beside its two measurements: what is compared, and how far the machine repeats itself."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from statistics import fmean
from typing import Literal

from calibration.check.figures import Figures, figures, mean_figures, records_of
from calibration.check.offered import offered
from calibration.check.predict import Predictor, predict, predict_timing
from calibration.check.replay import Replayed, replay
from calibration.check.run import Point, Run, durations_s
from simulator.physics.step import StepShape
from simulator.spec.acceptance import Acceptance


@dataclass(frozen=True, slots=True)
class StepErrors:
    """Single steps: predicted time of each measured shape against its measured time, as fractions."""

    mape: float
    bias: float
    apart: float
    """Mean absolute difference of equal shapes between the two runs; nan: there were none."""
    steps: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One point."""

    point: Point
    predicted: Figures
    """With modelled acceptance."""
    timing: Figures
    """With the accepted counts as measured: its error is that of timing alone."""
    measured: tuple[Figures, ...]
    """Of both runs."""
    replayed: tuple[Replayed, ...]
    pace: tuple[float, ...]
    """Of each run: see Run."""
    steps: StepErrors
    paced: Figures
    """As `predicted`, with every step as slow as the machine was beside the runs."""
    paced_steps: StepErrors
    same_texts: float
    """tokens_per_step predicted from the acceptance of these very requests; nan without drafts."""
    decode_s: Mapping[int, tuple[float, float]]
    """By decoding sequences: mean seconds of a step without prompts, predicted and measured."""

    def mean(self, name: str) -> float:
        """A measured figure, mean of both runs."""
        return fmean(one[name] for one in self.measured)

    def error(self, name: str, of: str = "predicted") -> float:
        """Predicted ÷ measured − 1; nan where either is missing."""
        found: Figures = getattr(self, of)
        return relative(found[name], self.mean(name))

    def apart(self, name: str) -> float:
        """Difference of the two runs ÷ their mean."""
        values = [one[name] for one in self.measured]
        return abs(max(values) - min(values)) / self.mean(name) if self.mean(name) else 0.0


def relative(predicted: float, measured: float) -> float:
    """Predicted ÷ measured − 1; nan where either is missing.

    >>> round(relative(1.1, 1.0), 2), relative(1.0, nan)
    (0.1, nan)
    """
    known = isfinite(predicted) and isfinite(measured) and measured != 0
    return predicted / measured - 1.0 if known else nan


def compare(predictor: Predictor, runs: Sequence[Run]) -> Compared:
    """Compare both runs of a point with what was predicted for it."""
    first = runs[0]
    point = first.point
    paced = replace(predictor, pace=fmean(run.pace for run in runs))
    return Compared(
        point=point,
        predicted=predict(predictor, point, first.limits, offered(first)),
        timing=mean_figures([predict_timing(predictor, run) for run in runs]),
        measured=tuple(figures(records_of(run), open_loop=point.clients is None) for run in runs),
        replayed=tuple(replay(run) for run in runs),
        pace=tuple(run.pace for run in runs),
        steps=step_errors(predictor, runs),
        paced=predict(paced, point, first.limits, offered(first)),
        paced_steps=step_errors(paced, runs),
        same_texts=_same_texts(predictor, first),
        decode_s=decode_steps(predictor, runs),
    )


def at_pace(one: Compared) -> Compared:
    """The same point, as if the profile had known how slow the machine would be."""
    return replace(one, predicted=one.paced, steps=one.paced_steps)


def step_errors(predictor: Predictor, runs: Sequence[Run]) -> StepErrors:
    """Errors of all steps of all runs of a point."""
    price = predictor.steps(runs[0].point.draft_tokens).seconds
    pairs = [
        (predictor.pace * price(StepShape._make(step.shape)), seconds)
        for run in runs
        for step, seconds in zip(run.steps, durations_s(run), strict=True)
    ]
    errors = [predicted / seconds - 1.0 for predicted, seconds in pairs]
    return StepErrors(fmean(map(abs, errors)), fmean(errors), _apart(runs), len(pairs))


def _apart(runs: Sequence[Run]) -> float:
    """Mean difference of the steps of equal shape of two runs, first with first, ÷ the mean of both."""
    if len(runs) < 2:
        return nan
    by_shape = []
    for run in runs:
        found: defaultdict[tuple[float, ...], list[float]] = defaultdict(list)
        for step, seconds in zip(run.steps, durations_s(run), strict=True):
            shape = StepShape._make(step.shape)
            found[shape.sequences, shape.verify_tokens, shape.prefill_tokens].append(seconds)
        by_shape.append(found)
    first, second = by_shape
    pairs = [pair for shape in first for pair in zip(first[shape], second.get(shape, []), strict=False)]
    return fmean(2 * abs(a - b) / (a + b) for a, b in pairs) if pairs else nan


def decode_steps(predictor: Predictor, runs: Sequence[Run]) -> dict[int, tuple[float, float]]:
    """By decoding sequences: mean seconds of the steps without prompts, predicted and measured."""
    price = predictor.steps(runs[0].point.draft_tokens).seconds
    found: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        for step, seconds in zip(run.steps, durations_s(run), strict=True):
            shape = StepShape._make(step.shape)
            if not shape.prefill_tokens:
                found[shape.sequences].append((price(shape), seconds))
    return {n: (fmean(p for p, _ in pairs), fmean(m for _, m in pairs)) for n, pairs in sorted(found.items())}


def _same_texts(predictor: Predictor, run: Run) -> float:
    """tokens_per_step as the acceptance of these very requests predicts it."""
    k = run.point.draft_tokens
    if not k:
        return nan
    speculation = predictor.deployed(k).speculation
    assert speculation.kind == "drafts"
    depth = None if speculation.propose.shape == "chain" else speculation.propose.depth
    own = replace(predictor, acceptance={k: own_acceptance(run, depth)})
    return predict(own, run.point, run.limits, offered(run))["tokens_per_step"]


def own_acceptance(run: Run, depth: int | None = None) -> dict[str, Acceptance]:
    """Acceptance of a run's own requests, by class.

    depth: of the tree that was verified; None: chains.
    """
    most = run.point.draft_tokens
    found = {}
    for label in run.labels:
        requests = [request for request in run.requests if request.label == label]
        accepted = Counter(n for request in requests for n in request.accepted)
        drafted = Counter(n for request in requests for n in request.drafted)
        if accepted:
            kept = _filled(accepted, most if depth is None else depth)
            shape: Literal["chain", "tree"] = "chain" if depth is None else "tree"
            found[label] = Acceptance(histogram=kept, drafted=_filled(drafted, most), of=shape)
    return found


def _filled(counts: Mapping[int, int], most: int) -> dict[int, int]:
    return {n: counts.get(n, 0) for n in range(most + 1)}


def by_point(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs of the same point, the first one first."""
    found: defaultdict[str, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda one: one.point.repeat):
        found[run.point.key].append(run)
    return dict(found)
