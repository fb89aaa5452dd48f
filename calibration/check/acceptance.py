"""Acceptance that the check predicts with: fitted on other texts by `calibrate acceptance`, or known where forced."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from calibration.importers.finding import FIT
from calibration.importers.options import ReadOptions
from calibration.importers.records import read_records
from simulator.errors import ScenarioError
from simulator.spec.acceptance import Acceptance


def fitted(folder: Path, draft: str, draft_tokens: Sequence[int]) -> dict[int, dict[str, Acceptance]]:
    """By K: acceptance by class. A K that was not measured takes the first positions of the next larger one.

    folder: holds a folder for each K, as `calibrate acceptance` writes them.
    draft: part of their names, such as `smollm2-lookup`.

    Raises ScenarioError where K is larger than any that was measured.
    """
    measured = {
        int(found.name.rpartition("-k")[2]): found for found in folder.glob(f"acceptance-{draft}-k*") if found.is_dir()
    }
    by_k = {k: _classes(found, k) for k, found in sorted(measured.items())}
    known = {k: classes for k, classes in by_k.items() if classes}
    wanted = [k for k in draft_tokens if k]
    most = max(known, default=0)
    if wanted and max(wanted) > most:
        raise ScenarioError(
            f"{folder}: acceptance of {draft} up to K = {max(wanted)} is needed, measured: "
            f"{', '.join(f'K = {k}' for k in known) or 'none'}; "
            f"run `specfleet calibrate acceptance --draft-tokens {max(wanted)}`"
        )
    return {k: known[min(n for n in known if n >= k)] for k in wanted}


def _classes(folder: Path, draft_tokens: int) -> dict[str, Acceptance]:
    """Acceptance of every class that has been finished."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        mine = [record for record in records if record.get("half") == FIT]
        finding = read_records(mine, str(path), ReadOptions(draft_tokens))
        found[path.stem] = Acceptance.model_validate(finding.block())
    return found


def forced(survival: Sequence[float], draft_tokens: Sequence[int]) -> Mapping[int, Mapping[str, Acceptance]]:
    """By K: the acceptance that the engine is told to show."""
    return {k: {"all": Acceptance(survival=tuple(survival[:k]))} for k in draft_tokens if k}
