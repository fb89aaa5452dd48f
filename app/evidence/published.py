"""Measured serving runs beside their predictions: those that the package carries, and those of a user's own file.

`python -m app.evidence.published tests/published/serving_rows.csv` predicts the published rows anew (`make evidence`).
"""

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.figures.parity import Pair

if TYPE_CHECKING:
    from calibration.validate import Outcome

FILE = Path(__file__).with_name("published.csv")
DIGITS = 5
"""Significant digits that are kept."""

METRICS = ("tpot", "ttft", "output_tokens_per_s")


class Compared(NamedTuple):
    """One configuration, measured and predicted; nan where it was not."""

    id: str
    engine: str
    gpu: str
    model: str
    precision: str
    configuration: str
    """Split, lengths and load in a few words."""
    fitted: bool
    """Whether a constant of its engine was fitted on its group."""
    source: str
    measured_on: str
    ttft_s: float
    predicted_ttft_s: float
    tpot_s: float
    predicted_tpot_s: float
    output_tokens_per_s: float
    """Per GPU."""
    predicted_output_tokens_per_s: float
    reason: str = ""
    """Why it could not be predicted; empty: it was."""

    def pair(self, metric: str) -> tuple[float, float]:
        """Predicted and measured."""
        name = metric if metric == "output_tokens_per_s" else f"{metric}_s"
        return getattr(self, f"predicted_{name}"), getattr(self, name)


TEXTS = ("id", "engine", "gpu", "model", "precision", "configuration", "source", "measured_on", "reason")


def published() -> list[Compared]:
    """The rows that the package carries."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [_read(line) for line in csv.DictReader(file)]


def pairs(rows: Iterable[Compared], metric: str) -> list[Pair]:
    """Those of which a metric was both measured and predicted."""
    found = ((row, *row.pair(metric)) for row in rows)
    return [
        Pair(row.id, row.engine, row.gpu, f"{row.model} {row.precision}, {row.configuration}", predicted, measured,
             row.fitted, row.source)
        for row, predicted, measured in found
        if isfinite(predicted) and predicted > 0 and measured > 0
    ]  # fmt: skip


def compared(one: "Outcome") -> Compared:
    """A validated row in the form that pages show."""
    row = one.row
    load = f"{row.concurrency:.0f} in flight" if isfinite(row.concurrency) else "queued at once"
    split = f"TP {row.tp:.0f}" + (f", DP {row.dp:.0f}" if row.dp > 1 else "")
    return Compared(
        row.id, row.engine, row.gpu, row.model, row.precision, f"{split}, {row.isl}+{row.osl} tokens, {load}",
        one.half == "fitted", row.source, row.measured_on, row.ttft_ms * 1e-3, one.ttft_s, row.tpot_ms * 1e-3,
        one.tpot_s, row.output_tokens_per_s_per_gpu, one.tokens_per_s, one.reason,
    )  # fmt: skip


def as_csv(rows: Sequence[Compared]) -> str:
    """The rows as a file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Compared._fields)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}" if isfinite(value) else ""
    return value


def _read(line: dict[str, str]) -> Compared:
    numbers = {
        name: float(line[name]) if line[name] else nan
        for name in Compared._fields
        if name not in TEXTS and name != "fitted"
    }
    texts = {name: line[name] for name in TEXTS}
    return Compared(**texts, **numbers, fitted=line["fitted"] == "1")  # type: ignore[arg-type]


def main(arguments: Sequence[str]) -> int:
    """Predict the rows of a file and keep them for the dashboard."""
    from calibration.validate import validate

    if len(arguments) != 1:
        sys.stderr.write("usage: python -m app.evidence.published serving.csv\n")
        return 2
    outcomes = validate(Path(arguments[0]), 1).outcomes
    FILE.write_text(as_csv([compared(one) for one in outcomes if not one.skipped]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
