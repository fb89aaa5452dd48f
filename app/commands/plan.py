"""`specfleet plan`: the cheapest cluster that holds a load, how to run it, and what would change the answer."""

from pathlib import Path
from typing import Annotated

import typer

from app.exits import NOTHING_HOLDS, OK
from app.options import Debug, Force, Jobs, Json, Out, Quiet, Sets, Where

PlanFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A scenario file, with `plan:` or without, or the name of a built-in one.")
]


def plan(
    file: PlanFile,
    as_json: Json = False,
    sets: Sets = None,
    out: Out = Path("runs"),
    jobs: Jobs = None,
    executor: Where = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Find the cheapest cluster that holds the load and the SLO.

    Every deployment of the file, in every choice of its `plan:`, is a candidate. Bounds rule out what cannot win, the
    steady state ranks the rest, simulation confirms the best. A folder holds the question, the answer, and each answer
    as a scenario to run.

    \b
    Examples:
      specfleet plan plan_70b_chat
      specfleet plan plan_70b_chat --set workload.arrivals.rate_per_s=40 --set plan.spare_replicas=1
      specfleet plan chat.yaml --set 'plan.vary={target.tensor_parallel: [1, 2, 4]}' --json
    """
    from app.console import note, print_json
    from app.planned import answer_plan
    from app.show_plan import show_plan
    from scenarios.executors import workers
    from scenarios.plan_file import load_plan

    loaded = load_plan(file, sets or ())
    with workers(jobs, executor or "process") as places:
        found, folder = answer_plan(loaded, out, places, force=force, quiet=quiet)
    if as_json:
        print_json(found)
    else:
        show_plan(loaded, found)
    note(f"results: {folder.path}", quiet=quiet)
    if found["choice"] is not None:
        note(f"to run the choice: specfleet run {folder.path / 'choice.yaml'}", quiet=quiet)
    raise typer.Exit(OK if found["choice"] is not None else NOTHING_HOLDS)
