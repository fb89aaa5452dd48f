"""Every file of the catalog loads, is named after itself, and says where its numbers come from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.catalog import load
from simulator.catalog.describe import ROWS, describe

LOADERS = {
    "gpus": load.load_gpu,
    "links": load.load_links,
    "models": load.load_model,
    "engines": load.load_engine,
    "quantisation": load.load_quantisation,
    "prices": load.load_price_list,
    "acceptance": load.load_acceptance,
    "lengths": load.load_lengths,
    "profiles": lambda name: load.load_profile(*name.rsplit("-", 1)),
}
FILES = [(kind, name) for kind in LOADERS for name in load.names(kind)]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def holds_number(value: Any) -> bool:
    if isinstance(value, list):
        return any(holds_number(item) for item in value if not isinstance(item, dict))
    return is_number(value)


def sections(node: Any, inherited: str | None, path: str) -> Iterator[tuple[str, str | None]]:
    """Each mapping that holds a number directly, with the source that it names or inherits."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from sections(item, inherited, f"{path}[{index}]")
    if isinstance(node, dict):
        source = node.get("source", inherited)
        if any(holds_number(value) for value in node.values()):
            yield path, source
        for key, value in node.items():
            if key != "sources":
                yield from sections(value, source, f"{path}.{key}")


def test_each_kind_has_a_loader_and_a_folder_with_files() -> None:
    assert set(LOADERS) == set(load.NOUNS) == set(ROWS)
    assert all(load.names(kind) for kind in LOADERS)


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_file_loads_and_is_named_after_itself(kind: str, name: str) -> None:
    loaded = LOADERS[kind](name)

    assert loaded.model_dump()["name"] == name
    assert name == name.lower()


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_every_number_has_a_source(kind: str, name: str) -> None:
    document = load.raw(kind, name)

    bare = [path for path, source in sections(document, None, name) if source not in document["sources"]]

    assert bare == []


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_no_source_is_idle(kind: str, name: str) -> None:
    document = load.raw(kind, name)

    idle = set(document["sources"]) - {source for _, source in sections(document, None, name)}

    assert idle == set()


def test_a_section_without_a_source_is_found() -> None:
    document = {"name": "x", "memory": {"gib": 1.0}, "power": {"watts": 1, "source": "a"}}

    assert list(sections(document, None, "x")) == [("x.memory", None), ("x.power", "a")]


@pytest.mark.parametrize("kind", LOADERS)
def test_rows_tell_the_name_source_and_date_of_each_file(kind: str) -> None:
    rows = describe(kind)

    assert {row["name"] for row in rows} == set(load.names(kind))
    assert all(row["source"] and row["date"] and row["kind"] for row in rows)


def test_the_catalog_folders_hold_yaml_and_profiles_json() -> None:
    folder = Path(load.__file__).parent
    suffixes = dict.fromkeys(LOADERS, ".yaml") | {"profiles": ".json"}

    strange = [f for kind, suffix in suffixes.items() for f in (folder / kind).iterdir() if f.suffix != suffix]

    assert strange == []
