"""What can be taken away: the scenario as a file, its figures as CSV or Parquet, the report. Knows nothing of pages."""

import io
from collections.abc import Mapping
from typing import Any

from app.dashboard.estimates import Answer
from app.report.page import report_html
from app.results import PointResult, put_together
from scenarios.columns import flat_row, write_parquet
from scenarios.csv_file import write_csv
from scenarios.load import LoadedScenario, Point
from scenarios.store import label_of, point_hash


def rows_csv(answer: Answer) -> bytes:
    """The rows, nested fields as `ttft_s.p95`; a text that a spreadsheet would compute is quoted by an apostrophe."""
    flat = [flat_row(row) for row in answer.rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    out = io.StringIO(newline="")
    write_csv(names, flat, out)
    return out.getvalue().encode()


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
