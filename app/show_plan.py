"""A plan's answer on the screen."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.console import out_console

if TYPE_CHECKING:
    from rich.console import Console

    from scenarios.plan_file import LoadedPlan


def show_plan(loaded: "LoadedPlan", found: Mapping[str, Any], console: "Console | None" = None) -> None:
    """Print what came of a plan, by default to stdout."""
    from app.tables.figures import limits_of
    from app.tables.fleet import fleet_block, fleet_table
    from app.tables.plan import plan_lines, plan_table, plan_title, shown_points, source_of
    from app.tables.verdict import block, provenance_block

    console = console or out_console()
    limits = limits_of(loaded.scenario.slo)
    title = plan_title(loaded.name, offered(loaded), limits, loaded.plan)
    if shown_points(found):
        console.print(plan_table(found, limits, title))
    else:
        console.print(title, style="bold")
    console.print()
    console.print(block(plan_lines(found)))
    if loaded.plan.fleet is not None and found["fleet"] is not None:
        console.print()
        console.print(fleet_table(found["fleet"]))
        console.print()
        console.print(fleet_block(found["fleet"]))
    console.print(provenance_block(source_of(found)))


def offered(loaded: "LoadedPlan") -> str:
    """The load that is asked for.

    Users bring it in place of the workload's rate; a trace has its own.
    """
    from app.format import plural

    users, arrivals = loaded.plan.users, loaded.scenario.workload.arrivals
    if users is not None:
        return f"{plural(users.count, 'user')} who think for {users.think_s:g} s"
    rate = getattr(arrivals, "rate_per_s", None)
    return "the load of its trace" if rate is None else f"{rate:g} requests/s"
