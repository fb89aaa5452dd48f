"""`specfleet estimate --sensitivity`: what moves the answer, and how likely the winner stays the winner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario

Sensitivity = Annotated[
    bool,
    typer.Option(
        "--sensitivity",
        help="Instead: what moves the answer, each input alone and all together within their intervals.",
    ),
]
Draws = Annotated[
    int | None,
    typer.Option("--draws", metavar="N", min=0, help="With --sensitivity: draws of all inputs (200); 0: none."),
]
Within = Annotated[
    list[str] | None,
    typer.Option(
        "--within",
        metavar="INPUT=LOW..HIGH",
        help="The same with an interval that you know, as factors on what the scenario says. Repeatable.",
    ),
]
Bursts = Annotated[
    bool, typer.Option("--bursts", help="The same with clumps of arrivals, which are simulated (some seconds).")
]

CLUMPS = "--bursts simulates clumps of arrivals, too."


@dataclass(frozen=True, slots=True)
class Asked:
    """How inputs are varied."""

    draws: int | None
    """Of all inputs together; None: the usual number."""
    within: Sequence[str]
    """`INPUT=LOW..HIGH`"""
    bursts: bool
    jobs: int | None
    quiet: bool


def show_sensitivity(loaded: "LoadedScenario", asked: Asked, *, as_json: bool) -> None:
    """What moves the answer of a scenario's first point."""
    from app.console import out_console, print_json
    from app.exits import NOTHING_HOLDS
    from app.progress import ProgressBar
    from app.tables.sensitivity import sensitivity_table, stability_block
    from scenarios.executors import workers
    from simulator.planning.sensitivity import DRAWS, sensitivity

    within = read_within(asked.within)
    draws = DRAWS if asked.draws is None else asked.draws
    alone = not draws and not asked.bursts
    with workers(1 if alone else asked.jobs) as executor, ProgressBar(quiet=asked.quiet) as bar:
        found = sensitivity(
            loaded.points[0].scenario, executor, bar.update, draws=draws, within=within, bursts=asked.bursts
        ).as_json()
    if as_json:
        print_json(found)
    else:
        console = out_console()
        if found["winner"] is not None:
            console.print(sensitivity_table(found))
            console.print()
        console.print(stability_block(found))
        if not asked.bursts:
            console.print(CLUMPS, style="dim")
    if found["winner"] is None:
        raise typer.Exit(NOTHING_HOLDS)


def read_within(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Intervals of inputs.

    Raises ScenarioError for a text that is none.

    >>> read_within(["rate=0.5..2"])
    {'rate': (0.5, 2.0)}
    """
    from simulator.errors import ScenarioError

    found = {}
    for text in texts:
        name, _, ends = text.partition("=")
        low, _, high = ends.partition("..")
        try:
            found[name.strip()] = float(low), float(high)
        except ValueError:
            message = (
                f"--within {text}: INPUT=LOW..HIGH is needed, factors on what the scenario says, such as rate=0.8..1.5"
            )
            raise ScenarioError(message) from None
    return found
