"""docs/formats.md names the columns and keys that the code has: no more, no fewer."""

import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest

from calibration import serving_csv, speculation_csv
from calibration.importers import prices
from scenarios.run_files import FILES
from simulator.catalog.hub.families import FAMILIES
from simulator.catalog.hub.formats import METHODS
from simulator.catalog.load import NOUNS
from simulator.outcome.report import EXTRA_FIELDS, ROW_FIELDS
from tests.app import toys

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
BY_CODE = {
    "serving": serving_csv.KNOWN,
    "speculation": speculation_csv.KNOWN,
    "families": FAMILIES,
    "methods": METHODS,
    "catalog": NOUNS,
    "folder": FILES,
    "row": ROW_FIELDS + EXTRA_FIELDS,
}
"""Table → what the code knows of it."""


def documented(table: str) -> list[str]:
    """First column of the table below a mark."""
    below = TEXT.split(f"<!-- keys: {table} -->\n")[1].split("\n\n")[0]
    return re.findall(r"^\| `([^`]+)`", below, re.MULTILINE)[("`" in below.splitlines()[0]) :]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder of a small run that keeps its requests."""
    out = tmp_path_factory.mktemp("runs")
    (out / "small.yaml").write_text(toys.SMALL)
    assert toys.call("run", out / "small.yaml", "--out", out, "--requests", "--jobs", "1", "--quiet").exit_code == 0
    return next(out.glob("small-*"))


@pytest.mark.parametrize("table", BY_CODE)
def test_a_table_names_what_the_code_knows(table):
    assert sorted(documented(table)) == sorted(BY_CODE[table])


@pytest.mark.parametrize(("table", "needed"), [("instances", prices.INSTANCES), ("cluster", prices.CLUSTER)])
def test_columns_of_prices_are_those_that_are_needed_and_read(table, needed):
    source = Path(prices.__file__).read_text(encoding="utf-8")

    read = set(re.findall(r'"([A-Z]\w+)"', source))
    assert set(documented(table)) <= read
    assert set(needed) <= set(documented(table))
    assert read == set(documented("instances")) | set(documented("cluster"))


def test_a_run_folder_holds_what_is_said(folder):
    summary = json.loads((folder / "summary.json").read_bytes())

    assert list(summary) == documented("summary")
    assert list(json.loads((folder / "manifest.json").read_bytes())) == documented("manifest")
    assert pyarrow.parquet.read_schema(folder / "requests.parquet").names == documented("requests")
    assert {file.name for file in folder.iterdir()} == {*documented("folder"), "requests.parquet", "points"}


def test_the_columns_of_a_run_are_its_fields(folder):
    columns = pyarrow.parquet.read_schema(folder / "summary.parquet").names

    fields = dict.fromkeys(column.partition(".")[0] for column in columns)
    assert set(fields) <= set(documented("row"))
    assert (folder / "summary.csv").read_text(encoding="utf-8").splitlines()[0].split(",") == columns


def test_every_link_leads_somewhere():
    for page in ("formats.md", "gate.md", "importing.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        linked = re.findall(r"\]\((?!https?://)([^)#]+)\)", text)
        assert [path for path in linked if not (ROOT / "docs" / path).exists()] == []
