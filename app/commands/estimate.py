"""`specfleet estimate`: the comparison from the steady state, in milliseconds."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.sensitivity import Asked, Bursts, Draws, Sensitivity, Within, show_sensitivity
from app.options import Debug, File, Jobs, Json, Quiet, Sets

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario

WhenToSpeculate = Annotated[
    bool,
    typer.Option(
        "--surface",
        help="Instead: when each draft pays, by sequences in flight, acceptance and cost of its passes.",
    ),
]


def estimate(
    file: File,
    as_json: Json = False,
    sets: Sets = None,
    surface: WhenToSpeculate = False,
    sensitivity: Sensitivity = False,
    draws: Draws = None,
    within: Within = None,
    bursts: Bursts = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare deployments in milliseconds, by the steady state.

    \b
    Examples:
      specfleet estimate h200_vs_b200_chat
      specfleet estimate chat.yaml --set deployments.h200.replicas=4 --json
      specfleet estimate chat.yaml --surface
      specfleet estimate chat.yaml --sensitivity --within rate=0.5..2
    """
    from app.console import print_json
    from app.estimates import estimated
    from app.loading import load
    from app.results import exit_code
    from app.show import show

    varied = sensitivity or bool(within) or bursts
    if surface and varied:
        raise typer.BadParameter("shows no sensitivity: ask for one of the two", param_hint="--surface")
    if draws is not None and not varied:
        raise typer.BadParameter("draws for a sensitivity: add --sensitivity", param_hint="--draws")
    loaded = load(file, sets or ())
    if surface:
        show_surfaces(loaded, as_json=as_json)
        return
    if varied:
        show_sensitivity(loaded, Asked(draws, within or (), bursts, jobs, quiet), as_json=as_json)
        return
    summary = estimated(loaded, jobs, quiet=quiet)
    if as_json:
        print_json(summary)
    else:
        show(loaded, summary, "estimated from the steady state")
    raise typer.Exit(exit_code(summary, batch=False))


def show_surfaces(loaded: "LoadedScenario", *, as_json: bool) -> None:
    """When to speculate, of every deployment of the first point with one draft beside its target, a chain."""
    from app.console import out_console, print_json
    from app.tables.when import LEGEND, surface_table
    from simulator.errors import ScenarioError
    from simulator.planning.context import why_unfit
    from simulator.planning.when import draws, surface

    scenario = loaded.points[0].scenario
    drawn = [name for name in scenario.deployments if draws(scenario, name) and not why_unfit(scenario, name)]
    if not drawn:
        raise ScenarioError(
            f"{loaded.name}: --surface needs a deployment that fits, with one draft beside its target, a chain"
        )
    found = [surface(scenario, name) for name in drawn]
    if as_json:
        print_json({"scenario": loaded.name, "surfaces": [one.as_json() for one in found]})
        return
    console = out_console()
    for one in found:
        console.print(surface_table(one))
        console.print()
    console.print(LEGEND)
