"""The figures of a result row, in groups, each as the text of a cell.

Knows rows as plain mappings: what a row lacks is shown as absent, never guessed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.format import (
    ABSENT,
    count,
    duration,
    gigabytes,
    percent,
    plural,
    plus_minus,
    significant,
    usd,
)
from app.format import limit as limit_text

Row = Mapping[str, Any]
Limits = Mapping[str, Mapping[str, float]]
"""Metric → percentile → limit [s]."""

LATENCIES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "itl_s": "ITL", "e2e_s": "E2E"}
"""Metric → how a table calls it."""
ALWAYS = {"ttft_s": ("p50", "p95"), "tpot_s": ("p50", "p95"), "itl_s": (), "e2e_s": ()}
PERCENTILES = ("p50", "p90", "p95", "p99")

VIOLATED = "✗"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text, and whether it is bad news or good."""

    text: str
    tone: str = ""
    """`bad`, `good`, or nothing."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the comparison."""

    label: str
    show: Callable[[Row], Cell]


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that belong together."""

    title: str
    figures: tuple[Figure, ...]


def limits_of(slo: Any) -> Limits:
    """Limits of a scenario's SLO by metric; empty without one."""
    return {} if slo is None else {metric: of for metric, of in slo.model_dump().items() if of}


def groups(limits: Limits) -> list[Group]:
    """All figures of the comparison under an SLO."""
    return [
        Group(
            "",
            (
                Figure("GPUs", gpus),
                Figure("fits", fits),
                Figure("drafts", drafts),
                Figure("draft weights", draft_weights),
            ),
        ),
        Group("Capacity", (Figure(_capacity_label(limits), capacity), Figure("offered ÷ capacity", utilisation))),
        Group("At the offered load", tuple(_at_load(limits))),
        Group("Cost", _COST),
        Group("", (Figure("bound by", bound_by),)),
    ]


def _capacity_label(limits: Limits) -> str:
    return "requests/s within the SLO" if limits else "requests/s before saturation"


def _at_load(limits: Limits) -> Iterator[Figure]:
    yield Figure("offered requests/s", _number("offered_req_per_s"))
    yield Figure("served requests/s", _number("req_per_s"))
    yield Figure("output tokens/s", _number("output_tokens_per_s"))
    for metric in LATENCIES:
        for percentile in PERCENTILES:
            if percentile in ALWAYS[metric] or percentile in limits.get(metric, {}):
                yield latency_figure(metric, percentile, limits)
    yield Figure("tokens per step", tokens_per_step)
    yield Figure("draft tokens accepted", _of("acceptance_rate", percent))
    yield Figure("draft ÷ target, FLOPs", _of("draft_flops_ratio", significant))
    yield Figure("draft ÷ target, latency", _of("draft_latency_ratio", significant))
    yield Figure("mean batch", _number("mean_batch"))
    yield Figure("KV use, mean / peak", kv_use)
    yield Figure("preemptions", _some("preemptions"))
    yield Figure("requests rejected", _some("rejected_requests"))
    yield Figure("outputs cut short", _some("truncated_requests"))
    if limits:
        yield Figure("good requests", _of("slo_attainment", percent))
    yield Figure("SLO held" if limits else "load held", holds)


def targets(limits: Limits) -> list[str]:
    """The latencies that are asked for, in words."""
    return [
        f"{LATENCIES[metric]} {name} ≤ {limit_text(most)}" for metric, of in limits.items() for name, most in of.items()
    ]


def latency_figure(metric: str, percentile: str, limits: Limits, *, short: bool = False) -> Figure:
    """A percentile of a latency, marked where it is over its limit, of too few samples, or of a saturated run."""
    limit = limits.get(metric, {}).get(percentile)
    label = f"{LATENCIES[metric]} {percentile}" + ("" if limit is None else f" ≤ {limit_text(limit)}")

    def show(row: Row) -> Cell:
        value = (row.get(metric) or {}).get(percentile)
        text = _trusted(row, f"{metric}.{percentile}", value, short=short)
        if value is not None and limit is not None and value > limit:
            return Cell(f"{text} {VIOLATED}", "bad")
        return Cell(text)

    return Figure(label, show)


def _trusted(row: Row, name: str, value: float | None, *, short: bool) -> str:
    """A latency: of a saturated run a value that it passed, of too few samples with a sign for about."""
    if value is None:
        return ABSENT
    if row.get("saturated"):
        return f"> {duration(value)}" if short else f"> {duration(value)} (grows)"
    return f"~{duration(value)}" if name in (row.get("too_few_samples") or ()) else duration(value)


def shown_percentiles(limits: Limits) -> list[str]:
    """Latencies that a table shows, as `ttft_s.p95`."""
    return [f"{m}.{p}" for m in LATENCIES for p in PERCENTILES if p in ALWAYS[m] or p in limits.get(m, {})]


def gpus(row: Row) -> Cell:
    """How many of which GPU."""
    number, own = row.get("num_gpus"), row.get("draft_gpus") or 0
    if number is None:
        return Cell(str(row.get("gpu", ABSENT)))
    of_targets = f"{count(number - own)} × {row.get('gpu', '?')}"
    return Cell(f"{of_targets} + {count(own)} × {row.get('draft_gpu')}" if own else of_targets)


def drafts(row: Row) -> Cell:
    """How the deployment speculates, in as few letters as a column has."""
    said = row.get("speculation")
    return Cell(ABSENT if said is None else str(said).replace("chain of ", "K="))


def draft_weights(row: Row) -> Cell:
    """Weights of its drafts on a GPU; nothing where they have none."""
    held = row.get("draft_bytes")
    return Cell(gigabytes(held) if held else ABSENT)


def fits(row: Row) -> Cell:
    """Whether the deployment fits into its GPUs."""
    return Cell("yes") if row.get("fits", True) else Cell(f"no {VIOLATED}", "bad")


def holds(row: Row) -> Cell:
    """Whether the offered load is held; saturation is said first."""
    if row.get("saturated"):
        return Cell(f"saturated {VIOLATED}", "bad")
    held = row.get("holds_slo")
    if held is None or not row.get("fits", True):
        return Cell(ABSENT)
    return Cell("yes ✓", "good") if held else Cell(f"no {VIOLATED}", "bad")


def capacity(row: Row) -> Cell:
    """Capacity with its interval."""
    return Cell(plus_minus(row.get("capacity_req_per_s"), _interval(row, "capacity_req_per_s")))


def utilisation(row: Row) -> Cell:
    """Offered load as a share of the capacity."""
    value = row.get("utilisation")
    return Cell(percent(value), "bad" if value is not None and value > 1 else "")


def tokens_per_step(row: Row) -> Cell:
    """Mean committed tokens of a step, with the draft tokens proposed for them."""
    drafted, value = row.get("draft_tokens_mean"), row.get("tokens_per_step")
    said = "K =" if "chain" in str(row.get("speculation", "chain")) else "drafted"
    return Cell(significant(value) + (f" ({said} {significant(drafted, 2)})" if drafted and value is not None else ""))


def kv_use(row: Row) -> Cell:
    """Mean and largest share of the KV cache in use."""
    mean, peak = row.get("kv_utilisation_mean"), row.get("kv_utilisation_max")
    return Cell(percent(mean) if peak is None else f"{percent(mean)} / {percent(peak)}")


def fleet(row: Row) -> Cell:
    """Replicas and GPUs that hold the offered load."""
    replicas, num_gpus = row.get("replicas_for_offered"), row.get("gpus_for_offered")
    if replicas is None:
        return Cell(ABSENT)
    return Cell(
        plural(round(replicas), "replica") + ("" if num_gpus is None else f", {plural(round(num_gpus), 'GPU')}")
    )


def bound_by(row: Row) -> Cell:
    """What binds, in words."""
    return Cell(bound_words(row))


def bound_words(row: Row) -> str:
    """What binds a deployment, without shares."""
    name = row.get("bound_by")
    return ABSENT if not name else BOUND_WORDS.get(name, str(name).replace("_", " "))


BOUND_WORDS = {
    "kv_capacity": "KV capacity",
    "max_num_seqs": "max_num_seqs",
    "token_budget": "token budget",
    "nothing": "nothing: load is low",
}
"""What binds → how a table says it, where that is not the name itself."""


def _interval(row: Row, name: str) -> Sequence[float] | None:
    found: Sequence[float] | None = (row.get("interval") or {}).get(name)
    return found


def _number(name: str) -> Callable[[Row], Cell]:
    return lambda row: Cell(plus_minus(row.get(name), _interval(row, name)))


def _of(name: str, show: Callable[[float | None], str]) -> Callable[[Row], Cell]:
    return lambda row: Cell(show(row.get(name)))


def _some(name: str) -> Callable[[Row], Cell]:
    """A count that is only worth a line where it is not 0."""
    return lambda row: Cell(significant(row[name]), "bad") if row.get(name) else Cell(ABSENT)


def _dollars(name: str) -> Callable[[Row], Cell]:
    return lambda row: Cell(plus_minus(row.get(name), _interval(row, name), usd))


_COST = (
    Figure("per hour as described", _of("usd_per_hour", usd)),
    Figure("fleet for the offered load", fleet),
    Figure("per hour of that fleet", _of("usd_per_hour_for_offered", usd)),
    Figure("per M output tokens", _dollars("usd_per_million_output_tokens")),
    Figure("per M input tokens", _dollars("usd_per_million_input_tokens")),
    Figure("per M total tokens", _dollars("usd_per_million_total_tokens")),
    Figure("per M output, at capacity", _dollars("usd_per_million_output_tokens_at_capacity")),
)


def _held_shortly(row: Row) -> Cell:
    if not row.get("fits", True):
        return Cell(f"no fit {VIOLATED}", "bad")
    cell = holds(row)
    return Cell(cell.text.replace("saturated", "sat."), cell.tone)


def short_figures(limits: Limits) -> tuple[Figure, ...]:
    """Columns where each deployment is a line; labels are cut where a header may be."""
    return (
        Figure("GPUs", lambda row: Cell(gpus(row).text.replace(" × ", "×"))),
        Figure("held", _held_shortly),
        Figure("capacity\nreq/s", _of("capacity_req_per_s", significant)),
        Figure("TTFT\np95", latency_figure("ttft_s", "p95", limits, short=True).show),
        Figure("TPOT\np95", latency_figure("tpot_s", "p95", limits, short=True).show),
        Figure("tokens/\nstep", _of("tokens_per_step", significant)),
        Figure("GPUs for\nthe load", _of("gpus_for_offered", count)),
        Figure("$/h\nof them", _of("usd_per_hour_for_offered", usd)),
        Figure("$/M out at\ncapacity", _of("usd_per_million_output_tokens_at_capacity", usd)),
        Figure("bound by", bound_by),
    )
