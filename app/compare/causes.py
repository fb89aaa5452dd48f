"""What explains a figure that changed: parts of the logarithm of its ratio, the largest first.

A sum that changed, such as TTFT = waiting + the rest, is split by logarithmic means, so that its parts add up to the
logarithm of its ratio exactly; a product by the logarithms of its factors. Parts are of means at the offered load, and
the figure may be a percentile or a capacity: they say which way and how much roughly, not to the digit.

Ang, LMDI decomposition approach, Energy Policy 86, 2015, eq. 8.
"""

from collections.abc import Iterator, Mapping
from math import log
from typing import Any, NamedTuple

from app.format import duration, percent, significant, usd

Row = Mapping[str, Any]

CAUSES = {
    "linear": "linear layers", "experts": "experts", "attention": "attention", "prefill_attention": "prompt attention",
    "collectives": "collectives", "sampling": "sampling", "overhead": "host time", "draft": "draft",
}  # fmt: skip

CONTEXT = (
    ("replicas", "replicas", significant),
    ("offered_req_per_s", "offered requests/s", significant),
    ("mean_batch", "batch", significant),
    ("kv_utilisation_mean", "KV use", percent),
    ("preemptions", "preemptions", significant),
)
"""What else moved: field, words, how it is shown."""

NOTICED = 0.05
"""Share by which what else moved is worth a word."""


class Part(NamedTuple):
    """A part of why a figure changed."""

    cause: str
    effect: float
    """Its part of the logarithm of the figure's ratio; above 0 it makes the figure larger."""
    text: str


def log_mean(first: float, second: float) -> float:
    r"""Logarithmic mean of two positive numbers.

    .. math:: L(x, y) = (y - x) / \ln(y / x)

    first, second: x and y. [any unit]

    >>> log_mean(2.0, 2.0)
    2.0
    """
    return first if abs(second / first - 1) < 1e-12 else (second - first) / log(second / first)


def parts_of(name: str, first: Row, second: Row) -> list[Part]:
    """Parts of the change of a figure, the largest first."""
    of = {"ttft_s": _ttft, "tpot_s": _tpot, "capacity_req_per_s": _capacity}
    found = of.get(name.partition(".")[0], _cost)(first, second)
    return sorted(found, key=lambda part: -abs(part.effect))


def _ttft(first: Row, second: Row) -> Iterator[Part]:
    """Waiting for the first step, by Little's law, and the steps that compute the prompt."""
    totals = [row["ttft_s"]["mean"] for row in (first, second)]
    if not all(totals):
        return
    waits = [
        min((row["queue_mean"] or 0.0) / (row["req_per_s"] or 1.0), t)
        for row, t in zip((first, second), totals, strict=True)
    ]
    mean = log_mean(*totals)
    more = "more queueing" if waits[1] > waits[0] else "less queueing"
    yield Part("queueing", (waits[1] - waits[0]) / mean, f"{more} (waits {duration(waits[0])} → {duration(waits[1])})")
    rests = [total - wait for total, wait in zip(totals, waits, strict=True)]
    longer = "longer" if rests[1] > rests[0] else "shorter"
    yield Part("prompt", (rests[1] - rests[0]) / mean,
               f"{longer} prompt steps ({duration(rests[0])} → {duration(rests[1])})")  # fmt: skip


def _tpot(first: Row, second: Row) -> Iterator[Part]:
    yield from _step(first, second, 1)
    yield from _factor("tokens_per_step", "tokens per step", first, second, -1)


def _capacity(first: Row, second: Row) -> Iterator[Part]:
    yield from _factor("replicas", "replicas", first, second, 1)
    yield from _step(first, second, -1)
    yield from _factor("tokens_per_step", "tokens per step", first, second, 1)
    yield from _factor("output_tokens_per_request", "output tokens a request", first, second, -1)


def _cost(first: Row, second: Row) -> Iterator[Part]:
    """Price × GPUs ÷ (capacity × output tokens a request)."""
    if first["usd_per_gpu_hour"] != second["usd_per_gpu_hour"]:
        said = f"GPU-hour {usd(first['usd_per_gpu_hour'])} → {usd(second['usd_per_gpu_hour'])}"
        yield Part("price", log(second["usd_per_gpu_hour"] / first["usd_per_gpu_hour"]), said)
    yield from _factor("num_gpus", "GPUs", first, second, 1)
    yield from _factor("capacity_req_per_s", "capacity in requests/s", first, second, -1)
    yield from _factor("output_tokens_per_request", "output tokens a request", first, second, -1)


def _factor(field: str, words: str, first: Row, second: Row, sign: int) -> Iterator[Part]:
    one, other = first.get(field), second.get(field)
    if one and other and one != other:
        yield Part(field, sign * log(other / one), f"{words} {significant(one)} → {significant(other)}")


def _step(first: Row, second: Row, sign: int) -> Iterator[Part]:
    """The cost of a mean step, by cause."""
    steps = [float(row.get("step_s") or 0.0) for row in (first, second)]
    if not all(steps):
        return
    mean = log_mean(*steps)
    for cause, words in CAUSES.items():
        one, other = (
            step * ((row.get("step_time_share") or {}).get(cause) or 0.0)
            for row, step in zip((first, second), steps, strict=True)
        )
        if one != other:
            yield Part(
                f"step {cause}", sign * (other - one) / mean, f"{words} {duration(one)} → {duration(other)} a step"
            )


def context(first: Row, second: Row) -> list[str]:
    """What else moved: GPU, replicas, load, batch, KV, preemptions, what binds."""
    said = [f"{first['gpu']} → {second['gpu']}"] if first["gpu"] != second["gpu"] else []
    for field, words, show in CONTEXT:
        one, other = first.get(field), second.get(field)
        if one is not None and other is not None and abs(other - one) > NOTICED * max(abs(one), abs(other)):
            said.append(f"{words} {show(one)} → {show(other)}")
    if first.get("bound_by") != second.get("bound_by"):
        said.append(f"bound by {_words(first)} → {_words(second)}")
    return said


def _words(row: Row) -> str:
    return str(row.get("bound_by") or "nothing").replace("_", " ")
