"""Prometheus text: samples by name and labels, what changed between two scrapes, and engines kept apart."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from simulator.errors import ScenarioError

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')
WITHIN = ("position", "le", "quantile", "finished_reason")
"""Labels that part the samples of one engine."""

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Scrape:
    """Samples of one or two pasted /metrics texts."""

    samples: Mapping[tuple[str, Labels], float]
    lifetime: bool = True
    """Whether counters count from the server's start; False: between two scrapes."""

    def total(self, name: str) -> float | None:
        """Sum of a name (with or without `_total`) over its labels; None: it is not there."""
        found = [v for (n, _), v in self.samples.items() if n in (name, f"{name}_total")]
        return sum(found) if found else None

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """Sums of a counter by one of its labels."""
        sums: dict[str, float] = {}
        for (n, labels), value in self.samples.items():
            if n in (name, f"{name}_total"):
                key = dict(labels).get(label, "")
                sums[key] = sums.get(key, 0.0) + value
        return sums

    def names(self, ending: str) -> list[str]:
        """Names with this ending, `_total` not counted."""
        return sorted({n.removesuffix("_total") for n, _ in self.samples if n.removesuffix("_total").endswith(ending)})


def looks_like(text: str) -> bool:
    """Whether a text is a Prometheus exposition."""
    lines = [line for line in text.splitlines() if line.strip()][:20]
    return bool(lines) and all(line.startswith("#") or _SAMPLE.match(line.strip()) for line in lines[:3])


def parse(path: str, text: str) -> Scrape:
    """The samples of a pasted /metrics text."""
    samples: dict[tuple[str, Labels], float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.match(line.strip())
        if match is None:
            raise ScenarioError(f"{path}:{number}: not a Prometheus sample: {line.strip()[:60]!r}")
        name, labels, value = match.groups()
        key = name, _labels(path, number, labels or "")
        if key in samples:
            raise ScenarioError(f"{path}:{number}: {name} with the same labels stands twice: paste one scrape a file")
        samples[key] = _value(path, number, name, value)
    return Scrape(samples)


def _labels(path: str, number: int, text: str) -> Labels:
    found, end = [], 0
    while end < len(text):
        match = _LABEL.match(text, end)
        if match is None:
            raise ScenarioError(f'{path}:{number}: labels are not name="value" pairs: {text[:60]!r}')
        found.append((match[1], match[2]))
        end = match.end()
    return frozenset(found)


def _value(path: str, number: int, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ScenarioError(f"{path}:{number}: {name}: {text!r} is not a number") from None


def between(first: Scrape, second: Scrape, where: str) -> Scrape:
    """What counters counted from the first scrape to the second; gauges are those of the second."""
    counters = {}
    for (name, labels), value in second.samples.items():
        counted = name.endswith(("_total", "_count", "_sum", "_bucket"))
        before = first.samples.get((name, labels), 0.0)
        if counted and value < before:
            raise ScenarioError(
                f"{where}: {name} falls from {before:g} to {value:g}: the server was restarted in between, or the "
                "files are in the wrong order"
            )
        counters[name, labels] = value - before if counted else value
    return Scrape(counters, lifetime=False)


def chosen(scrape: Scrape, ending: str, labels: Mapping[str, str], *, add: bool, where: str) -> Scrape:
    """The samples of one engine; several must be told apart by labels, or be added up on purpose."""
    kept = {
        key: value
        for key, value in scrape.samples.items()
        if all(dict(key[1]).get(name) == wanted for name, wanted in labels.items()) and isfinite(value)
    }
    engines = _engines(kept, ending)
    everyone = _engines(scrape.samples, ending)
    named = "; ".join(", ".join(f"{k}={v}" for k, v in engine) or "no labels" for engine in sorted(everyone))
    if everyone and not engines:
        wanted = ", ".join(f"{name}={value}" for name, value in labels.items())
        raise ScenarioError(f"{where}: no counters with --label {wanted}; there are: {named}")
    if len(engines) > 1 and not add:
        raise ScenarioError(
            f"{where}: counters of {len(engines)} engines ({named}): choose one with --label NAME=VALUE, or add them "
            "up with --sum"
        )
    return Scrape(kept, scrape.lifetime)


def _engines(samples: Iterable[tuple[str, Labels]], ending: str) -> set[tuple[tuple[str, str], ...]]:
    """The label sets of the samples with this ending, less the labels that part one engine's samples."""
    return {
        tuple(sorted((k, v) for k, v in labels if k not in WITHIN))
        for name, labels in samples
        if name.removesuffix("_total").endswith(ending)
    }
