"""`specfleet validate`: predicted against published or own measurements."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.new_file import check_place, write_page
from app.options import Debug, Jobs, Json, Quiet

if TYPE_CHECKING:
    from calibration.validate import Validation

Measurements = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Measured configurations, one a line, in the format of serving.csv; with --against a benchmark's result.",
    ),
]
Against = Annotated[
    Path | None,
    typer.Option("--against", metavar="predicted.json", help="What `specfleet export` predicted of this benchmark."),
]
Page = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.html", help="Write parity plots and tables to this file.")
]


def validate(
    file: Measurements,
    against: Against = None,
    as_json: Json = False,
    jobs: Jobs = None,
    out: Page = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare predictions with measurements: error by group, bias, the worst rows.

    The columns tell which of two kinds of file it is. Serving: every line is replayed as it was measured: client,
    lengths, opening burst, token budget, waits, KV limit. Columns that must be there: engine, gpu, model, load
    (closed_loop or queued_at_once), tp, isl, osl, and at least one of ttft_ms, tpot_ms, output_tokens_per_s_per_gpu
    (means). A closed loop needs concurrency; precision is fp8 or fp4. A line that cannot be predicted says why.

    Speculation: the speed-up of every line is predicted from its accepted length. Columns that must be there: gpu,
    target, method; for a prediction also framework (the engine), batch_or_conc, draft_len, mean_accept_len with
    accept_len_incl_bonus (1 or 0), and speedup, or base_value and spec_value in tok/s.

    With --against, one benchmark: the result that the bench.sh of `specfleet export` writes, against what was
    predicted of it.

    \b
    Examples:
      specfleet validate serving.csv
      specfleet validate my_vllm_runs.csv --json --jobs 2
      specfleet validate serving.csv --out parity.html
      specfleet validate speculation.csv
      specfleet validate result.json --against predicted.json
    """
    from app.console import print_json
    from calibration.scores import summary
    from calibration.speculation_csv import is_speculation

    if against is not None:
        if out is not None:
            raise typer.BadParameter("draws files of many measurements, not one benchmark", param_hint="--out")
        show_against(file, against, as_json=as_json)
        return
    if out is not None:
        check_place("--out", out, "parity.html")
    if is_speculation(file):
        show_speculation(file, out, as_json=as_json, quiet=quiet)
        return
    found = replayed(file, jobs, quiet=quiet)
    table = summary(found)
    if as_json:
        print_json(table)
    else:
        from app.console import out_console
        from app.tables.validation import validation_blocks

        console = out_console()
        for block in validation_blocks(table):
            console.print(block)
    if out is not None:
        from app.report.parity import parity_html

        write_page(out, parity_html(found, table), quiet=quiet)


def show_against(file: Path, against: Path, *, as_json: bool) -> None:
    """One benchmark, predicted and measured."""
    from app.console import out_console, print_json
    from app.tables.against import against_blocks
    from calibration.against import compare

    found = compare(file, against)
    if as_json:
        print_json(found)
        return
    console = out_console()
    for block in against_blocks(found):
        console.print(block)


def show_speculation(file: Path, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Speed-ups, predicted and measured."""
    from app.console import print_json
    from calibration.speculation_scores import summary
    from calibration.speculation_validation import validate_speculation

    table = summary(validate_speculation(file))
    if as_json:
        print_json(table)
    else:
        from app.console import out_console
        from app.tables.speculation_validation import speculation_blocks

        console = out_console()
        for block in speculation_blocks(table):
            console.print(block)
    if out is not None:
        from app.report.parity import speedup_html

        write_page(out, speedup_html(table), quiet=quiet)


def replayed(file: Path, jobs: int | None, *, quiet: bool) -> "Validation":
    """All rows predicted, with a progress bar."""
    from app.progress import ProgressBar
    from calibration.validate import validate as compare_rows

    with ProgressBar(quiet=quiet) as bar:
        bar.describe("replaying rows")
        return compare_rows(file, jobs, bar.update)
