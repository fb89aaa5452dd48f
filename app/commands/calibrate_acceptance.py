"""`specfleet calibrate acceptance`: what a draft gets accepted on real text, measured with the engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.engine_part import engine_part
from app.options import Debug, Json, Quiet

if TYPE_CHECKING:
    from app.progress import ProgressBar
    from calibration.acceptance_run import AcceptancePlan, Progress

DRAFT_TOKENS = (3, 5)
"""K that `calibrate check` asks for by default."""

ModelName = Annotated[str, typer.Option("--model", metavar="NAME", help="smollm2, a model folder or a .gguf file.")]
DraftName = Annotated[str, typer.Option("--draft", metavar="NAME", help="lookup, model or noisy_target.")]
DraftModel = Annotated[
    str | None, typer.Option("--draft-model", metavar="NAME", help="The draft's model, for --draft model.")
]
DraftTokens = Annotated[
    list[int] | None,
    typer.Option("--draft-tokens", metavar="K", min=1, max=64, help="Per step. Repeatable.  [default: 3 and 5]"),
]
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
    draft_tokens: DraftTokens = None,
    domain: Domains = None,
    text: Text = None,
    requests: Requests = 32,
    tokens: Tokens = 64,
    threads: Threads = None,
    out: OutFolder = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run the engine on real text, by domain, and write what it accepts as a block of a scenario and as presets.

    Each K is measured for itself, for a text runs differently with another. Each domain is written as it is finished; a
    run that was interrupted goes on with the next. About four minutes with the defaults on two idle cores.

    \b
    Examples:
      specfleet calibrate acceptance --draft-tokens 3
      specfleet calibrate acceptance --domain code --domain math --requests 40
      specfleet calibrate acceptance --text my-prompts/ --out my-catalog
    """
    from app.console import print_json
    from app.progress import ProgressBar
    from simulator.catalog.own import folder_for_entries

    run = engine_part("calibration.acceptance_run")
    catalog = folder_for_entries(out)
    plans = [
        run.AcceptancePlan(
            model=model, draft=draft, draft_model=draft_model, draft_tokens=k,
            domains=tuple(dict.fromkeys(domain)) if domain else run.AcceptancePlan().domains,
            text=text, requests=requests, tokens=tokens, threads=threads,
        )
        for k in dict.fromkeys(draft_tokens or DRAFT_TOKENS)
    ]  # fmt: skip
    results = []
    with ProgressBar(quiet=quiet) as bar:
        for number, plan in enumerate(plans):
            folder = catalog / "measured" / f"acceptance-{plan.name}"
            records = run.measure(plan, folder, _teller(bar, plan, number, len(plans)), force=force)
            results.append((plan, folder, run.findings(records, plan.draft_tokens)))
    figures = [_written(plan, folder, catalog, found) for plan, folder, found in results]
    if as_json:
        print_json({"measured": figures})
    else:
        for (plan, _, found), of in zip(results, figures, strict=True):
            _show(plan, found, of["written"])


def _teller(bar: "ProgressBar", plan: "AcceptancePlan", number: int, plans: int) -> "Progress":
    """Progress of one K as part of all."""

    def tell(name: str, done: int, total: int) -> None:
        bar.describe(f"K {plan.draft_tokens}, {name}")
        bar.update(number * total + done, plans * total)

    return tell


def _written(plan: "AcceptancePlan", folder: Path, catalog: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Figures, block and presets written; the figures, and where block and presets lie."""
    from calibration.acceptance_files import figures, write_results

    paths = {name: str(path) for name, path in write_results(plan, folder, catalog, found).items()}
    return figures(plan, found) | {"written": paths}


def _show(plan: "AcceptancePlan", found: dict[str, Any], written: dict[str, str]) -> None:
    from app.console import out_console
    from app.tables.acceptance import by_class

    console = out_console()
    console.print(f"K = {plan.draft_tokens}")
    console.print(by_class(found))
    first = next(iter(found))
    console.print(f"{written['block']} is written: its classes go into speculation.drafts.NAME of a deployment,")
    console.print(f"or named from your catalog: acceptance: {{{first}: {{preset: {Path(written[first]).stem}}}}}")
