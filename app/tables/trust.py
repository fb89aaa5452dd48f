"""What must be said of figures that cannot be trusted as they stand: too short, too few, too wide."""

from collections.abc import Iterator, Mapping, Sequence

from app.format import percent
from app.tables.figures import LATENCIES, Row

SHOWN = ("ttft_s.p50", "ttft_s.p95", "tpot_s.p50", "tpot_s.p95")
"""Percentiles that a table shows whatever the target says."""
WANTED = 0.05
"""Half-width of an interval, as a share of the figure, above which more replications are suggested."""
EDGE = 0.01
"""Share of the capacity by which its search may miss the load that a deployment just holds."""
MOST_SUGGESTED = 100
"""Replications beyond which longer ones are suggested."""

Note = tuple[str, str]
"""Deployments, and what is to be known of them."""


def trust_notes(rows: Sequence[Row], shown: Sequence[str] = SHOWN) -> Iterator[Note]:
    """Notes on rows over replications, each once, with the deployments that it is about."""
    yield from _warm_up(rows)
    yield from _too_few(rows, shown)
    yield from _too_wide(rows)
    yield from _beyond_measured(rows)
    edge = _named([row for row in rows if _at_the_edge(row)])
    if edge:
        yield edge, "the load is about all it holds: held says what most replications do, the capacity is their mean"
    fragile = _named([row for row in rows if row.get("holds_slo") and row.get("holds_if_slower") is False])
    if fragile:
        yield fragile, "holds as predicted, but no longer if steps are as slow as the model's error allows (95 %)"
    growing = _named([row for row in rows if row.get("saturated")])
    if growing:
        yield growing, "saturated: its latencies grow with the length of the run and have no mean; “> x” is this run's"


def _at_the_edge(row: Row) -> bool:
    """Whether the load is held above the mean capacity, or not held below it."""
    used: float | None = row.get("utilisation")
    if used is None or row.get("replication") == "estimate" or abs(used - 1.0) <= EDGE:
        return False
    return bool(row.get("holds_slo")) == (used > 1.0)


def _beyond_measured(rows: Sequence[Row]) -> Iterator[Note]:
    """Acceptance that nobody measured as far as it is used."""
    for text in dict.fromkeys("; ".join(row.get("extrapolated") or ()) for row in rows):
        if text:
            yield _named([row for row in rows if "; ".join(row.get("extrapolated") or ()) == text]), text


def _named(rows: Sequence[Row]) -> str:
    return ", ".join(dict.fromkeys(str(row["deployment"]) for row in rows))


def _warm_up(rows: Sequence[Row]) -> Iterator[Note]:
    short = [row for row in rows if row.get("warmup_too_short")]
    steady = [row["warmup_found_requests"] for row in short if row.get("warmup_found_requests") is not None]
    if not short:
        return
    if len(steady) == len(short):
        yield (
            _named(short),
            f"what is measured still warms up: steady from about request {max(steady):,.0f}; "
            "raise workload.horizon.warmup_requests",
        )
    else:
        yield _named(short), "no steady part was found: raise workload.horizon.requests and warmup_requests"


def _too_few(rows: Sequence[Row], shown: Sequence[str]) -> Iterator[Note]:
    found = [(row, name) for row in rows for name in row.get("too_few_samples") or () if name in shown]
    if not found:
        return
    names = dict.fromkeys(name for _, name in found)
    said = ", ".join(f"{LATENCIES[metric]} {percentile}" for metric, _, percentile in (n.partition(".") for n in names))
    yield (
        _named([row for row, _ in found]),
        f"{said} marked ~: fewer than ten measured samples lie beyond; raise workload.horizon.requests",
    )


def _too_wide(rows: Sequence[Row]) -> Iterator[Note]:
    """Figures that are known less well than wanted, and the replications that would do for all of them."""
    wide: dict[str, float] = {}
    names, needed = [], 0
    for row in rows:
        for name, number in (row.get("replications_for_5_percent") or {}).items():
            half = half_width(row, name)
            if half is not None and half > WANTED:
                wide[name] = max(wide.get(name, 0.0), half)
                names.append(row)
                needed = max(needed, number)
    if wide:
        said = ", ".join(f"{_words(name)} ±{percent(half)}" for name, half in wide.items())
        remedy = f"about {needed} replications would bring ±5 % (--seeds {needed})"
        if needed > MOST_SUGGESTED:
            remedy = "raise workload.horizon.requests, then replications"
        yield _named(names), f"{said} (95 % interval over the replications); {remedy}"


def _words(name: str) -> str:
    metric, _, percentile = name.partition(".")
    return f"{LATENCIES[metric]} {percentile}" if metric in LATENCIES else "capacity"


def half_width(row: Row, name: str) -> float | None:
    """Half of a figure's interval over the replications as a share of the figure; None without either.

    >>> half_width({"x": 10.0, "interval_of_replications": {"x": [9.0, 11.0]}}, "x")
    0.1
    """
    field, _, statistic = name.partition(".")
    value = row.get(field)
    value = value.get(statistic) if statistic and isinstance(value, Mapping) else value
    ends = (row.get("interval_of_replications") or {}).get(name)
    return (ends[1] - ends[0]) / 2 / abs(value) if ends and value else None
