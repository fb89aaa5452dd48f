"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Scenario files, a folder of them, or names of built-in scenarios."),
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A scenario file, or the name of a built-in scenario.")]
Json = Annotated[bool, typer.Option("--json", help="Print pure JSON to stdout; messages go to stderr.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=YAML",
        help="Replace the value at a place of the scenario, such as workload.arrivals.rate_per_s=8. Repeatable.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", metavar="N", min=1, help="Replications, instead of the scenario's: intervals come from them."
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder in which run folders are written.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Processes that simulate; by default one a core.")
]
Where = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="WHERE",
        help="Where to simulate: process[:N] (the default), serial, dask://HOST:PORT or dask+tls://HOST:PORT.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Compute anew what an earlier run has already found.")]
Overwrite = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes: results and errors only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Requests = Annotated[
    bool,
    typer.Option("--requests", help="Also write requests.parquet: every request of one replication."),
]


def with_seeds(sets: list[str] | None, seeds: int | None) -> list[str]:
    """The sets of a command, the number of replications among them.

    >>> with_seeds(["seed=1"], 3)
    ['seed=1', 'replications=3']
    """
    return [*(sets or []), *([] if seeds is None else [f"replications={seeds}"])]
