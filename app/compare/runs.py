"""Two runs against each other: a line for each deployment that both have, and how their scenarios differ."""

from collections.abc import Iterator, Mapping
from math import log
from typing import Any

from app.compare.causes import Part, context, parts_of
from app.compare.folders import Key, StoredRun
from app.compare.ratios import Ratio, ratios
from app.format import low_high, times
from app.tables.drafts import budget_notes

HEADLINES = {
    "capacity_req_per_s": "capacity",
    "ttft_s.p95": "TTFT p95",
    "tpot_s.p95": "TPOT p95",
    "usd_per_million_output_tokens_at_capacity": "$/M output at capacity",
}
"""Figures of which the one that changed most is explained."""

GROWING = ("ttft_s", "tpot_s", "e2e_s", "queue_mean")
"""What has no mean where a run is saturated."""

MATTERS = 0.15
"""Share of the logarithm of a ratio from which a part is told."""

MOST_PARTS = 3


def compare_runs(first: StoredRun, second: StoredRun) -> dict[str, Any]:
    """Everything that `specfleet compare --json` prints.

    Raises ScenarioError where the runs have no deployment in common.
    """
    pairs = matched(first, second)
    rows = [_pair(first, second, *keys) for keys in pairs]
    return {
        "first": str(first.path),
        "second": str(second.path),
        "rows": rows,
        "only_in_first": _left(first, [pair[0] for pair in pairs]),
        "only_in_second": _left(second, [pair[1] for pair in pairs]),
        "differences": list(differences(first.document, second.document)),
        "notes": list(_notes(first, second, rows)),
    }


def matched(first: StoredRun, second: StoredRun) -> list[tuple[Key, Key]]:
    """Points and deployments by name; single ones match whatever they are called."""
    from simulator.errors import ScenarioError

    one_point = len(first.points) == len(second.points) == 1
    found = [(key, key) for key in first.rows if key in second.rows]
    if not found and one_point:
        found = [
            ((first.points[0], name), (point, name))
            for point, name in second.rows
            if (first.points[0], name) in first.rows
        ]
    if not found and len(first.rows) == len(second.rows) == 1:
        found = [(next(iter(first.rows)), next(iter(second.rows)))]
    if not found:
        raise ScenarioError(
            f"no deployment in common: {first.path} has {_listed(first)}; {second.path} has {_listed(second)}"
        )
    return found


def _listed(run: StoredRun) -> str:
    names = ", ".join(dict.fromkeys(name for _, name in run.rows))
    return names if len(run.points) == 1 else f"{names} at {len(run.points)} points ({run.points[0]}, …)"


def _left(run: StoredRun, used: list[Key]) -> list[dict[str, str]]:
    return [{"point": point, "deployment": name} for point, name in run.rows if (point, name) not in used]


def _pair(first: StoredRun, second: StoredRun, one: Key, other: Key) -> dict[str, Any]:
    rows, replications = (first.rows[one], second.rows[other]), (first.replications[one], second.replications[other])
    paired = _same_streams(first, second) and set(replications[0]) == set(replications[1])
    found = ratios(*rows, replications, paired=paired)
    saturated = [bool(row.get("saturated")) for row in rows]
    if any(saturated):
        found = {name: ratio for name, ratio in found.items() if name.partition(".")[0] not in GROWING}
    name, why, parts = explain(found, *rows)
    same = one[1] == other[1]
    return {
        "point": one[0],
        "deployment": one[1] if same else f"{one[1]} → {other[1]}",
        "paired": paired,
        "saturated": saturated,
        "ratios": {
            field: {
                "first": r.first,
                "second": r.second,
                "ratio": r.ratio,
                "interval": r.interval,
                "changed": r.changed,
            }
            for field, r in found.items()
        },
        "headline": name,
        "why": why,
        "parts": [part._asdict() for part in parts],
    }


def _same_streams(first: StoredRun, second: StoredRun) -> bool:
    seeds = [run.provenance.get("seed") for run in (first, second)]
    return seeds[0] is not None and seeds[0] == seeds[1]


def explain(
    found: Mapping[str, Ratio], first: Mapping[str, Any], second: Mapping[str, Any]
) -> tuple[str | None, str, list[Part]]:
    """The headline that changed most, a line that explains it, and the parts of the explanation."""
    if not (first.get("fits", True) and second.get("fits", True)):
        said = ["fits" if row.get("fits", True) else "does not fit" for row in (first, second)]
        return None, said[0] if said[0] == said[1] else f"{said[0]} → {said[1]}", []
    changed = [found[name] for name in HEADLINES if name in found and found[name].changed]
    if not changed:
        return None, "nothing changed beyond its interval", []
    most = max(changed, key=lambda ratio: abs(log(ratio.ratio)))
    size = log(most.ratio)
    parts = [part for part in parts_of(most.name, first, second) if abs(part.effect) > MATTERS * abs(size)]
    helped = [part.text for part in parts if part.effect * size > 0][:MOST_PARTS]
    against = [part.text for part in parts if part.effect * size < 0][:MOST_PARTS]
    said = [", ".join(helped)] if helped else []
    said += [f"in spite of {', '.join(against)}"] if against else []
    said += [f"with {', '.join(moved)}"] if (moved := context(first, second)) else []
    interval = f" ({low_high(most.interval)})" if most.interval else ""
    why = "; ".join(said) or "none of its parts accounts for it"
    return most.name, f"{HEADLINES[most.name]} {times(most.ratio)}{interval}: {why}", parts


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Places at which two scenarios differ, with both values; what one lacks is None there."""
    one, other = dict(_leaves(first)), dict(_leaves(second))
    for path in dict.fromkeys([*one, *other]):
        if one.get(path) != other.get(path) and path != "description":
            yield {"path": path, "first": one.get(path), "second": other.get(path)}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _notes(first: StoredRun, second: StoredRun, rows: list[dict[str, Any]]) -> Iterator[str]:
    for field, what in (("code_hash", "another code of the simulator"), ("catalog_hash", "another catalog")):
        if first.manifest.get(field) != second.manifest.get(field):
            yield f"the runs were made with {what}: that alone may change figures"
    if not all(row["paired"] for row in rows):
        yield "seeds or replications differ: intervals are unpaired and wider than they could be"
    if any(any(row["saturated"]) for row in rows):
        yield "where a run is saturated its latencies grow with its length and are not compared"
    for names, text in dict.fromkeys(note for run in (first, second) for note in budget_notes(list(run.rows.values()))):
        yield f"{names}: {text}"
    if not any(ratio["interval"] for row in rows for ratio in row["ratios"].values()):
        yield "no intervals: they need at least two replications of each run"
