"""Below the table: who wins, why, what turns it round, and where the numbers come from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from app.format import cut, low_high, percent, plural, significant, times, usd
from app.tables.drafts import draft_notes, several_notes
from app.tables.economics import Line, economics_lines
from app.tables.figures import Row
from app.tables.trust import SHOWN, trust_notes

BASES = {
    "usd_per_hour_for_offered": ("/h for the fewest replicas that hold the offered load", "at the offered load"),
    "usd_per_million_output_tokens_at_capacity": (" per million output tokens at capacity", "at capacity"),
}
"""Field by which deployments are ranked → what its dollars are for, and a name of the basis."""

MOST_ASSUMPTIONS = 6
LONGEST_ASSUMPTION = 200


def verdict_block(comparison: Mapping[str, Any], economics: Sequence[Mapping[str, Any]] = ()) -> Table:
    """The comparison of one point in sentences, and when drafts have paid back where their cost is given."""
    return block([*verdict_lines(comparison), *economics_lines(economics)])


def point_block(
    comparison: Mapping[str, Any], rows: Sequence[Row], economics: Sequence[Mapping[str, Any]] = ()
) -> Table:
    """Why the leader of one point of a sweep leads, how several drafts do beside single ones, when drafts pay back."""
    why = [line for line in verdict_lines(comparison) if line[0] == "Why"]
    several = [("Drafts", f"{name}: {text}", "dim") for name, text in several_notes(rows)]
    return block([*why, *several, *economics_lines(economics)])


def verdict_lines(comparison: Mapping[str, Any]) -> Iterator[Line]:
    """Label, sentence and style of each line of a verdict."""
    if "by_load" not in comparison:
        yield _over_sweep(comparison)
    else:
        yield _winner(comparison)
        if comparison.get("why") and comparison.get("leader"):
            yield "Why", str(comparison["why"]), ""
    flip = comparison.get("flip")
    if flip:
        yield "Flips", str(flip["sentence"] if isinstance(flip, Mapping) else flip), ""
    yield from _other_basis(comparison)
    if comparison.get("disagree"):
        yield "But", f"the two bases disagree: {comparison['disagree']}", "yellow"
    for name, reason in (comparison.get("unable") or {}).items():
        yield "Out", f"{name}: {reason}", "red"


def _over_sweep(comparison: Mapping[str, Any]) -> Line:
    leader, why = comparison.get("leader"), str(comparison.get("why"))
    return "Winner", f"{leader}: {why}" if leader else why, "bold green" if leader else "bold"


def _winner(comparison: Mapping[str, Any]) -> Line:
    leader, runner_up, basis = (comparison.get(name) for name in ("leader", "runner_up", "basis"))
    if leader is None:
        return "Winner", str(comparison.get("why") or "none: no deployment has a cost to compare"), "bold red"
    what, _ = BASES.get(str(basis), (f" ({basis})", ""))
    costs = _costs(comparison, basis)
    price = f"{usd(costs.get(leader))}{what}" if leader in costs else what.strip(" /")
    if runner_up is None:
        return "Winner", f"{leader}, alone: {price}", "bold green"
    if comparison.get("close_call"):
        return "Winner", f"too close to call: {_chance(comparison)}{_ratio(comparison)}; {leader}: {price}", "bold"
    against = f"{times(comparison.get('ratio'))} cheaper than {runner_up}{_interval(comparison)}"
    return "Winner", f"{leader}: {price}; {against}", "bold green"


def _costs(comparison: Mapping[str, Any], basis: Any) -> Mapping[str, float]:
    for name in ("by_load", "by_capacity"):
        ranking = comparison.get(name) or {}
        if ranking.get("basis") == basis:
            costs: Mapping[str, float] = ranking.get("costs") or {}
            return costs
    return {}


def _chance(comparison: Mapping[str, Any]) -> str:
    """Leader and runner-up, with the chance that the first is cheaper, where that is known."""
    leader, runner_up, chance = (comparison.get(name) for name in ("leader", "runner_up", "confidence"))
    if chance is None or comparison.get("ratio") == 1:
        return f"{leader} against {runner_up}, "
    return f"{leader} is cheaper than {runner_up} with a chance of {percent(chance)}, "


def _ratio(comparison: Mapping[str, Any]) -> str:
    if comparison.get("ratio") == 1:
        return "which cost the same"
    return f"cost ratio {significant(comparison.get('ratio'))}{_interval(comparison)}"


def _interval(comparison: Mapping[str, Any]) -> str:
    ends = comparison.get("interval")
    return f" (95 % interval {low_high(ends)})" if ends else ""


def _other_basis(comparison: Mapping[str, Any]) -> Iterator[Line]:
    """The ranking that was not chosen, in one line."""
    for name in ("by_load", "by_capacity"):
        ranking = comparison.get(name) or {}
        costs = ranking.get("costs") or {}
        if not costs or ranking.get("basis") == comparison.get("basis"):
            continue
        what, where = BASES.get(str(ranking["basis"]), ("", str(ranking["basis"])))
        listed = " · ".join(f"{deployment} {usd(cost)}" for deployment, cost in list(costs.items())[:MOST_ASSUMPTIONS])
        close = "; too close to call" if ranking.get("close_call") else ""
        yield where.capitalize(), f"{listed}{what}{close}", ""


def notes_block(rows: Sequence[Row], shown: Sequence[str] = SHOWN) -> Table | None:
    """What is to be known of single figures; None where there is nothing."""
    lines = [("Note", f"{names}: {text}", "dim") for names, text in notes(rows, shown)]
    return block(lines) if lines else None


def notes(rows: Sequence[Row], shown: Sequence[str] = SHOWN) -> Iterator[tuple[str, str]]:
    """Deployments, and what the searches and the statistics have to say of them."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for name in ("capacity_note", "fleet_note"):
            if row.get(name):
                found.setdefault(str(row[name]), []).append(str(row["deployment"]))
    yield from ((", ".join(dict.fromkeys(names)), text) for text, names in found.items())
    yield from draft_notes(rows)
    yield from trust_notes(rows, shown)


def provenance_block(provenance: Mapping[str, Any]) -> Table:
    """Where the numbers come from."""
    return block(provenance_lines(provenance))


def provenance_lines(provenance: Mapping[str, Any]) -> Iterator[Line]:
    """Profile, seeds, prices, assumptions."""
    parts = [str(provenance[name]) for name in ("profile",) if provenance.get(name)]
    if provenance.get("seed") is not None:
        parts.append(f"seed {provenance['seed']}")
    if provenance.get("replications"):
        parts.append(plural(int(provenance["replications"]), "replication"))
    if provenance.get("version") not in (None, "", "not installed"):
        parts.append(f"specfleet {provenance['version']}")
    yield "Source", " · ".join(parts), "dim"
    for said, names in error_lines(provenance.get("calibration") or {}).items():
        yield "Error", f"{', '.join(names)}: {said}", "dim"
    for price, names in price_lines(provenance.get("prices") or {}).items():
        yield "Price", f"{', '.join(names)}: {price}", "dim"
    assumptions = _assumptions(provenance.get("assumptions") or ())
    for text in assumptions[:MOST_ASSUMPTIONS]:
        yield "Assumed", cut(text, LONGEST_ASSUMPTION), "dim"
    if len(assumptions) > MOST_ASSUMPTIONS:
        yield "", f"… and {len(assumptions) - MOST_ASSUMPTIONS} more: --json has all of them in full", "dim"


def _assumptions(texts: Sequence[str]) -> list[str]:
    """Each assumption once, the scenario's own (a deployment's name before the colon) first."""
    own: dict[str, list[str]] = {}
    catalog: dict[str, None] = {}
    for text in texts:
        name, _, what = text.partition(": ")
        if "/" in name:
            catalog[text] = None
        else:
            own.setdefault(what, []).append(name)
    return [f"{', '.join(dict.fromkeys(names))}: {what}" for what, names in own.items()] + list(catalog)


def error_lines(calibration: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is known of the error of the step model → the deployments that it is of.

    calibration: of a report's provenance, by deployment.
    """
    found: dict[str, list[str]] = {}
    for name, of in calibration.items():
        error = of.get("error")
        why = "none of its profile's left-out rows tell of it" if of.get("profile") else "no measured profile"
        text = f"not known: {why}, so intervals hold what the replications tell and no more"
        if error:
            factors = f"step times to a factor of {error['tpot_factor']:.2f}, TTFT of {error['ttft_factor']:.2f}"
            text = f"{factors} (95 %), from {error['basis']}; it is part of every interval"
        found.setdefault(text, []).append(name)
    return found


def price_lines(prices: Mapping[str, Any]) -> dict[str, list[str]]:
    """A price with basis, date and source → the deployments that pay it.

    prices: of a report's provenance, by deployment.
    """
    found: dict[str, list[str]] = {}
    for name, price in prices.items():
        basis = str(price.get("basis", "")).replace("_", " ")
        text = (
            f"{usd(price.get('usd_per_gpu_hour'))} per GPU-hour, {basis}, {price.get('as_of')} ({price.get('source')})"
        )
        found.setdefault(text, []).append(name)
    return found


def asserts_block(results: Sequence[Any]) -> Table:
    """A line per assertion: held or not, with the two numbers."""
    return block(
        (
            "✓" if result.ok else "✗",
            f"{result.text}   ({_number(result.left)} against {_number(result.right)})",
            "green" if result.ok else "bold red",
        )
        for result in results
    )


def _number(value: float | None) -> str:
    return "no such number" if value is None else f"{value:,.5g}"


def block(lines: Iterable[Line]) -> Table:
    """Labelled sentences: label, text and style of each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text, style in lines:
        table.add_row(Text(label, style="bold" if not style.startswith("dim") else "dim"), Text(text, style=style))
    return table
