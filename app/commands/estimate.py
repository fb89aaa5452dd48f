"""`specfleet estimate`: the comparison from the steady state, in milliseconds."""

from typing import TYPE_CHECKING, Any

import typer

from app.options import Debug, File, Json, Quiet, Sets

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario, Point


def estimate(
    file: File,
    as_json: Json = False,
    sets: Sets = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare deployments in milliseconds, by the steady state.

    \b
    Examples:
      specfleet estimate h200_vs_b200_chat
      specfleet estimate chat.yaml --set deployments.h200.replicas=4 --json
    """
    from app.console import print_json
    from app.loading import load
    from app.results import exit_code
    from app.show import show

    loaded = load(file, sets or ())
    summary = estimated(loaded)
    if as_json:
        print_json(summary)
    else:
        show(loaded, summary, "estimated from the steady state")
    raise typer.Exit(exit_code(summary, batch=False))


def estimated(loaded: "LoadedScenario") -> dict[str, Any]:
    """The summary of a scenario from estimates alone."""
    from app.results import PointResult, put_together
    from scenarios.store import label_of

    points = [PointResult(label_of(point.label), point.label, "", _point(point), 0.0) for point in loaded.points]
    return put_together(loaded.name, points, loaded.asserts)


def _point(point: "Point") -> dict[str, Any]:
    from scenarios.store import label_of
    from simulator.outcome.plain import plain
    from simulator.planning.comparison import compare
    from simulator.planning.estimate import estimate as steady_state
    from simulator.planning.model_error import model_error, widened
    from simulator.planning.provenance import provenance

    scenario, label = point.scenario, label_of(point.label)
    plain_rows = [steady_state(scenario, name, label) for name in scenario.deployments]
    errors = {row["deployment"]: model_error(scenario, row["deployment"]) for row in plain_rows if row["fits"]}
    rows = [widened(row, errors.get(row["deployment"])) for row in plain_rows]
    origin = provenance(scenario) | {"method": "steady state", "replications": None}
    found: dict[str, Any] = plain({"rows": rows, "comparison": compare(rows, (), errors), "provenance": origin})
    return found
