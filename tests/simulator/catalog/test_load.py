"""The loader remembers, and answers a wrong name with the nearest one."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from simulator.catalog import load
from simulator.catalog.describe import describe
from simulator.errors import CatalogError


def test_a_wrong_gpu_is_answered_with_the_nearest_and_all_known() -> None:
    with pytest.raises(CatalogError) as error:
        load.load_gpu("h2000")

    known = ", ".join(load.names("gpus"))
    assert str(error.value).startswith(f"no GPU 'h2000' in the catalog; nearest: h200-sxm; known: {known}; looked in")


def test_a_name_like_nothing_known_has_no_nearest() -> None:
    with pytest.raises(
        CatalogError,
        match=r"^no engine policy 'zzzz' in the catalog; known: sglang, specfleet, trtllm, vllm; looked in",
    ):
        load.load_engine("zzzz")


def test_a_name_in_capitals_finds_its_nearest() -> None:
    with pytest.raises(CatalogError, match=r"nearest: llama-3\.3-70b"):
        load.load_model("Llama-3.3-70B")


@pytest.mark.parametrize("name", ["../gpus/h200-sxm", "h200-sxm.yaml", ""])
def test_a_path_is_not_a_name(name: str) -> None:
    with pytest.raises(CatalogError, match="in the catalog"):
        load.load_gpu(name)


@pytest.mark.parametrize("ask", [load.names, describe])
def test_an_unknown_folder_is_an_error(ask: object) -> None:
    assert callable(ask)

    with pytest.raises(CatalogError, match="no folder 'cars' in the catalog"):
        ask("cars")


@pytest.mark.parametrize("broken", ["name: [", "name: h200-sxm\nhbm: 141\n"])
def test_a_broken_file_is_named(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "h200-sxm.yaml").write_text(broken)
    monkeypatch.setattr(load, "_folder", lambda kind: tmp_path)

    with pytest.raises(CatalogError, match=r"gpus/h200-sxm\.yaml is broken"):
        load.load_gpu.__wrapped__("h200-sxm")


def test_a_file_is_read_once() -> None:
    assert load.load_gpu("h200-sxm") is load.load_gpu("h200-sxm")


def test_names_are_a_copy() -> None:
    load.names("gpus").clear()

    assert load.names("gpus")


def test_the_fast_yaml_loader_is_used_where_there_is_one() -> None:
    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    assert load._Loader is fast


@pytest.mark.slow
def test_what_one_deployment_needs_loads_fast() -> None:
    script = (
        "from simulator.catalog.load import *; import time; start = time.perf_counter();"
        "load_links(load_gpu('b200-sxm').links); load_model('llama-3.3-70b'); load_model('llama-3.2-1b');"
        "load_engine('vllm'); load_quantisation('fp8'); load_quantisation('bf16');"
        "print(time.perf_counter() - start)"
    )

    times = [float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(3)]

    assert min(times) < 0.06
