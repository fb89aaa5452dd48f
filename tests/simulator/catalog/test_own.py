"""The user's own catalog: found by its variable or by its folder, beside the package's and never over it."""

from pathlib import Path

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


BROKEN = {
    "not-yaml": ("name: [", "line 2: did not find"),
    "empty": ("", "a mapping of keys is needed"),
    "a-list": ("- 1\n", "a mapping of keys is needed"),
    "a-text": ("my prices", "a mapping of keys is needed"),
    "not-a-date": (MINE.replace("2026-11-30}", "2026-13-45}"), "month must be in 1..12"),
    "unknown-key": (MINE + "region: eu\n", "region: unknown key"),
    "missing-key": (MINE.replace("provider: me\n", ""), "provider: missing"),
    "wrong-basis": (MINE.replace("basis: owned", "basis: rented"), "basis: 'rented': Input should be 'on_demand'"),
    "price-of-nothing": (MINE.replace("1.5", "0"), "prices.0.usd_per_gpu_hour: 0: Input should be greater than 0"),
    "price-in-words": (MINE.replace("1.5", "cheap"), "prices.0.usd_per_gpu_hour: 'cheap': Input should be a valid"),
    "another-name": (MINE.replace("name: my-prices", "name: mine"), "name: 'mine': the file is called my-prices.yaml"),
    "no-utf-8": (b"name: \xff\xfe\n", "invalid leading UTF-8 octet"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_whatever_is_broken_is_one_line_with_file_and_place(name, catalog):
    text, part = BROKEN[name]
    put(catalog / "specfleet-catalog", text="")
    file = catalog / "specfleet-catalog" / "prices" / "my-prices.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    with pytest.raises(CatalogError) as error:
        load.load_price_list("my-prices")

    assert str(error.value).startswith(f"catalog file {file} is broken: ")
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_of_many_problems_the_first_are_told(catalog):
    put(catalog / "specfleet-catalog", text="name: my-prices\na: 1\nb: 2\nc: 3\n")

    with pytest.raises(CatalogError, match=r"basis: missing; prices: missing; and 4 more$"):
        load.load_price_list("my-prices")


def test_a_folder_in_place_of_a_file_is_told(catalog):
    (catalog / "specfleet-catalog" / "models" / "mine.yaml").mkdir(parents=True)

    with pytest.raises(CatalogError, match=r"models/mine\.yaml is broken: Is a directory"):
        load.load_model("mine")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "h200-sxm-mine"}'])
def test_a_broken_profile_is_told(text, catalog):
    (catalog / "specfleet-catalog" / "profiles").mkdir(parents=True)
    (catalog / "specfleet-catalog" / "profiles" / "h200-sxm-mine.json").write_text(text)

    with pytest.raises(CatalogError, match=r"profiles/h200-sxm-mine\.json is broken: "):
        load.load_profile("h200-sxm", "mine")


def test_a_profile_of_another_name_is_told(catalog):
    own = catalog / "specfleet-catalog" / "profiles"
    own.mkdir(parents=True)
    (own / "mine-vllm.json").write_text(
        Path(load.__file__).with_name("profiles").joinpath("h200-sxm-vllm.json").read_text()
    )

    with pytest.raises(CatalogError, match=r"name: 'h200-sxm-vllm': the file is called mine-vllm\.json"):
        load.load_profile("mine", "vllm")
