"""How far a deployment's figures may be off because the step model is: from its profile's errors on left-out rows.

A published error is one of step times. What it does to a figure depends on the load, so the steady state is solved with
every step longer, and shorter, by it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import exp, hypot, isfinite, pi, sqrt
from typing import Any, NamedTuple

from simulator.catalog.load import Stamp, load_model, stamps
from simulator.outcome.aggregate import flatten
from simulator.outcome.interval import CONFIDENCE, NORMAL_QUANTILE
from simulator.outcome.latency import METRICS
from simulator.outcome.report import Row, empty_row
from simulator.planning.context import row_context, why_unfit
from simulator.planning.demand import slowed
from simulator.planning.estimate import Question, moved, question, row_of, steady_cluster
from simulator.planning.kept import KEPT, Asked, asked
from simulator.planning.steady_cluster import SteadyCluster
from simulator.run import step_model_of, with_best_trees
from simulator.spec.deployment import Deployment
from simulator.spec.profile import Error, HeldOut, Profile
from simulator.spec.scenario import Scenario

MOVED = (
    *METRICS, "req_per_s", "input_tokens_per_s", "output_tokens_per_s", "total_tokens_per_s",
    "output_tokens_per_s_per_gpu", "usd_per_million_output_tokens", "usd_per_million_input_tokens",
    "usd_per_million_total_tokens", "capacity_req_per_s", "utilisation", "output_tokens_per_s_at_capacity",
    "usd_per_million_output_tokens_at_capacity", "replicas_for_offered", "gpus_for_offered", "usd_per_hour_for_offered",
)  # fmt: skip
"""Fields of a row that step times move."""

Factors = dict[str, tuple[float, float]]
"""Field (nested as `ttft_s.p95`) → what a figure may be multiplied by, at the least and at the most."""


class StepError(NamedTuple):
    """How far predictions of a kind have been off."""

    step: float
    """Factor within which 95 % of step times lie (measured as TPOT)."""
    ttft: float
    """The same of TTFT."""
    basis: str
    """Which rows this is known from."""
    exact: bool
    """Whether they are of this GPU, engine and model; else of models and GPUs that were left out of a fit."""


@dataclass(frozen=True, slots=True)
class ModelError:
    """What the error of step times does to the figures of a deployment at its load."""

    known: StepError
    factors: Factors
    holds_if_slower: bool
    """Whether the offered load still holds when every step takes longer by the error."""
    kind: str
    """Deployments of one kind err together: the same profile and target."""


def factor_of(mean_ape: float) -> float:
    r"""Factor within which 95 % of measurements lie, if log errors are normal around 0.

    .. math:: f = \exp(1.96 \sqrt{\pi / 2} \, m)

    mean_ape: mean absolute error m. [fraction]

    >>> round(factor_of(0.04), 3)
    1.103

    The mean of |x| of a normal x is σ √(2/π). How many left-out rows really lie within it: docs/validation.md.
    """
    return exp(NORMAL_QUANTILE * sqrt(pi / 2) * mean_ape)


def step_error(deployment: Deployment, *, queued_at_once: bool = False) -> StepError | None:
    """The error to expect of a deployment's step times; None without a measured profile, or where none was judged.

    Left-out rows of its GPU, engine and model; else the errors of models and GPUs that were left out of the fit whole.
    All of these were closed loops: a batch that is queued at once runs at sizes that no such row has, and so counts as
    a thing that was left out.
    """
    profile = step_model_of(deployment).calibration.profile
    if profile is None:
        return None
    same = None if queued_at_once and profile.left_out else _same(profile, deployment)
    groups = (same,) if same is not None else profile.left_out
    step, ttft = _pooled([group.tpot or group.step for group in groups]), _pooled([group.ttft for group in groups])
    if step is None:
        return None
    rows = sum(error.count for group in groups if (error := group.tpot or group.step) is not None)
    what = "rows" if same is None or same.step is None else "steps"
    basis = f"{rows} left-out {what} of {same.group}" if same is not None else _others(groups, rows)
    return StepError(factor_of(step), factor_of(step if ttft is None else ttft), basis, same is not None)


def error_known(scenario: Scenario, name: str) -> StepError | None:
    """The same of a deployment of a scenario, by how its requests arrive."""
    queued = scenario.workload.arrivals.kind == "queued_at_once"
    return step_error(scenario.deployments[name], queued_at_once=queued)


def error_kind(deployment: Deployment) -> str:
    """What deployments have in common that err together: GPU type, engine, and the layers of the target."""
    return f"{deployment.gpu} {deployment.engine.policy} {_architecture(deployment.target.model)}"


def _others(groups: Sequence[HeldOut], rows: int) -> str:
    names = ", ".join(group.group for group in groups)
    return f"{rows} rows of {names}, each predicted with constants fitted without it"


def _same(profile: Profile, deployment: Deployment) -> HeldOut | None:
    """The group of this GPU whose model has the same layers as the target."""
    wanted = _architecture(deployment.target.model)
    return next((group for group in profile.held_out if _architecture(_model_of(group)) == wanted), None)


def _model_of(group: HeldOut) -> str:
    """The model in a group's name: `GPU MODEL` of served rows, `MODEL …` of steps that a device was measured with."""
    return group.group.split()[0 if group.step is not None else 1]


def _architecture(model: str) -> str:
    """A model but for its names: models with the same layers take the same time."""
    return _layers(model, stamps([model]))


@cache
def _layers(model: str, configs: tuple[Stamp, ...]) -> str:
    return load_model(model).model_dump_json(exclude={"name", "hf_id", "published", "notes", "source", "sources"})


def _pooled(errors: Sequence[Error | None]) -> float | None:
    """Mean absolute error over the rows of all groups."""
    known = [error for error in errors if error is not None]
    rows = sum(error.count for error in known)
    return sum(error.mean_ape * error.count for error in known) / rows if rows else None


class Clusters(NamedTuple):
    """The steady state of a deployment, and what it is if every step is shorter, or longer, by the error."""

    middle: SteadyCluster
    fast: SteadyCluster | None
    slow: SteadyCluster | None
    """None, as `fast`, where the error is not known."""
    known: StepError | None


def clusters_of(scenario: Scenario, name: str) -> Clusters:
    """The steady states of a deployment that fits, kept: neither its name, nor the rate, nor its price is in them."""
    return _clusters(asked(scenario, name))


@lru_cache(maxsize=KEPT)
def _clusters(ask: Asked) -> Clusters:
    middle, known = steady_cluster(ask.scenario, ask.name), error_known(ask.scenario, ask.name)
    if known is None:
        return Clusters(middle, None, None, None)
    fast, slow = (replace(middle, demand=slowed(middle.demand, factor)) for factor in (1.0 / known.step, known.step))
    return Clusters(middle, fast, slow, known)


def model_error(scenario: Scenario, name: str) -> ModelError | None:
    """What the error of step times does to a deployment that fits; None where it is not known."""
    clusters = clusters_of(scenario, name)
    if clusters.known is None:
        return None
    of = question(with_best_trees(scenario), name)
    return _error(of, clusters, moved(of, clusters.middle))


def estimate_with_error(scenario: Scenario, name: str, point: str = "base") -> tuple[Row, ModelError | None]:
    """An estimate with the model's error in its intervals, and that error."""
    reason = why_unfit(scenario, name)
    if reason:
        return empty_row(row_context(scenario, name, point), "estimate", reason), None
    return estimate_from(scenario, name, clusters_of(scenario, name), point)


def estimate_from(
    scenario: Scenario, name: str, clusters: Clusters, point: str = "base"
) -> tuple[Row, ModelError | None]:
    """The same of a deployment that fits, whose steady states are given."""
    of = question(with_best_trees(scenario), name, point)
    row = row_of(of, clusters.middle)
    error = _error(of, clusters, row)
    return widened(row, error), error


def _error(of: Question, clusters: Clusters, plain: Row) -> ModelError | None:
    known, fast_cluster, slow_cluster = clusters.known, clusters.fast, clusters.slow
    if known is None or fast_cluster is None or slow_cluster is None:
        return None
    capacity = clusters.middle.capacity()
    fast_cluster.capacity(capacity * known.step)
    slow_cluster.capacity(capacity / known.step)
    fast, slow = (moved(of, cluster) for cluster in (fast_cluster, slow_cluster))
    return ModelError(
        known=known,
        factors=_with_ttft(dict(_factors(*(flatten(row) for row in (fast, plain, slow)))), known.ttft),
        holds_if_slower=bool(slow["holds_slo"]),
        kind=error_kind(of.scenario.deployments[of.deployment]),
    )


def _factors(
    fast: Mapping[str, float], plain: Mapping[str, float], slow: Mapping[str, float]
) -> Iterator[tuple[str, tuple[float, float]]]:
    for name, value in plain.items():
        ends = [row[name] / value for row in (fast, slow) if value and name in row and isfinite(row[name])]
        if name.partition(".")[0] in MOVED and ends:
            yield name, (min(1.0, *ends), max(1.0, *ends))


def _with_ttft(factors: Factors, ttft: float) -> Factors:
    """TTFT has an error of its own on top of what step times do to it: the larger of the two counts."""
    own = {
        name: (min(low, 1.0 / ttft), max(high, ttft))
        for name, (low, high) in factors.items()
        if name.startswith("ttft_s.")
    }
    return factors | own


def widened(row: Row, error: ModelError | None) -> Row:
    """A row with the model's error in its intervals, beside what the replications tell (added as independent errors).

    `interval_of_replications` stays as it is; `holds_if_slower` says whether the load still holds with slower steps.
    Where it does not, latencies have no upper end, and so no interval.
    """
    if error is None:
        return row
    sampled: Mapping[str, Sequence[float]] = row["interval"]
    alone = row["replication"] == "estimate"
    open_ended = METRICS if row["holds_slo"] and not error.holds_if_slower else ()
    values = flatten(row)
    found = {
        name: _combined(values[name], sampled.get(name), error.factors.get(name, (1.0, 1.0)))
        for name in values
        if name in sampled or (alone and name in error.factors)
    }
    kept = {name: ends for name, ends in found.items() if name.partition(".")[0] not in open_ended}
    return row | {"interval": kept, "holds_if_slower": error.holds_if_slower}


def _combined(value: float, sampled: Sequence[float] | None, factors: tuple[float, float]) -> list[float]:
    """Two independent errors as one: their half-widths add in squares, on each side."""
    low, high = sampled or (value, value)
    below = hypot(value - low, value - value * factors[0])
    above = hypot(high - value, value * factors[1] - value)
    return [value - below, value + above]


def described(known: StepError | None) -> dict[str, Any] | None:
    """The error as a report says it."""
    if known is None:
        return None
    return {
        "tpot_factor": known.step,
        "ttft_factor": known.ttft,
        "confidence": CONFIDENCE,
        "basis": known.basis,
        "same_model": known.exact,
    }
