"""Which deployment is the cheapest, by how much, how sure that is, why, and what would turn it round.

Two bases, both shown: the cost of the fewest replicas that hold the offered load, and the cost of a million output
tokens at capacity. Ratios are runner-up ÷ winner; intervals are t intervals over replications on log ratios, paired by
replication because all deployments saw the same random streams, and hold the errors of the step models of both. Two
deployments on one GPU type, engine and target have the same error, which cancels.
"""

from collections.abc import Mapping, Sequence
from math import exp, hypot, log
from statistics import NormalDist
from typing import Any

from simulator.outcome.interval import NORMAL_QUANTILE, t_interval
from simulator.outcome.reasons import why_line
from simulator.outcome.report import Row
from simulator.planning.model_error import ModelError

TOO_CLOSE = "too close to call"

BY_LOAD = "usd_per_hour_for_offered"
BY_CAPACITY = "usd_per_million_output_tokens_at_capacity"

Ranking = dict[str, Any]


def compare(
    rows: Sequence[Row], replications: Sequence[Row], errors: Mapping[str, ModelError | None] | None = None
) -> dict[str, Any]:
    """The comparison of all deployments of one point.

    rows: one aggregated row per deployment.
    replications: their rows by replication; empty for estimates.
    errors: deployment → the error of its step model.
    """
    known = errors or {}
    load, capacity = (rank(rows, replications, basis, known) for basis in (BY_LOAD, BY_CAPACITY))
    chosen = load if load["leader"] is not None else capacity
    found = {
        name: chosen[name]
        for name in ("winner", "leader", "basis", "runner_up", "ratio", "interval", "confidence", "close_call")
    }
    by_name = {row["deployment"]: row for row in rows}
    return {
        **found,
        "flip": flip_condition(by_name, chosen),
        "why": why_line(by_name, chosen),
        "by_load": load,
        "by_capacity": capacity,
        "disagree": disagree(load, capacity),
        "unable": {
            row["deployment"]: _unable(row) for row in rows if row[BY_LOAD] is None and row[BY_CAPACITY] is None
        },
    }


def rank(
    rows: Sequence[Row], replications: Sequence[Row], basis: str, errors: Mapping[str, ModelError | None]
) -> Ranking:
    """Winner and runner-up by the lowest cost on one basis; None where nobody, or nobody else, has such a cost."""
    costs = {row["deployment"]: row[basis] for row in rows if row[basis] is not None}
    tie_break = {row["deployment"]: row[BY_CAPACITY] for row in rows}
    order = sorted(costs, key=lambda name: (costs[name], tie_break[name] or float("inf"), name))
    leader, runner_up = (*order, None, None)[:2]
    ranking: Ranking = {
        "winner": leader, "leader": leader, "basis": basis, "runner_up": runner_up, "ratio": None, "interval": None,
        "confidence": None, "close_call": False, "costs": {name: costs[name] for name in order},
    }  # fmt: skip
    if leader is None or runner_up is None:
        return ranking
    ratio = costs[runner_up] / costs[leader]
    both = errors.get(runner_up), errors.get(leader)
    estimated = (ratio, ratio) if errs_apart(*both) else None
    sampled = paired_interval(replications, runner_up, leader, basis) if replications else estimated
    interval = None if sampled is None else with_model_error(ratio, sampled, both)
    close = ratio == 1 or (interval is not None and interval[0] <= 1 <= interval[1])
    return ranking | {
        "ratio": ratio,
        "interval": None if interval is None else list(interval),
        "confidence": None if interval is None else confidence(ratio, interval),
        "close_call": close,
        "winner": TOO_CLOSE if close else leader,
    }


def paired_interval(replications: Sequence[Row], over: str, under: str, field: str) -> tuple[float, float] | None:
    """95 % interval of the ratio of a field of two deployments, paired by replication.

    None where fewer than two replications have both.
    """
    values = _by_replication(replications, field)
    pairs = [
        log(values[over, replication] / values[under, replication])
        for name, replication in values
        if name == over and (under, replication) in values
    ]
    found = t_interval(pairs)
    return None if found is None else (exp(found[0]), exp(found[1]))


def errs_apart(over: ModelError | None, under: ModelError | None) -> bool:
    """Whether an error of a step model stays in a ratio: of deployments of one kind it cancels."""
    return (over is not None or under is not None) and (over is None or under is None or over.kind != under.kind)


def with_model_error(
    ratio: float, sampled: tuple[float, float], errors: tuple[ModelError | None, ModelError | None]
) -> tuple[float, float]:
    """An interval of a ratio of costs with the errors of both step models: independent errors, on logarithms.

    What the error does to the cost at capacity stands for both bases, for a fleet only grows by whole replicas.

    sampled: over replications; the ratio twice for estimates, which have none.
    errors: of the deployment above and of the one below; None: not known, and not in it.

    >>> with_model_error(1.5, (1.25, 1.75), (None, None))
    (1.25, 1.75)
    """
    if not errs_apart(*errors):
        return sampled
    (low, high), (low_under, high_under) = (
        (1.0, 1.0) if error is None else error.factors.get(BY_CAPACITY, (1.0, 1.0)) for error in errors
    )
    below = hypot(log(ratio / sampled[0]), log(low), log(high_under))
    above = hypot(log(sampled[1] / ratio), log(high), log(low_under))
    return ratio * exp(-below), ratio * exp(above)


def confidence(ratio: float, interval: tuple[float, float]) -> float:
    r"""Chance that a ratio is above 1, from its 95 % interval: its logarithm is normal, as wide as below the ratio.

    .. math:: \Phi\left(1.96 \, \frac{\ln r}{\ln r - \ln l}\right)

    ratio: ratio r, at least 1. interval: its ends, l below.

    >>> round(confidence(1.2, (1.0, 1.44)), 3), confidence(1.0, (0.9, 1.1)), confidence(1.2, (1.2, 1.2))
    (0.975, 0.5, 1.0)
    """
    width = log(ratio / interval[0])
    if width <= 0.0:
        return 1.0 if ratio > 1.0 else 0.5
    return NormalDist().cdf(NORMAL_QUANTILE * log(ratio) / width)


def _by_replication(replications: Sequence[Row], field: str) -> Mapping[tuple[str, Any], float]:
    return {
        (row["deployment"], row["replication"]): row[field]
        for row in replications
        if row[field] is not None and row[field] > 0
    }


def disagree(load: Ranking, capacity: Ranking) -> str | None:
    """A sentence where the two bases name different leaders; None where they agree, or one is silent."""
    first, second = load["leader"], capacity["leader"]
    if first is None or second is None or first == second:
        return None
    return (
        f"{first} is cheapest at the offered load (${load['costs'][first]:.2f}/h), "
        f"{second} at capacity (${capacity['costs'][second]:.3f} per million output tokens)"
    )


def _unable(row: Row) -> str:
    notes = (row.get(name) for name in ("reason", "fleet_note", "capacity_note"))
    return next((note for note in notes if note), "it has no cost on either basis")


def tie_price_ratio(winner_price: float, runner_up_price: float, cost_ratio: float) -> float:
    r"""Ratio of GPU prices at which two deployments cost the same: exact, because costs are proportional to prices.

    .. math:: \rho = \frac{p_w}{p_r} \cdot \frac{c_r}{c_w}

    winner_price: price p_w of the winner's GPU. [USD/h]
    runner_up_price: price p_r of the other's. [USD/h]
    cost_ratio: runner-up's cost ÷ winner's, c_r / c_w.

    >>> tie_price_ratio(4.0, 2.0, 1.5)
    3.0
    """
    return winner_price / runner_up_price * cost_ratio


def tie_tokens_per_step(tokens_per_step: float, cost_ratio: float) -> float:
    r"""Tokens per step at which a speculating deployment's cost changes by a ratio; a first-order estimate.

    .. math:: \tau^* = \tau \cdot c / c^*

    tokens_per_step: mean committed tokens τ now. [tokens]
    cost_ratio: cost now ÷ cost at the tie, c / c*.

    The cost of a token is that of a step ÷ τ, and the cost of a step is held fixed: prompts, and a batch that changes
    with the speed, are left out.

    >>> tie_tokens_per_step(3.0, cost_ratio=0.75)
    2.25
    """
    return tokens_per_step * cost_ratio


def flip_condition(rows: Mapping[str, Row], ranking: Mapping[str, Any]) -> dict[str, Any] | None:
    """The flip condition of a ranking, with a sentence; None without a runner-up."""
    if ranking["runner_up"] is None:
        return None
    winner, other = rows[ranking["leader"]], rows[ranking["runner_up"]]
    if ranking["ratio"] == 1:
        sentence = f"{winner['deployment']} and {other['deployment']} cost the same now"
        return {"kind": "tie", "now": None, "tie": None, "first_order": False, "sentence": sentence}
    if winner["gpu"] != other["gpu"]:
        return _by_price(winner, other, ranking["ratio"])
    return _by_tokens(winner, other, ranking["ratio"])


def _by_price(winner: Row, other: Row, ratio: float) -> dict[str, Any]:
    now = winner["usd_per_gpu_hour"] / other["usd_per_gpu_hour"]
    tie = tie_price_ratio(winner["usd_per_gpu_hour"], other["usd_per_gpu_hour"], ratio)
    sentence = (
        f"{winner['deployment']} is cheaper while a GPU-hour of {winner['gpu']} costs less than {tie:.2f} times one of "
        f"{other['gpu']} (now {now:.2f} times)"
    )
    return {"kind": "gpu_price_ratio", "now": now, "tie": tie, "first_order": False, "sentence": sentence}


def _by_tokens(winner: Row, other: Row, ratio: float) -> dict[str, Any]:
    """The winner's acceptance must fall, or the runner-up's rise; the first is asked if both speculate."""
    if _speculates(winner):
        now = winner["tokens_per_step"]
        tie = tie_tokens_per_step(now, 1 / ratio)
        able, verb = tie >= 1, f"while it commits more than {tie:.2f} tokens per step"
        never = f"even at one token per step {winner['deployment']} would be cheaper"
        return _tokens(winner, now, tie, (f"{winner['deployment']} is cheaper {verb} (now {now:.2f})", never), able)
    if _speculates(other):
        now, drafted = other["tokens_per_step"], other["draft_tokens_mean"]
        most = 1 + min(drafted, other.get("draft_depth") or drafted)
        tie = tie_tokens_per_step(now, ratio)
        able, verb = tie <= most, f"until {other['deployment']} commits {tie:.2f} tokens per step"
        never = f"even if every draft token were accepted {winner['deployment']} would be cheaper"
        return _tokens(other, now, tie, (f"{winner['deployment']} is cheaper {verb} (now {now:.2f})", never), able)
    sentence = "same GPU and no speculation: neither a price nor an acceptance turns it round"
    return {"kind": "none", "now": None, "tie": None, "first_order": False, "sentence": sentence}


def _tokens(of: Row, now: float, tie: float, sentences: tuple[str, str], able: bool) -> dict[str, Any]:
    return {
        "kind": "tokens_per_step",
        "deployment": of["deployment"],
        "now": now,
        "tie": tie if able else None,
        "first_order": True,
        "sentence": (sentences[0] if able else sentences[1]) + "; a first-order estimate, at a fixed cost of a step",
    }


def _speculates(row: Row) -> bool:
    return bool(row["draft_tokens_mean"]) and row["tokens_per_step"] is not None
