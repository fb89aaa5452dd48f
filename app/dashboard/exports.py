"""What can be taken away: the figures of a scenario as Parquet, the report. Knows nothing of pages."""

import io
from collections.abc import Mapping
from typing import Any

from app.dashboard.estimates import Answer
from app.report.page import report_html
from app.results import PointResult, put_together
from scenarios.columns import write_parquet
from scenarios.load import LoadedScenario, Point
from scenarios.store import label_of, point_hash


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
