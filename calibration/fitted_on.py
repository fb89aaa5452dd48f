"""Which groups of rows an engine's constants were fitted on: the committed list, so that a user's file is told apart.

`python -m calibration.fitted_on serving.csv` writes it anew (`make validate` does).
"""

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("fitted_groups.json")
FITTED, HELD_OUT = "fitted", "held_out"


@lru_cache(maxsize=1)
def fitted_groups() -> frozenset[str]:
    """Groups (see calibration.rows.Case) on whose rows a constant was fitted."""
    return frozenset(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else frozenset()


def half_of(row: Any, group: str) -> str:
    """Whether a row's group was fitted on; only closed loops were."""
    return FITTED if row.load == "closed_loop" and group in fitted_groups() else HELD_OUT


def groups_of(path: str) -> list[str]:
    """The fitted groups of a file, as calibration.fit_constants takes them: every other one of each engine."""
    from calibration.constants import fitted
    from calibration.fit_constants import cases, halves
    from calibration.rows import read_rows

    found = cases(read_rows(path))
    by_engine = {engine: [c.group for c in found if c.deployment.engine.policy == engine] for engine in fitted()}
    return sorted(group for groups in by_engine.values() for group in halves(groups)[0])


def main(arguments: list[str]) -> int:
    """Write the list."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m calibration.fitted_on serving.csv\n")
        return 2
    FILE.write_text(json.dumps(groups_of(arguments[0]), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
