"""What a reader brings: a benchmark to be predicted, counters to be read. Files are small, named by the server, gone.

Knows nothing of pages.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from app.evidence.published import Compared, compared
from simulator.errors import ScenarioError, SimulatorError

if TYPE_CHECKING:
    from calibration.importers.finding import AcceptanceFinding

MOST_BYTES = 1_000_000
"""Size of a file or a text from a browser."""

MOST_ROWS = 24
"""Rows of a benchmark that are predicted."""

MOST = {"concurrency": 1024, "isl": 32_768, "osl": 8192, "tp": 64, "dp": 64, "pp": 64}
"""Column → largest value that a browser may ask for: a larger run takes minutes."""

SHOWN_AS = "your file"
"""How messages call a file that the server named."""


def read_counters(
    texts: Sequence[str], draft_tokens: int | None = None, *, add_engines: bool = False, lookup: bool = False
) -> "AcceptanceFinding":
    """What one or two texts say of acceptance: counters, responses, or a benchmark's result.

    Raises ScenarioError for a text that is ambiguous, contradicts itself or says nothing of acceptance.
    """
    from calibration.importers.options import ReadOptions
    from calibration.importers.read import read_acceptance

    options = ReadOptions(draft_tokens, add_engines=add_engines, lookup=lookup)
    with _as_files(texts) as (first, *later):
        return read_acceptance(first, next(iter(later), None), options=options)


def benchmark_csv(text: str, stated: Mapping[str, Any]) -> str:
    """A benchmark as the CSV that `specfleet validate` reads: that CSV itself, or the JSON of a benchmark tool.

    stated: columns that the JSON does not hold; not used for a CSV.
    """
    from calibration.importers.measurements import csv_text, read_benchmarks

    if not is_json(text):
        return text
    with _as_files([text]) as paths:
        return csv_text(read_benchmarks(paths, stated))


def is_json(text: str) -> bool:
    """Whether a text is meant as JSON."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def predicted(text: str) -> list[Compared]:
    """Every row of a benchmark's CSV, predicted; takes up to seconds a row.

    Raises ScenarioError for what cannot be read.
    """
    from calibration.validate import validate

    with _as_files([text]) as (path,):
        return [compared(one) for one in validate(path, jobs=1).outcomes]


def check_size(text: str) -> None:
    """ScenarioError for a benchmark's CSV that is too large to predict between two clicks."""
    way_out = "; `specfleet validate FILE` takes any"
    try:
        lines = list(csv.DictReader(io.StringIO(text)))
    except csv.Error as error:
        raise ScenarioError(f"{SHOWN_AS}: not a CSV: {error}") from None
    if len(lines) > MOST_ROWS:
        raise ScenarioError(f"{SHOWN_AS}: {len(lines)} rows; a browser gets at most {MOST_ROWS}{way_out}")
    for number, line in enumerate(lines, start=2):
        for name, most in MOST.items():
            value = _number(line.get(name))
            if value > most:
                said = f"{SHOWN_AS}:{number}: {name}: {value:,.0f}"
                raise ScenarioError(f"{said}; a browser gets at most {most:,}{way_out}")


def _number(text: str | None) -> float:
    """A cell's number; 0 for what is none, which the reader of the rows has its own words for."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def decoded(data: bytes) -> str:
    """A text of an upload.

    Raises ScenarioError when it is too large, or none.
    """
    if len(data) > MOST_BYTES:
        raise ScenarioError(f"{SHOWN_AS}: {len(data):,} bytes; a browser gets at most {MOST_BYTES:,}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{SHOWN_AS}: not a text in UTF-8") from None


@contextmanager
def _as_files(texts: Sequence[str]) -> Iterator[list[Path]]:
    """Texts as files under names that say nothing, for as long as they are read; messages do not name the folder."""
    if any(len(text) > MOST_BYTES for text in texts):
        raise ScenarioError(f"{SHOWN_AS}: more than {MOST_BYTES:,} characters")
    with TemporaryDirectory(prefix="specfleet-") as folder:
        paths = [Path(folder, f"{SHOWN_AS} {number}") for number in range(1, len(texts) + 1)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        try:
            yield paths
        except SimulatorError as error:
            raise ScenarioError(str(error).replace(f"{folder}/", "")) from None
        except RecursionError:
            raise ScenarioError(f"{SHOWN_AS}: nested too deep") from None
