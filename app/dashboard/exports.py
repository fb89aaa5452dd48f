"""What can be taken away: the scenario as a file, its figures as CSV or Parquet, the report. Knows nothing of pages."""

import csv
import io
from collections.abc import Mapping
from typing import Any

from app.dashboard.estimates import Answer
from app.report.page import report_html
from app.results import PointResult, put_together
from scenarios.columns import flat_row, write_parquet
from scenarios.load import LoadedScenario, Point
from scenarios.store import label_of, point_hash

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet compute a cell."""


def rows_csv(answer: Answer) -> bytes:
    """The rows, nested fields as `ttft_s.p95`; a text that a spreadsheet would compute is quoted by an apostrophe."""
    flat = [flat_row(row) for row in answer.rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in flat)
    return out.getvalue().encode()


def cell(value: Any) -> Any:
    """A value as a cell.

    >>> cell("=1+1"), cell(-1.5), cell(None), cell("h200")
    ("'=1+1", -1.5, '', 'h200')
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def rows_parquet(answer: Answer) -> bytes:
    """The rows, and those of each replication, as `specfleet run` writes them."""
    out = io.BytesIO()
    write_parquet([*answer.rows, *answer.replications], out)
    return out.getvalue()


def report(loaded: LoadedScenario, chosen: Point, answer: Answer) -> bytes:
    """The report as one HTML file."""
    label = label_of(chosen.label)
    result: Mapping[str, Any] = {
        "rows": answer.rows, "comparison": answer.comparison, "provenance": answer.provenance,
        "replications": answer.replications, "evidence": answer.evidence,
    }  # fmt: skip
    point = PointResult(label, chosen.label, point_hash(chosen.scenario), result, 0.0)
    alone = LoadedScenario(loaded.name, None, loaded.base, loaded.document, (chosen,), ())
    return report_html(alone, put_together(loaded.name, [point], ()), [point], point.digest).encode()
