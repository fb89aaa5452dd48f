"""Ways to draft held against each other and against plain decoding, at the reader's own batch and over all batches."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from app.dashboard.curves import ledger_of
from app.dashboard.speculation.found import flight_of, with_speculation
from app.dashboard.speculation.ways import Asked, Way, choices
from app.figures.ways import WayLine
from app.format import duration, gigabytes, percent, plural, significant, times, usd
from simulator.errors import SimulatorError
from simulator.planning.draft_words import proposed_words
from simulator.planning.in_flight import InFlight
from simulator.planning.speculation_gain import without_draft
from simulator.run import with_best_tree
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

AS_IT_STANDS = "as it stands"
"""How the deployment's own way is called."""
BUDGET = "equal budget"
"""The way that is the baseline of several drafts."""

Row = dict[str, Any]


class Shown(NamedTuple):
    """A way, and what it does."""

    way: Way
    deployment: Deployment
    """With a best tree written out."""
    flight: InFlight
    ledger: Sequence[Mapping[str, Any]]
    """Memory of each GPU role."""
    baseline: bool


class Compared(NamedTuple):
    """Ways side by side."""

    plain: Shown
    """Without any draft."""
    shown: list[Shown]
    left_out: list[tuple[str, str]]
    """Ways that are not drawn, and why."""


def compared(asked: Asked, chosen: Sequence[str]) -> Compared:
    """The chosen ways at the deployment; ScenarioError when it does not fit even without a draft."""
    name = asked.view.name
    bare = without_draft(asked.scenario.deployments[name])
    scenario = asked.scenario.model_copy(update={"deployments": {name: bare}})
    plain = _shown(Way("no draft", {}, ""), scenario, name)
    found, known = Compared(plain, [], []), choices(asked.scenario, name)
    for kind in chosen:
        try:
            way = known[kind](asked)
            one = _shown(way, with_speculation(asked.scenario, name, way.speculation), name, baseline=kind == BUDGET)
        except SimulatorError as error:
            found.left_out.append((kind, str(error)))
            continue
        same = next((other for other in found.shown if _alike(other, one)), None)
        if same is None:
            found.shown.append(one)
        else:
            found.left_out.append((way.name, f"the same as {same.way.name}"))
    return found


def _shown(way: Way, scenario: Scenario, name: str, *, baseline: bool = False) -> Shown:
    flight, spec = flight_of(scenario, name), with_best_tree(scenario.deployments[name])
    return Shown(way, spec, flight, ledger_of({name: spec}), baseline)


def _alike(one: Shown, other: Shown) -> bool:
    return np.array_equal(one.flight.output_tokens_per_s, other.flight.output_tokens_per_s, equal_nan=True)


def lines_of(found: Compared) -> list[WayLine]:
    """What is drawn."""
    return [
        WayLine(
            one.way.name, one.flight.sequences.tolist(), _speedup(found, one),
            one.flight.usd_per_million_output_tokens.tolist(), one.baseline,
        )
        for one in found.shown
    ]  # fmt: skip


def _speedup(found: Compared, one: Shown) -> list[float]:
    ratio: list[float] = (one.flight.output_tokens_per_s / found.plain.flight.output_tokens_per_s).tolist()
    return ratio


def at_batch(found: Compared, sequences: float) -> list[Row]:
    """Every way at one batch, plain decoding first: numbers, unrounded."""
    return [_at(found, one, sequences) for one in (found.plain, *found.shown)]


def _at(found: Compared, one: Shown, sequences: float) -> Row:
    flight, plain = one.flight, found.plain.flight
    row, base = flight.at(sequences), plain.at(sequences)
    speculation = one.deployment.speculation
    return {
        "way": one.way.name,
        "proposes": "nothing" if speculation.kind == "none" else _proposes(one.deployment),
        "draft_tokens": speculation.draft_tokens,
        "tokens_per_step": flight.tokens_per_step,
        "step_s": float(flight.step_s[row]),
        "step_ratio": float(flight.step_s[row] / plain.step_s[base]),
        "speedup": float(flight.output_tokens_per_s[row] / plain.output_tokens_per_s[base]),
        "tpot_s": float(flight.tpot_s[row]),
        "usd_per_million_output_tokens": float(flight.usd_per_million_output_tokens[row]),
        "draft_weights_bytes": max(role["draft_weights_bytes"] for role in one.ledger),
        "kv_tokens_share": one.ledger[0]["kv_tokens"] / max(found.plain.ledger[0]["kv_tokens"], 1),
        "places": flight.places,
        "acceptance": one.way.acceptance,
    }


def _proposes(deployment: Deployment) -> str:
    speculation = deployment.speculation
    assert speculation.kind != "none"
    words = proposed_words(speculation.propose)
    return f"{len(speculation.drafts)} × {words}" if speculation.combine.kind == "union" else words


def table_of(rows: Sequence[Row]) -> list[dict[str, str]]:
    """The same for reading."""
    return [
        {
            "way": row["way"],
            "proposes": row["proposes"],
            "tokens per step": significant(row["tokens_per_step"]),
            "step": f"{duration(row['step_s'])} ({times(row['step_ratio'])})",
            "speed-up": times(row["speedup"]) if np.isfinite(row["speedup"]) else "no place",
            "$/M output": usd(row["usd_per_million_output_tokens"]),
            "HBM taken": gigabytes(row["draft_weights_bytes"]),
            "KV left": percent(row["kv_tokens_share"]),
        }
        for row in rows
    ]


def sources(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Where the acceptance of each way comes from, and what of it is assumed."""
    return [(str(row["way"]), str(row["acceptance"])) for row in rows if row["acceptance"]]


def over_batches(found: Compared) -> list[Row]:
    """A row for each way and batch, unrounded: what the figure is drawn of."""
    return [
        {
            "way": one.way.name,
            "sequences": n,
            "speedup": gain,
            "usd_per_million_output_tokens": cost,
            "output_tokens_per_s": rate,
            "step_s": step_s,
            "tpot_s": tpot_s,
        }
        for one in (found.plain, *found.shown)
        for n, gain, cost, rate, step_s, tpot_s in zip(
            one.flight.sequences.tolist(), _speedup(found, one), one.flight.usd_per_million_output_tokens.tolist(),
            one.flight.output_tokens_per_s.tolist(), one.flight.step_s.tolist(), one.flight.tpot_s.tolist(),
            strict=True,
        )
    ]  # fmt: skip


def speculations(found: Compared) -> dict[str, Mapping[str, Any]]:
    """What can be taken into the scenario: ways that it does not have yet."""
    return {one.way.name: one.way.speculation for one in found.shown if not one.way.name.endswith(AS_IT_STANDS)}


def said(rows: Sequence[Row], sequences: float) -> str:
    """Which way is the fastest at the reader's batch, and what several drafts bring over the baseline, in words."""
    where = f"With {plural(int(sequences), 'sequence')} in flight"
    placed = [row for row in rows if np.isfinite(row["speedup"])]
    best = max(placed, key=lambda row: float(row["speedup"]), default=None)
    if best is None:
        return f"{where} no way has a place."
    if not best["draft_tokens"]:
        return f"{where} **no draft** is the fastest."
    return (
        f"{where} **{best['way']}** is the fastest: {times(best['speedup'])} plain decoding, at "
        f"{usd(best['usd_per_million_output_tokens'])} per million output tokens; its acceptance: {best['acceptance']}."
        f"{_against_baseline(placed)}"
    )


def _against_baseline(rows: Sequence[Row]) -> str:
    """Several drafts against one that proposes as many tokens."""
    budget = next((row for row in rows if row["way"].endswith(BUDGET)), None)
    several = [row for row in rows if row["way"].endswith((", routed", ", all at once"))]
    if budget is None or not several:
        return ""
    parts = [f"{row['way']}: {times(row['speedup'] / budget['speedup'])}" for row in several]
    return f" Held against {budget['way'].partition(':')[0]}, as many draft tokens: {'; '.join(parts)}."
