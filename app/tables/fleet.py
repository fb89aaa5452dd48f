"""What a plan's clusters cost a month, on the screen: by contract, by the hours of a day, and a batch job."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.format import ABSENT, count, cut, duration, percent, plural, significant, usd
from app.tables.economics import Line
from app.tables.plan import STAR

if TYPE_CHECKING:
    from rich.table import Table

MIXES = {
    "on_demand_always": "on demand,\nalways",
    "on_demand_by_hour": "on demand,\nby the hour",
    "reserved_always": "reserved,\nalways",
    "reserved_and_on_demand": "reserved +\non demand",
    "on_demand_and_spot": "on demand\n+ spot",
    "reserved_and_spot": "reserved\n+ spot",
}
"""Mix of contracts → its heading: what is paid in every hour, and what the other hours take."""

LONGEST = 160
"""Characters of a price and its source; `--json` has all."""

Found = Mapping[str, Any]
"""What `fleet_view` tells."""


def fleet_table(found: Found) -> "Table":
    """A line a cluster, a column a mix of contracts that its GPUs have."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text("A month of it"), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, header_style="bold", padding=(0, 1, 0, 0),
    )  # fmt: skip
    table.add_column("cluster", overflow="fold")
    users = any(row["users_served"] is not None for row in found["rows"])
    for heading in ("idle", *(["users"] if users else []), *(MIXES[name] for name in mixes_of(found))):
        table.add_column(heading, justify="right")
    for row in found["rows"]:
        served = [count(row["users_served"])] if users else []
        table.add_row(row["name"], percent(row["idle_share"]), *served, *cells(row, mixes_of(found)))
    return table


def mixes_of(found: Found) -> list[str]:
    """Mixes that any cluster has."""
    there = {mix["name"] for row in found["rows"] for mix in row["mixes"]}
    flat = all(len(set(row["replicas_by_hour"])) == 1 for row in found["rows"])
    return [
        name for name in MIXES if name in there and not (flat and name not in ("on_demand_always", "reserved_always"))
    ]


def cells(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """What each mix costs a month; in brackets the replicas that are paid in every hour."""
    by_name = {mix["name"]: mix for mix in row["mixes"]}
    cheapest = min((by_name[name]["usd_per_month"] for name in names if name in by_name), default=None)
    return [_cell(by_name.get(name), cheapest) for name in names]


def _cell(mix: Mapping[str, Any] | None, cheapest: float | None) -> str:
    if mix is None:
        return ABSENT
    star = f" {STAR}" if mix["usd_per_month"] == cheapest else ""
    return f"{usd(mix['usd_per_month'])} ({mix['base_replicas']}){star}"


def fleet_lines(found: Found) -> Iterator[Line]:
    """Label, text and style of each sentence below."""
    least = min(found["load_by_hour"])
    if least < 1.0:
        yield (
            "Hours",
            f"the quietest brings {percent(least)} of the busiest; in brackets: replicas paid in every hour",
            "",
        )
    if found["job"] is not None:
        yield "Job", job_said(found["job"]), ""
    for contract, prices in found["prices"].items():
        for gpu, price in prices.items():
            said = f"{usd(price['usd_per_gpu_hour'])} per GPU-hour of {gpu}, {price['as_of']} ({price['source']})"
            yield "Price", cut(f"{contract.replace('_', ' ')}: {said}", LONGEST), "dim"
    yield from (("Assumed", text, "dim") for text in found["assumptions"])


def job_said(job: Mapping[str, Any]) -> str:
    """Where a batch job costs least, and what it costs on the other GPUs."""
    asked = f"{count(job['requests'])} requests within {significant(job['within_hours'])} h"
    if not job["rows"]:
        return f"{asked}: no candidate fits"
    first, *others = job["rows"]
    said = f"{asked}: {_job_on(first)}"
    return said + "".join(f"; {_job_on(row)}" for row in others)


def _job_on(row: Mapping[str, Any]) -> str:
    return (
        f"{usd(row['usd'])} {row['contract'].replace('_', ' ')} on {plural(row['num_gpus'], 'GPU')} of {row['gpu']} in "
        f"{duration(row['hours'] * 3600.0)} ({row['name']})"
    )


def fleet_block(found: Found) -> "Table":
    """The sentences below the table."""
    from app.tables.verdict import block

    return block(fleet_lines(found))
