"""Acceptance that the check predicts with: fitted on other texts by `calibrate acceptance`, or known where forced."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calibration.acceptance_scenario import acceptance_of
from calibration.drafts import Drafts
from calibration.importers.finding import FIT
from calibration.importers.options import ReadOptions
from calibration.importers.records import read_records
from simulator.errors import ScenarioError
from simulator.spec.acceptance import Acceptance


def fitted(folder: Path, name: str, drafts: Drafts, draft_tokens: Sequence[int]) -> dict[int, dict[str, Acceptance]]:
    """By K: acceptance by class. A chain that was not measured takes the first positions of the next longer one.

    folder: holds a folder for each K, as `calibrate acceptance` writes them.
    name: part of their names, such as `smollm2-lookup`.
    draft_tokens: K, of a tree or a union all nodes.

    Raises ScenarioError where K is larger than any that was measured.
    """
    measured = _measured(folder, name)
    cut = drafts.shape() is None and not drafts.several
    by_k = {k: _classes(of, drafts, k) for k, of in measured.items() if cut or k in draft_tokens}
    known = {k: classes for k, classes in by_k.items() if classes}
    wanted = [k for k in draft_tokens if k]
    if wanted and max(wanted) > max(known, default=0):
        raise ScenarioError(_missing(folder, name, drafts, max(wanted), list(known)))
    return {k: known[min(n for n in known if n >= k)] for k in wanted}


def hits(folder: Path, name: str, draft_tokens: Sequence[int]) -> dict[int, float]:
    """By K: share of the drafts of a process of its own that were there when they were asked for."""
    found = {}
    for k in (k for k in draft_tokens if k):
        told = [
            record["ahead"]
            for path in sorted(folder.glob(f"acceptance-{name}-k{k}/*.jsonl"))
            for record in _records(path)
            if "ahead" in record
        ]
        asked = sum(one["asked"] for one in told)
        if not asked:
            raise ScenarioError(f"{folder}: nothing was drafted ahead by {name} at K = {k}")
        found[k] = sum(one["hits"] for one in told) / asked
    return found


def _measured(folder: Path, name: str) -> dict[int, Path]:
    """By K: the folders of one way of drafting; another's name may begin with its own."""
    found = {of.name.removeprefix(f"acceptance-{name}-k"): of for of in folder.glob(f"acceptance-{name}-k*")}
    return {int(k): of for k, of in sorted(found.items()) if k.isdigit() and of.is_dir()}


def _missing(folder: Path, name: str, drafts: Drafts, most: int, known: Sequence[int]) -> str:
    """What to run."""
    count = "" if drafts.shape() is not None else f" --draft-tokens {most // max(drafts.all_nodes(1), 1)}"
    return (
        f"{folder}: acceptance of {name} up to K = {most} is needed, measured: "
        f"{', '.join(f'K = {k}' for k in known) or 'none'}; "
        f"run `specfleet calibrate acceptance{_words(drafts)}{count}`"
    )


def _words(drafts: Drafts) -> str:
    """Flags, where they are not the usual ones."""
    return "" if drafts == Drafts() else f" {' '.join(drafts.words())}"


def _classes(folder: Path, drafts: Drafts, k: int) -> dict[str, Acceptance]:
    """Acceptance of every class that has been finished."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        mine = [record for record in _records(path) if record.get("half") == FIT]
        finding = read_records(mine, str(path), ReadOptions(k))
        found[path.stem] = Acceptance.model_validate(acceptance_of(drafts, k, finding))
    return found


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def forced(survival: Sequence[float], draft_tokens: Sequence[int]) -> Mapping[int, Mapping[str, Acceptance]]:
    """By K: the acceptance that the engine is told to show."""
    return {k: {"all": Acceptance(survival=tuple(survival[:k]))} for k in draft_tokens if k}
