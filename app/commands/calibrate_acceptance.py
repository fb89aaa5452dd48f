"""`specfleet calibrate acceptance`: what a draft gets accepted on real text, measured with the engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import drafts
from app.engine_part import engine_part
from app.options import Debug, Json, Quiet

if TYPE_CHECKING:
    from app.progress import ProgressBar
    from calibration.acceptance_scenario import Measured

DRAFT_TOKENS = (3, 5)
"""K that `calibrate check` asks for by default."""

ModelName = Annotated[str, typer.Option("--model", metavar="NAME", help="smollm2, a model folder or a .gguf file.")]
DraftTokens = Annotated[
    list[int] | None,
    typer.Option(
        "--draft-tokens", metavar="K", min=1, max=64, help="Of each draft, per step. Repeatable.  [default: 3 and 5]"
    ),
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
    draft: drafts.Draft = "lookup",
    draft_tokens: DraftTokens = None,
    draft_model: drafts.DraftModel = None,
    epsilon: drafts.Epsilon = None,
    of: drafts.Of = None,
    ngram: drafts.Ngram = None,
    router: drafts.Router = None,
    tree: drafts.Tree = None,
    nodes: drafts.Nodes = None,
    dynamic_tree: drafts.DynamicTree = None,
    head: drafts.Head = None,
    resident_experts: drafts.ResidentExperts = None,
    active_experts: drafts.ActiveExperts = None,
    draft_process: drafts.DraftProcess = None,
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

    Each K is measured for itself, for a text runs differently with another. Of several drafts (a union, tables with a
    router) each is measured alone as well. Texts that a table was counted from are left out. Each domain is written as
    it is finished; a run that was interrupted goes on with the next. About four minutes with the defaults on two idle
    cores.

    \b
    Examples:
      specfleet calibrate acceptance --draft-tokens 3
      specfleet calibrate acceptance --domain code --domain math --requests 40
      specfleet calibrate acceptance --draft union --of lookup --of ngram --ngram code --draft-tokens 3
      specfleet calibrate acceptance --draft ngram --ngram code --ngram prose --router likelihood
      specfleet calibrate acceptance --draft noisy_target --tree 2,2
      specfleet calibrate acceptance --text my-prompts/ --out my-catalog
    """
    from app.console import print_json
    from app.progress import ProgressBar
    from simulator.catalog.own import folder_for_entries

    run, plans_of = engine_part("calibration.acceptance_run"), engine_part("calibration.acceptance_plan").plans_of
    drafting = engine_part("calibration.drafts").Drafts(
        draft, draft_model, epsilon, tuple(of or ()), tuple(ngram or ()), router, tree, nodes, dynamic_tree, head,
        resident_experts, active_experts, draft_process,
    )  # fmt: skip
    catalog = folder_for_entries(out)
    asked = {"requests": requests, "tokens": tokens, "threads": threads, "text": text, "model": model}
    plans = plans_of(drafting, draft_tokens, DRAFT_TOKENS, tuple(dict.fromkeys(domain or ())), **asked)
    results = []
    with ProgressBar(quiet=quiet) as bar:
        teller = _Teller(bar, sum(1 + len(plan.parts) for plan in plans))
        results = [run.measured(plan, catalog, teller, force=force) for plan in plans]
    figures = [_written(of, catalog) for of in results]
    if as_json:
        print_json({"measured": figures})
    else:
        for measured, told in zip(results, figures, strict=True):
            _show(measured, told["written"])


class _Teller:
    """Progress of one run as part of all; each begins anew at nothing."""

    def __init__(self, bar: "ProgressBar", runs: int) -> None:
        self._bar, self._runs, self._nth, self._last = bar, runs, 0, 0

    def __call__(self, name: str, done: int, total: int) -> None:
        self._nth += done < self._last
        self._last = done
        self._bar.describe(name)
        self._bar.update(self._nth * total + done, self._runs * total)


def _written(of: "Measured", catalog: Path) -> dict[str, Any]:
    """Figures, block and presets written; the figures, and where block and presets lie."""
    from calibration.acceptance_files import figures, write_results
    from calibration.acceptance_run import folder_of

    alone = [_written(part, catalog) for part in of.parts.values()]
    paths = {name: str(path) for name, path in write_results(of, folder_of(of.plan, catalog), catalog).items()}
    return figures(of) | {"written": paths, "parts_written": [told["written"] for told in alone]}


def _show(of: "Measured", written: dict[str, str]) -> None:
    from app.console import out_console
    from app.tables.acceptance import by_class

    console, plan = out_console(), of.plan
    console.print(f"{plan.drafts.label}, K = {plan.draft_tokens}" if plan.drafts.shape() is None else plan.drafts.label)
    console.print(by_class(of.found))
    console.print(f"{written['block']} is written: it is the speculation of a deployment")
    first = next(iter(of.found))
    if first in written:
        console.print(f"or named from your catalog: acceptance: {{{first}: {{preset: {Path(written[first]).stem}}}}}")
