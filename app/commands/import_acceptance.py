"""`specfleet import acceptance`: what a serving stack says of acceptance, as a block of a scenario."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.new_file import write_new
from app.options import Debug, Json, Overwrite

if TYPE_CHECKING:
    from calibration.importers.finding import AcceptanceFinding

First = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A pasted /metrics text, vLLM bench JSON, responses (JSON or JSON lines), or an export."
    ),
]
Second = Annotated[
    Path | None, typer.Argument(metavar="[SECOND]", help="A later /metrics text: what lies between the two counts.")
]
Class = Annotated[str, typer.Option("--class", metavar="NAME", help="Class of the workload that it stands for.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the block to this file.")]
DraftTokens = Annotated[
    int | None,
    typer.Option("--draft-tokens", metavar="K", min=1, help="Draft tokens per step, if the file lacks them."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="Labels of the engine that is meant. Repeatable."),
]
AddEngines = Annotated[bool, typer.Option("--sum", help="Add up the counters of several engines.")]
Lookup = Annotated[
    bool, typer.Option("--lookup", help="The draft is a look-up: count its steps without a proposal too.")
]


def acceptance(
    file: First,
    second: Second = None,
    of_class: Class = "all",
    out: Out = None,
    draft_tokens: DraftTokens = None,
    label: Labels = None,
    add_engines: AddEngines = False,
    lookup: Lookup = False,
    force: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Turn counters of an engine, or a benchmark's result, into the acceptance of a scenario.

    The format is recognised by the file's content. What is printed goes into deployments.NAME.speculation.drafts.NAME.
    docs/importing.md says which figure is derived how.

    \b
    Examples:
      curl -s localhost:8000/metrics > before.txt; sleep 600; curl -s localhost:8000/metrics > after.txt
      specfleet import acceptance before.txt after.txt --class chat
      specfleet import acceptance responses.jsonl --class code --out code.yaml
    """
    from app.console import print_json
    from calibration.importers.options import ReadOptions
    from calibration.importers.read import read_acceptance

    options = ReadOptions(draft_tokens, _labels(label or []), add_engines, lookup)
    found = read_acceptance(file, second, options=options)
    block = {"acceptance": {of_class: checked(found)}}
    written = None if out is None else write_new(out, _yaml(block, found.notes), force=force)
    if as_json:
        print_json(_json(found) | {"block": block, "written": written and str(written)})
    else:
        _show(found, block, written)


def _labels(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise typer.BadParameter("write --label NAME=VALUE", param_hint=f"--label {name}{equals}{value}")
    return {name: value for name, _, value in pairs}


def checked(found: "AcceptanceFinding") -> dict[str, Any]:
    """The block of a finding, as a scenario takes it."""
    from pydantic import ValidationError

    from simulator.errors import ScenarioError
    from simulator.spec.acceptance import Acceptance

    block = found.block()
    try:
        Acceptance.model_validate(block)
    except ValidationError as error:
        told = "; ".join(str(problem["msg"]).removeprefix("Value error, ") for problem in error.errors())
        raise ScenarioError(f"{found.format}: a scenario cannot take this: {told}") from None
    return block


def _yaml(block: dict[str, Any], notes: tuple[str, ...]) -> str:
    import yaml

    said = yaml.safe_dump(block, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return "".join(f"# {note}\n" for note in notes) + said


def _json(found: "AcceptanceFinding") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found) | {"acceptance_rate": found.acceptance_rate}


def _show(found: "AcceptanceFinding", block: dict[str, Any], written: Path | None) -> None:
    from app.console import out_console
    from app.tables.acceptance import acceptance_lines

    console = out_console()
    for line in acceptance_lines(found):
        console.print(line)
    console.print()
    if written is None:
        typer.echo(_yaml(block, ()), nl=False)
    else:
        console.print(f"{written} is written: put it into deployments.NAME.speculation.drafts.NAME of a scenario.")
