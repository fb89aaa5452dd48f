"""Rows over all replications: means, intervals, majorities."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from simulator.outcome.interval import t_interval
from simulator.outcome.latency import METRICS
from simulator.outcome.precision import suggested_replications
from simulator.outcome.report import Row

INTERVALS = ("interval", "interval_of_replications")
IDENTITY = (
    "deployment", "gpu", "point", "speculation", "drafts", "draft_bytes", "draft_depth", "extrapolated", "draft_gpu",
    "draft_gpus",
)  # fmt: skip
"""What a deployment is, whatever came of it."""
NOT_AVERAGED = (*IDENTITY, "replication", *INTERVALS, "replications_for_5_percent")

NO_MEAN = ("warmup_found_requests",)
"""Numbers that follow the majority of the replications, and whose mean nobody asks for."""

GROWING = (*METRICS, "queue_mean")
"""What grows with the length of a run that is saturated: it has no steady mean, and so no interval."""

SOUGHT = ("capacity_req_per_s", "ttft_s.p95")
"""Figures for which a number of replications is suggested."""


def aggregate_rows(rows: Sequence[Row]) -> Row:
    """One row over the replications of a deployment, `replication` "all".

    Numbers are means over the replications that have them, None where half of them or more do not; each has a 95 %
    t interval in `interval` (nested fields as `ttft_s.p95`; none for fewer than two, and none for latencies and queues
    that grow because the row is saturated). A flag is set where it is in more than half of the replications, so
    `saturated` means most of them; a text is the most frequent one. What holds for whole fleets follows the majority
    too: `replicas_for_offered` is the fewest that hold in more than half of them, `warmup_found_requests` likewise.
    `replications_for_5_percent` suggests how many would bring an interval to ±5 %.
    """
    first = rows[0]
    merged: Row = {name: _merge([row[name] for row in rows]) for name in first if name not in NOT_AVERAGED}
    flat = [flatten(row) for row in rows]
    left_out = (*NO_MEAN, *GROWING) if merged["saturated"] else NO_MEAN
    intervals = _intervals(flat, left_out)
    merged |= {name: first[name] for name in IDENTITY if name in first}
    merged |= {"replication": "all", **dict.fromkeys(INTERVALS, intervals)}
    merged |= _majority_fleet(rows)
    merged["warmup_found_requests"] = majority_fewest([row["warmup_found_requests"] for row in rows])
    merged["replications_for_5_percent"] = _suggested(flat, left_out)
    return {name: merged[name] for name in first}


def flatten(row: Row) -> dict[str, float]:
    """Numbers of a row by name, nested ones as `ttft_s.p95`; flags and texts left out.

    >>> flatten({"ttft_s": {"p95": 1.5}, "saturated": False, "gpu": "h200-sxm"})
    {'ttft_s.p95': 1.5}
    """
    return dict(_numbers((name, value) for name, value in row.items() if name not in NOT_AVERAGED))


def _numbers(items: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, float]]:
    for name, value in items:
        if isinstance(value, Mapping):
            yield from _numbers((f"{name}.{key}", nested) for key, nested in value.items())
        elif _is_number(value):
            yield name, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _merge(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if 2 * len(known) <= len(values):
        return None
    if isinstance(known[0], Mapping):
        keys = dict.fromkeys(key for value in known for key in value)
        return {key: _merge([value.get(key) for value in known]) for key in keys}
    if isinstance(known[0], list):
        return [name for name, seen in Counter(n for v in known for n in v).items() if 2 * seen > len(values)]
    if isinstance(known[0], bool):
        return 2 * sum(known) > len(values)
    if _is_number(known[0]):
        return known[0] if all(value == known[0] for value in known) else fmean(known)
    return Counter(known).most_common(1)[0][0]


def _intervals(flat: Sequence[Mapping[str, float]], left_out: Sequence[str]) -> dict[str, list[float]]:
    names = dict.fromkeys(n for numbers in flat for n in numbers if n.partition(".")[0] not in left_out)
    found = {name: t_interval([numbers[name] for numbers in flat if name in numbers]) for name in names}
    return {name: list(interval) for name, interval in found.items() if interval is not None}


def _suggested(flat: Sequence[Mapping[str, float]], left_out: Sequence[str]) -> dict[str, int] | None:
    """Replications for ±5 % of the figures that are sought; None with a single one, which tells no spread."""
    if len(flat) < 2:
        return None
    names = [name for name in SOUGHT if name.partition(".")[0] not in left_out]
    return suggested_replications({name: [numbers[name] for numbers in flat if name in numbers] for name in names})


def majority_fewest(counts: Sequence[int | None]) -> int | None:
    """Fewest replicas that hold in more than half of the replications; None where so many hold with none.

    >>> majority_fewest([3, 4, 4, None, 3])
    4
    >>> majority_fewest([3, None]) is None
    True
    """
    needed = len(counts) // 2 + 1
    known = sorted(count for count in counts if count is not None)
    return known[needed - 1] if len(known) >= needed else None


def _majority_fleet(rows: Sequence[Row]) -> Row:
    """A fleet is bought whole: its size is no mean, and what it costs follows from its size."""
    replicas = majority_fewest([row["replicas_for_offered"] for row in rows])
    names = ("gpus_for_offered", "usd_per_hour_for_offered")
    bought = next((row for row in rows if row["replicas_for_offered"] == replicas), None)
    if replicas is None or bought is None:
        return dict.fromkeys(("replicas_for_offered", *names))
    return {"replicas_for_offered": replicas, **{name: bought[name] for name in names}}
