"""Where a number comes from: how it was found, whose price, which profile and how wrong that has been."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.dashboard.estimates import Answer
from app.format import percent, plural, usd
from app.report.markup import Markup, tag

ESTIMATED = (
    "From formulas of the steady state; as exact as the profile's held-out error, without bursts and transients."
)
SIMULATED = "Simulated request by request and step by step; ± is half of a 95 % interval over replications."
STALE = "The scenario has changed since this was simulated."


def badge(text: str, tone: str, says: str) -> Markup:
    """A small label; what it means is its title."""
    return tag("span", text, class_=f"sf-badge sf-{tone}", title=says)


def method(answer: Answer) -> Markup:
    """How the numbers were found."""
    if answer.method == "estimated":
        return badge("estimated", "estimated", ESTIMATED)
    return badge(f"simulated ({plural(answer.scenario.replications, 'seed')})", "simulated", SIMULATED)


def stale() -> Markup:
    """That a number is of an earlier scenario."""
    return badge("stale", "stale", STALE)


def origins(provenance: Mapping[str, Any]) -> Markup:
    """Prices with source and date, profiles with their held-out error."""
    return tag("p", *_spaced([*_prices(provenance), *_profiles(provenance)]), class_="sf-origins")


def _spaced(badges: list[Markup]) -> Iterator[Markup]:
    for one in badges:
        yield one
        yield Markup(" ")


def _prices(provenance: Mapping[str, Any]) -> Iterator[Markup]:
    found: dict[str, str] = {}
    for price in (provenance.get("prices") or {}).values():
        basis = str(price.get("basis", "")).replace("_", " ")
        text = f"{usd(price.get('usd_per_gpu_hour'))}/GPU-hour · {basis} · {price.get('as_of')}"
        found.setdefault(text, str(price.get("source")))
    for text, source in found.items():
        yield badge(text, "price", f"Price: {source}")


def _profiles(provenance: Mapping[str, Any]) -> Iterator[Markup]:
    yield from dict.fromkeys(map(_profile, (provenance.get("calibration") or {}).values()))


def _profile(known: Mapping[str, Any]) -> Markup:
    if not known.get("profile"):
        return badge("uncalibrated", "stale", "No measured profile of this GPU and engine: catalog efficiencies.")
    errors = [group["tpot"]["median_ape"] for group in known.get("held_out") or () if group.get("tpot")]
    said = f" · held-out TPOT error {percent(max(errors))}" if errors else " · never judged"
    basis = (known.get("error") or {}).get("basis") or "no left-out rows"
    return badge(f"{known['profile']}{said}", "profile", f"Measured profile of {known.get('date')}; judged on {basis}")
