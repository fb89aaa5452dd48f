"""The user's own catalog: found by its variable or by its folder, beside the package's and never over it."""

import pytest

from simulator.catalog import load
from simulator.errors import CatalogError

MINE = """\
name: my-prices
provider: me
basis: owned
prices: [{gpu: h200-sxm, usd_per_gpu_hour: 1.5, sku: mine, as_of: "2026-11-30", source: mine}]
sources: {mine: {kind: assumption, ref: a guess, date: 2026-11-30}}
"""


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A folder in which nothing is known yet, and a fresh look at the catalog before and after."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPECFLEET_CATALOG", raising=False)
    load.forget()
    yield tmp_path
    load.forget()


def put(folder, name="my-prices", text=MINE, suffix=".yaml"):
    (folder / "prices").mkdir(parents=True, exist_ok=True)
    (folder / "prices" / f"{name}{suffix}").write_text(text)


def test_a_folder_of_that_name_is_read(catalog):
    put(catalog / "specfleet-catalog")

    assert load.load_price_list("my-prices").prices[0].usd_per_gpu_hour == 1.5
    assert load.origin("prices", "my-prices").endswith("specfleet-catalog/prices/my-prices.yaml")
    assert load.origin("prices", "nebius-on-demand") == "package"


def test_the_variable_comes_before_the_folder(catalog, monkeypatch):
    put(catalog / "specfleet-catalog", "other")
    put(catalog / "elsewhere")
    monkeypatch.setenv("SPECFLEET_CATALOG", str(catalog / "elsewhere"))

    assert {"my-prices", "other"} & set(load.names("prices")) == {"my-prices"}


def test_a_variable_that_names_nothing_is_an_error(catalog, monkeypatch):
    monkeypatch.setenv("SPECFLEET_CATALOG", "/nowhere")

    with pytest.raises(CatalogError, match="SPECFLEET_CATALOG=/nowhere: no such folder"):
        load.names("gpus")


def test_a_name_that_the_package_holds_is_an_error(catalog):
    put(catalog / "specfleet-catalog", "nebius-on-demand")

    with pytest.raises(CatalogError, match="the package has a price list 'nebius-on-demand' of its own"):
        load.load_price_list("nebius-on-demand")


def test_an_unknown_name_says_where_was_looked(catalog):
    with pytest.raises(CatalogError, match=r"no catalog of your own \(SPECFLEET_CATALOG, \./specfleet-catalog\)"):
        load.load_gpu("zzz")
    put(catalog / "specfleet-catalog")
    load.forget()

    with pytest.raises(CatalogError, match=r"looked in the package and .*specfleet-catalog"):
        load.load_gpu("zzz")


def test_a_broken_entry_is_named_with_its_file(catalog):
    put(catalog / "specfleet-catalog", text="name: [")

    with pytest.raises(CatalogError, match=r"specfleet-catalog/prices/my-prices\.yaml is broken"):
        load.load_price_list("my-prices")


def test_other_files_and_folders_are_left_alone(catalog):
    put(catalog / "specfleet-catalog", "notes", suffix=".txt")
    (catalog / "specfleet-catalog" / "secrets").mkdir()

    assert load.names("prices") == sorted(set(load.names("prices")) - {"notes"})
