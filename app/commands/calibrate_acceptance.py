"""`specfleet calibrate acceptance`: what a draft gets accepted on real text, measured with the engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.options import Debug, Json, Quiet

if TYPE_CHECKING:
    from calibration.acceptance_run import AcceptancePlan

ModelName = Annotated[str, typer.Option("--model", metavar="NAME", help="smollm2, a model folder or a .gguf file.")]
DraftName = Annotated[str, typer.Option("--draft", metavar="NAME", help="lookup, model or noisy_target.")]
DraftModel = Annotated[
    str | None, typer.Option("--draft-model", metavar="NAME", help="The draft's model, for --draft model.")
]
DraftTokens = Annotated[int, typer.Option("--draft-tokens", metavar="K", min=1, max=64, help="Draft tokens per step.")]
Domains = Annotated[
    list[str] | None, typer.Option("--domain", metavar="NAME", help="code, prose, math, dialogue. Repeatable.")
]
Text = Annotated[
    str | None,
    typer.Option("--text", metavar="FILE|DIR", help="Texts of your own, to be continued, instead of domains."),
]
Requests = Annotated[int, typer.Option("--requests", metavar="N", min=2, max=10_000, help="Requests of each domain.")]
Tokens = Annotated[
    int, typer.Option("--tokens", metavar="N", min=2, max=8192, help="Output tokens a request, at most.")
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="Threads (default: torch's own).")]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Catalog folder (default: SPECFLEET_CATALOG, else specfleet-catalog)."),
]
Force = Annotated[bool, typer.Option("--force", help="Measure anew what is there.")]


def acceptance(
    model: ModelName = "smollm2",
    draft: DraftName = "lookup",
    draft_model: DraftModel = None,
    draft_tokens: DraftTokens = 5,
    domain: Domains = None,
    text: Text = None,
    requests: Requests = 16,
    tokens: Tokens = 64,
    threads: Threads = None,
    out: OutFolder = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run the engine on real text, by domain, and write what it accepts as a block of a scenario and as presets.

    Each domain is written as it is finished; a run that was interrupted goes on with the next. About five minutes with
    the defaults on two idle cores.

    \b
    Examples:
      specfleet calibrate acceptance --draft-tokens 3
      specfleet calibrate acceptance --domain code --domain math --requests 40
      specfleet calibrate acceptance --text my-prompts/ --out my-catalog
    """
    from app.console import print_json
    from app.progress import ProgressBar
    from simulator.catalog.own import DEFAULT, own_folder

    run = _loaded()
    plan = run.AcceptancePlan(
        model=model, draft=draft, draft_model=draft_model, draft_tokens=draft_tokens,
        domains=tuple(dict.fromkeys(domain)) if domain else run.AcceptancePlan().domains,
        text=text, requests=requests, tokens=tokens, threads=threads,
    )  # fmt: skip
    catalog = out or own_folder() or Path(DEFAULT)
    folder = catalog / "measured" / f"acceptance-{plan.name}"
    with ProgressBar(quiet=quiet) as bar:

        def tell(name: str, done: int, total: int) -> None:
            bar.describe(name)
            bar.update(done, total)

        records = run.measure(plan, folder, tell, force=force)
    found = run.findings(records, plan.draft_tokens)
    _results(plan, folder, catalog, found, print_json if as_json else None)


def _loaded() -> Any:
    """The module that runs the engine; without PyTorch, what to install."""
    try:
        from calibration import acceptance_run
    except ModuleNotFoundError as error:
        from simulator.errors import ScenarioError

        raise ScenarioError(
            f"this needs the engine, which needs {error.name}: pip install 'specfleet[engine]'"
        ) from None
    return acceptance_run


def _results(plan: "AcceptancePlan", folder: Path, catalog: Path, found: dict[str, Any], as_json: Any) -> None:
    from app.console import out_console
    from app.tables.acceptance import by_class
    from calibration.acceptance_files import figures, write_results

    paths = write_results(plan, folder, catalog, found)
    if as_json is not None:
        as_json(figures(plan, found) | {"folder": str(folder)})
        return
    console = out_console()
    console.print(by_class(found))
    first = next(iter(found))
    console.print(f"{paths['block']} is written: its classes go into speculation.drafts.NAME of a deployment,")
    console.print(f"or named from your catalog: acceptance: {{{first}: {{preset: {paths[first].stem}}}}}")
