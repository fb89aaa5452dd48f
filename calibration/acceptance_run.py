"""Acceptance measured by running the engine on real text: rounds of every request, by domain; never random tokens.

A domain that is finished is found again and not run a second time. Prompts of even number are for a fit, those of odd
number are held out: what the first say of the others is the error to expect on other texts of the domain.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from calibration.acceptance_domain import bench_of, run_domain
from calibration.acceptance_plan import AcceptancePlan
from calibration.acceptance_scenario import Measured
from calibration.importers.finding import FIT, HELD_OUT, AcceptanceFinding
from calibration.importers.options import ReadOptions
from calibration.importers.read import read_document
from calibration.importers.records import read_records
from calibration.whole_file import write_whole
from engine.commands.drafting import UNION
from engine.drafters import DRAFTERS
from engine.errors import EngineError
from engine.texts import DOMAINS
from simulator.errors import ScenarioError

Progress = Callable[[str, int, int], None]
"""Domain, output tokens done, output tokens in all."""
FORMAT = "specfleet-acceptance-1"


def measure(
    plan: AcceptancePlan, folder: Path, progress: Progress | None = None, *, force: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Records of requests by domain, each domain written as it is finished.

    force: measure anew what is there.

    Raises ScenarioError where the model, the draft or the texts cannot be used.
    """
    if plan.drafts.draft not in (*DRAFTERS, UNION):
        raise ScenarioError(f"--draft {plan.drafts.draft}: known: {', '.join((*DRAFTERS, UNION))}")
    names = _texts(plan)
    there = {} if force else {name: _finished(plan, folder, name) for name in names}
    done = {name: records for name, records in there.items() if records is not None}
    left = [name for name in names if name not in done]
    if left:
        try:
            bench = bench_of(plan)
            for position, name in enumerate(left):
                tell = _share(progress, name, position, len(left))
                done[name] = run_domain(bench, plan, name, names[name], tell)
                _write(plan, folder, name, done[name])
        except EngineError as error:
            raise ScenarioError(str(error)) from None
    return {name: done[name] for name in names}


def measured(plan: AcceptancePlan, catalog: Path, progress: Progress | None = None, *, force: bool = False) -> Measured:
    """Measure a plan and, where it is of several drafts, each of them alone: in folders of the catalog."""
    whole = measure(plan, folder_of(plan, catalog), progress, force=force)
    parts = {name: measured(alone, catalog, progress, force=force) for name, alone in plan.parts.items()}
    return Measured(plan, whole, findings(whole, plan), parts)


def findings(records: dict[str, list[dict[str, Any]]], plan: AcceptancePlan) -> dict[str, dict[str, AcceptanceFinding]]:
    """By domain: acceptance of all requests, of the half to be fitted to, and of the half held out."""
    found = {}
    for name, listed in records.items():
        halves = {half: [r for r in listed if r["half"] == half] for half in (FIT, HELD_OUT)}
        of = {"all": listed, **halves}
        found[name] = {part: _finding(some, name, plan) for part, some in of.items() if _speculated(some)}
        if "all" not in found[name]:
            raise ScenarioError(f"{name}: no request took a verify step: more --tokens are needed")
    return found


def _finding(records: Sequence[dict[str, Any]], name: str, plan: AcceptancePlan) -> AcceptanceFinding:
    """Acceptance by depth: a step verifies more draft tokens than it can accept where they are a tree."""
    found = read_records(records, name, ReadOptions(plan.nodes))
    survival, intervals = (found.survival or ())[: plan.depth], (found.survival_intervals or ())[: plan.depth]
    return replace(found, survival=survival, survival_intervals=intervals)


def _speculated(records: Sequence[dict[str, Any]]) -> bool:
    return any(record["spec_decode_acceptance"]["num_spec_steps"] for record in records)


# Texts.


def _texts(plan: AcceptancePlan) -> dict[str, list[str] | None]:
    """By class: the user's texts, or None for those of a domain."""
    if plan.text is None:
        unknown = [name for name in plan.domains if name not in DOMAINS]
        if unknown:
            raise ScenarioError(f"--domain {unknown[0]}: known: {', '.join(DOMAINS)}; or your own --text FILE")
        return dict.fromkeys(plan.domains)
    path = Path(plan.text)
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    texts = [text for file in files for text in _pieces(file, plan)]
    if not texts:
        raise ScenarioError(f"{path}: no text in it")
    count = min(len(texts), plan.requests)
    return {path.stem or "text": [texts[i * len(texts) // count] for i in range(count)]}


def _pieces(file: Path, plan: AcceptancePlan) -> Iterator[str]:
    """A file in pieces that hold a prompt and the room behind it."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    except OSError as error:
        raise ScenarioError(f"{file}: {error.strerror or error}") from None
    size = 12 * plan.prompt_tokens
    yield from (piece for start in range(0, len(text), size) if len(piece := text[start : start + size].strip()) > 40)


def _share(progress: Progress | None, name: str, position: int, domains: int) -> Callable[[int, int], None]:
    """Progress of one domain as part of all; domains are taken to be equally long."""

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(name, position * total + done, domains * total)

    return tell


# Files.


def folder_of(plan: AcceptancePlan, catalog: Path) -> Path:
    """Where a plan's records lie in a catalog."""
    return catalog / "measured" / f"acceptance-{plan.name}"


def _settings(plan: AcceptancePlan) -> dict[str, Any]:
    """What records depend on; how many requests run at once is not among it."""
    left_out = ("domains", "sequences", "threads", "drafts")
    said = {key: value for key, value in asdict(plan).items() if key not in left_out}
    return {"format": FORMAT} | plan.drafts.given() | said


def _finished(plan: AcceptancePlan, folder: Path, name: str) -> list[dict[str, Any]] | None:
    about, records = folder / f"{name}.about.json", folder / f"{name}.jsonl"
    if not (about.exists() and records.exists()):
        return None
    if read_document(about) != _settings(plan):
        raise ScenarioError(f"{about}: measured with other settings: choose another folder with --out, or use --force")
    found = read_document(records)
    return found if isinstance(found, list) else [found]


def _write(plan: AcceptancePlan, folder: Path, name: str, records: Sequence[dict[str, Any]]) -> None:
    """Records, then what says that they are all there."""
    write_whole(folder / f"{name}.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    write_whole(folder / f"{name}.about.json", json.dumps(_settings(plan), indent=2) + "\n")
